"""Layer ``collectives``: how ranks exchange numbers, and whether the ranks of a run share one environment."""

from __future__ import annotations

from typing import Any, Callable

from ...fingerprint.facts import is_captured
from ..acting import (
    UNUSED,
    all_hold,
    any_imported,
    by_heavy_framework,
    devices,
    in_process,
    present,
    settings,
)
from ..levels import Level, SetBy
from ..reading import Facts, Missing
from ..rule import AnyRule, Condition, Distinction, Fails, Projection, show_parts, show_value
from ..versions import older

#: settings of NCCL and RCCL that have no fact of their own.
CHANNELS = ("NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS", "NCCL_CONF_FILE", "NCCL_MIN_CTAS", "NCCL_MAX_CTAS",
            "NCCL_NTHREADS", "NCCL_BUFFSIZE", "NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", "NCCL_SHM_DISABLE",
            "NCCL_IB_DISABLE", "NCCL_NET_GDR_LEVEL", "NCCL_CROSS_NIC", "NCCL_COLLNET_ENABLE", "NCCL_MNNVL_ENABLE",
            "NCCL_TOPO_FILE", "NCCL_GRAPH_FILE", "NCCL_TUNER_PLUGIN", "NCCL_NET_PLUGIN", "RCCL_MSCCL_ENABLE",
            "RCCL_MSCCLPP_ENABLE")
#: back ends that those settings steer.
NCCL_LIKE = ("nccl", "rccl")
#: first compute capability whose NVSwitch adds; first torch that keeps it out of strict mode.
SWITCH_ADDS, EXCLUDES_NVLS = (9, 0), "2.8"
_MEGATRON = "Megatron-LM documentation, deterministic training"


def alone(facts: Facts) -> bool:
    """Tell whether the process surely exchanges no numbers: no group, or a group of one rank."""
    if not in_process(facts):
        return False
    if not by_heavy_framework(facts):
        return True
    group = facts.look("collectives.backend")
    if is_captured(group):
        return group is None or facts.read("layout.world_size") == 1
    return _on_one_device(facts) or facts.read("collectives.backend") is None


def _on_one_device(facts: Facts) -> bool:
    """Tell whether what computes here without torch has one device: no group is recorded of JAX and TensorFlow.

    JAX counts the devices of all processes. TensorFlow does not, so there the number of ranks is asked for too.
    """
    if any_imported(facts, ("torch",)):
        return False
    if any_imported(facts, ("jax",)) and (facts.read("layout.jax_devices") or 1) != 1:
        return False
    if not any_imported(facts, ("tensorflow",)):
        return True
    reachable = facts.read("accelerators.devices") or ()
    alone_here = facts.read("frameworks.backend") == "cpu" or len(reachable) <= 1
    return alone_here and facts.read("layout.world_size") == 1


def exchange(project: Projection) -> Projection:
    """Limit a projection to programs that exchange numbers, or that were seen from outside."""
    def limited(facts: Facts) -> Any:
        return UNUSED if alone(facts) else project(facts)
    return limited


def by_nccl(project: Projection) -> Projection:
    """Limit a projection further to those that exchange them through NCCL or RCCL."""
    def limited(facts: Facts) -> Any:
        return project(facts) if _through_nccl(facts) else UNUSED
    return exchange(limited)


def _through_nccl(facts: Facts) -> bool:
    return not in_process(facts) or any(name in (facts.read("collectives.backend") or "") for name in NCCL_LIKE)


def exchanged(path: str) -> Projection:
    """Project one setting as it stands; a program alone has none."""
    def project(facts: Facts) -> Any:
        value = facts.read(path)
        return "library default" if value is None else value
    return project


def channels(facts: Facts) -> Any:
    """Settings that change how a reduction is cut."""
    return settings(facts, CHANNELS)


@exchange
def node_links(facts: Facts) -> Any:
    """How the devices of a node are joined, where several ranks send numbers over these links.

    From outside nobody can tell how many ranks there are, unless a launcher announced it.
    """
    if not in_process(facts) and (facts.read("layout.world_size") or 1) == 1:
        return UNUSED
    return facts.read("accelerators.links") or "no links"


def admits_nvls(algorithm: str | None) -> bool:
    """Tell whether a value of NCCL_ALGO leaves the switch to NCCL's choice.

    A list that begins with ``^`` names what is excluded; lists for single functions stand behind ``;``, each with its
    name and a colon, and without one for all of them the rest is NCCL's choice. Excluding NVLS leaves NVLSTree, which
    needs several nodes.
    """
    lists = [text.rpartition(":") for text in (algorithm or "").split(";") if text.strip()]
    if all(function for function, _, _ in lists):
        return True
    return any(("nvls" in words.lower().lstrip(" ^").replace(" ", "").split(",")) is not words.strip().startswith("^")
               for _, _, words in lists)


def in_switch(facts: Facts) -> Fails | None:
    """Fail where reductions may run in the switch, where their order is not fixed.

    From outside the fact alone counts. In the process what was read can prove that the switch is not asked: one rank,
    another library, an algorithm that leaves it out, devices without it; where torch may have left it out, nobody can
    tell.
    """
    tests: tuple[Callable[[Facts], bool], ...] = (lambda side: side.read("collectives.nvls") is True,)
    if in_process(facts):
        tests = (lambda side: not alone(side), _through_nccl,
                 lambda side: admits_nvls(side.read("collectives.algorithm")), _has_switch, _left_in, *tests)
    return Fails("NVLS (in-switch reduction) may be used") if all_hold(facts, tests) else None


def _has_switch(facts: Facts) -> bool:
    """Tell whether a device may have a switch that adds; one of unknown capability may."""
    return any(not device.capability or device.capability >= SWITCH_ADDS for device in devices(facts)
               if device.vendor in ("nvidia", None))


def _left_in(facts: Facts) -> bool:
    """Tell that torch leaves the switch in; newer ones take it out in strict mode, if that came before the first group.

    Raise ``Missing`` where that cannot be told.
    """
    strict = facts.read("determinism.deterministic_algorithms")
    if strict and facts.read("collectives.algorithm") is None and not older(
            facts.read("frameworks.torch.version") or "", EXCLUDES_NVLS):
        raise Missing({"collectives.nvls": "not-reported"})
    return True


def one_environment(facts: Facts) -> Fails | None:
    """A single process has one environment; the merge of a run's ranks makes this fail where they differ."""
    return None


def declared(*names: str) -> Projection:
    """Project what the user states under the first of ``names`` that is stated; nothing stated has no say."""
    def project(facts: Facts) -> Any:
        stated = facts.read("declared.values") or {}
        return next((stated[name] for name in names if stated.get(name)), UNUSED)
    return project


def overlapped(facts: Facts) -> Fails | None:
    """Fail where the user states that communication and computation are fused in a way that does not repeat."""
    stated = facts.read("declared.values") or {}
    found = [name for name in OVERLAPS if str(stated.get(name, "")).lower() in ("1", "true", "on", "yes")]
    return Fails(f"{' and '.join(found)} on") if found else None


#: declared switches of Megatron-LM that are outside of its deterministic mode.
OVERLAPS = ("tp-comm-overlap", "cross-entropy-loss-fusion")
#: declared names of the number format in which gradients are added over ranks.
REDUCE_DTYPE = ("reduce-dtype", "grad-reduce-dtype")


def _rule(rule_id: str, cause: str, why: str, project: Projection, *, remedy: str, source: tuple[str, ...],
          expected: Level = Level.CURVE, guaranteed: Level = Level.CURVE, confidence: str = "documented",
          effect: str = "gradients are added in another order", subsumes: tuple[str, ...] = (),
          show: Callable[[Any], str] = show_value) -> Distinction:
    return Distinction(id=rule_id, layer="collectives", cause=cause, set_by=SetBy.PROGRAM, guaranteed=guaranteed,
                       expected=expected, possible=Level.BITWISE, why=why, remedy=remedy, confidence=confidence,
                       effect=effect, source=source, project=project, subsumes=subsumes, show=show)


RULES: tuple[AnyRule, ...] = (
    Condition(
        id="ranks-differ", layer="collectives", cause="ranks_differ", set_by=SetBy.MACHINE,
        guaranteed=Level.STATISTICAL, expected=Level.CURVE, possible=Level.BITWISE, why="{detail} {side}",
        effect="which rank runs where changes the result",
        remedy="run every rank, and every start, on the same image, driver and GPU model", confidence="documented",
        source=("PyTorch documentation, Distributed Data Parallel: ranks are assumed alike",), holds=one_environment),
    _rule("collective-backend", "collective_algorithm", "collectives by {expected} against {observed}",
          exchange(lambda facts: present(facts.read("collectives.backend"))),
          remedy="use the same torch.distributed back end",
          source=("PyTorch documentation, torch.distributed",)),
    _rule("reduce-dtype", "precision_mode", "gradients added over ranks in {expected} against {observed}",
          exchange(declared(*REDUCE_DTYPE)), expected=Level.STATISTICAL, guaranteed=Level.STATISTICAL,
          effect="about 1e-3 relative in each gradient where it is a half precision", confidence="observed",
          remedy="use the same format, for instance float32", source=("Megatron-LM pull requests 3067, 6624",)),
    _rule("collective-topology", "collective_topology", "ranks placed as {expected} against {observed}",
          exchange(lambda facts: present(facts.read("collectives.topology"))),
          remedy="ask the scheduler for the same placement", subsumes=("device-links",),
          source=(_MEGATRON, "Megatron-LM issue 1881")),
    _rule("device-links", "collective_topology", "devices of a node joined by {expected} against {observed}",
          node_links, remedy="run on the same kind of node", confidence="observed",
          effect="rings and trees over ranks follow the links, so gradients are added in another order",
          source=("nccl issues 1055, 1461: each channel adds along a path of its own",)),
    _rule("collective-algorithm", "collective_algorithm", "NCCL algorithm {expected} against {observed}",
          by_nccl(exchanged("collectives.algorithm")),
          remedy="export the same NCCL_ALGO, for instance Ring", source=(_MEGATRON,)),
    _rule("collective-protocol", "collective_algorithm", "NCCL protocol {expected} against {observed}",
          by_nccl(exchanged("collectives.protocol")),
          remedy="export the same NCCL_PROTO", source=(_MEGATRON,)),
    _rule("collective-channels", "collective_algorithm", "NCCL settings {expected} against {observed}",
          by_nccl(channels), show=show_parts("default"),
          remedy="set the same NCCL variables and configuration file, /etc/nccl.conf included",
          source=("nccl issue 1461", "NCCL documentation, environment variables"), expected=Level.BITWISE),
    Condition(
        id="nvls", layer="collectives", cause="collective_algorithm", set_by=SetBy.PROGRAM, guaranteed=Level.CURVE,
        expected=Level.CURVE, possible=Level.BITWISE, why="{detail} {side}: its order of additions is not fixed",
        effect="sums over ranks differ between hosts, drivers and allocations", remedy="export NCCL_NVLS_ENABLE=0",
        confidence="observed", source=("nccl issues 2360, 1497", "pytorch pull request 156381", _MEGATRON),
        capture_how="export NCCL_NVLS_ENABLE=0, or NCCL_ALGO with the algorithms that may be used", holds=in_switch),
    Condition(
        id="fused-communication", layer="collectives", cause="nondeterministic_kernel", set_by=SetBy.PROGRAM,
        guaranteed=Level.CURVE, expected=Level.CURVE, possible=Level.BITWISE,
        why="{detail} {side}: it does not repeat", effect="gradients differ at rounding level from the first step on",
        remedy="turn it off where bits are compared", confidence="documented", source=(_MEGATRON,),
        capture_how="state the switches of the trainer: --declare tp-comm-overlap=off", holds=overlapped),
)
