"""Layer ``collectives``: how ranks exchange numbers, and whether the ranks of a run share one environment."""

from __future__ import annotations

from typing import Any

from ..acting import UNUSED, all_hold, by_heavy_framework, in_process, present, variable
from ..levels import Level, SetBy
from ..reading import Facts
from ..rule import AnyRule, Condition, Distinction, Fails, Projection

#: settings of NCCL that have no fact of their own.
CHANNELS = ("NCCL_MIN_NCHANNELS", "NCCL_MAX_NCHANNELS", "NCCL_CONF_FILE", "NCCL_MIN_CTAS", "NCCL_MAX_CTAS",
            "NCCL_NTHREADS", "NCCL_BUFFSIZE", "NCCL_P2P_DISABLE", "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE",
            "NCCL_COLLNET_ENABLE", "NCCL_TOPO_FILE", "NCCL_GRAPH_FILE", "NCCL_TUNER_PLUGIN", "NCCL_NET_PLUGIN")
_MEGATRON = "Megatron-LM documentation, deterministic training"


def _alone(facts: Facts) -> bool:
    """Tell whether the process surely exchanges no numbers."""
    if not in_process(facts):
        return False
    return not by_heavy_framework(facts) or facts.read("collectives.backend") is None


def exchange(project: Projection) -> Projection:
    """Limit a projection to programs that exchange numbers, or that were seen from outside."""
    def limited(facts: Facts) -> Any:
        return UNUSED if _alone(facts) else project(facts)
    return limited


def exchanged(path: str) -> Projection:
    """Project one setting as it stands; a program alone has none."""
    def project(facts: Facts) -> Any:
        value = facts.read(path)
        return "library default" if value is None else value
    return project


def channels(facts: Facts) -> Any:
    """Settings that change how a reduction is cut."""
    return [f"{name}={value}" for name in CHANNELS if (value := variable(facts, name)) is not None] or "default"


def in_switch(facts: Facts) -> Fails | None:
    """Fail where reductions may run in the switch, where their order is not fixed."""
    on = all_hold(facts, (lambda side: side.read("collectives.nvls") is True, lambda side: not _alone(side)))
    return Fails("NVLS (in-switch reduction) may be used") if on else None


def one_environment(facts: Facts) -> Fails | None:
    """A single process has one environment; the merge of a run's ranks makes this fail where they differ."""
    return None


def _rule(rule_id: str, cause: str, why: str, project: Projection, *, remedy: str,
          source: tuple[str, ...], expected: Level = Level.CURVE) -> Distinction:
    return Distinction(id=rule_id, layer="collectives", cause=cause, set_by=SetBy.PROGRAM, guaranteed=Level.CURVE,
                       expected=expected, possible=Level.BITWISE, why=why, remedy=remedy, confidence="documented",
                       effect="gradients are added in another order", source=source, project=project)


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
    _rule("collective-topology", "collective_topology", "ranks placed as {expected} against {observed}",
          exchange(lambda facts: present(facts.read("collectives.topology"))),
          remedy="ask the scheduler for the same placement",
          source=(_MEGATRON, "Megatron-LM issue 1881")),
    _rule("collective-algorithm", "collective_algorithm", "NCCL algorithm {expected} against {observed}",
          exchange(exchanged("collectives.algorithm")),
          remedy="export the same NCCL_ALGO, for instance Ring",
          source=(_MEGATRON,)),
    _rule("collective-protocol", "collective_algorithm", "NCCL protocol {expected} against {observed}",
          exchange(exchanged("collectives.protocol")),
          remedy="export the same NCCL_PROTO", source=(_MEGATRON,)),
    _rule("collective-channels", "collective_algorithm", "NCCL settings {expected} against {observed}",
          exchange(channels),
          remedy="set the same NCCL variables and configuration file", source=("nccl issue 1461",),
          expected=Level.BITWISE),
    Condition(
        id="nvls", layer="collectives", cause="collective_algorithm", set_by=SetBy.PROGRAM, guaranteed=Level.CURVE,
        expected=Level.CURVE, possible=Level.BITWISE, why="{detail} {side}: its order of additions is not fixed",
        effect="sums over ranks differ between hosts and allocations", remedy="export NCCL_NVLS_ENABLE=0",
        confidence="observed", source=("nccl issues 2360, 1497", _MEGATRON), holds=in_switch),
)
