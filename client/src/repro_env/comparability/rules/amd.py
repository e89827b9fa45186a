"""Layer ``accelerators``: what acts on AMD devices alone: float32 in TF32, attention kernels, holes of strict mode."""

from __future__ import annotations

from typing import Any, Callable

from ..acting import DEVICES, UNUSED, all_hold, devices, imported, in_process, using, variable
from ..levels import Level, SetBy
from ..reading import Facts, Missing
from ..rule import AnyRule, Condition, Distinction, Fails, Projection
from ..versions import older

#: AMD's targets on which hipBLASLt has products in TF32: by units of MI300, put together from bfloat16 after it.
WITH_TF32 = ("gfx940", "gfx941", "gfx942", "gfx950")
#: first torch whose own switch says whether products may be TF32 here (the variable included, while it was asked), and
#: first torch that hands the switch of convolutions to MIOpen.
TELLS, HANDS_ON_TF32 = "2.7", "2.10"
#: targets whose fused attention torch takes without being asked.
FUSED_ANYWAY = ("gfx90a", "gfx942")
#: first torch that hands its determinism switch to MIOpen.
HANDS_OVER = "2.2"
#: first torch that lets MIOpen search in deterministic mode too, and the words for a search by tables alone.
SEARCHES_ANYWAY, FAST = "2.9", ("FAST", "2")
VARIABLES = ("HIPBLASLT_ALLOW_TF32", "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL")
OFF = ("0", "false", "off", "no")


def on_vendor(vendor: str, backend: str) -> Callable[[Projection], Projection]:
    """Limit a projection to programs that computed on ``backend``, or to stacks with a device of ``vendor``."""
    def decorate(project: Projection) -> Projection:
        def limited(facts: Facts) -> Any:
            return project(facts) if computes_on(facts, vendor, backend) else UNUSED
        return limited
    return decorate


def computes_on(facts: Facts, vendor: str, backend: str) -> bool:
    """Tell whether a side computed on ``backend``; from outside, whether it may: it has a device of ``vendor``."""
    if in_process(facts):
        return bool(facts.read("frameworks.backend") == backend)
    makers = {device.vendor for device in devices(facts)}
    if None in makers and vendor not in makers:
        raise Missing({DEVICES: "not-reported"})
    return vendor in makers


def asked(facts: Facts, name: str) -> bool:
    """Tell whether a variable is set to something that switches on."""
    value = variable(facts, name)
    return value is not None and value.lower() not in OFF


def _targets(facts: Facts) -> list[str]:
    found = [device.gfx_target for device in devices(facts) if device.vendor == "amd"]
    if None in found or not found:
        raise Missing({DEVICES: "not-reported"})
    return [target for target in found if target]


@on_vendor("amd", "rocm")
@using("torch")
def products(facts: Facts) -> Any:
    """Float32 products: TF32 where hipBLASLt has it and torch asks for it; older torch went by the variable too."""
    lowered = all_hold(facts, (
        lambda side: any(target in WITH_TF32 for target in _targets(side)),
        lambda side: side.read("precision.allow_tf32_matmul") is True,
        lambda side: not _torch_before(side, TELLS) or asked(side, VARIABLES[0])))
    return "TF32" if lowered else "IEEE float32"


@on_vendor("amd", "rocm")
@using("torch")
def convolutions(facts: Facts) -> Any:
    """Whether MIOpen may take TF32 for convolutions; whether it does is its own choice."""
    allowed = all_hold(facts, (
        lambda side: any(target in WITH_TF32 for target in _targets(side)),
        lambda side: side.read("precision.allow_tf32_cudnn") is True,
        lambda side: not _torch_before(side, HANDS_ON_TF32)))
    return "TF32 allowed" if allowed else "IEEE float32"


def _torch_before(facts: Facts, version: str) -> bool:
    return older(facts.read("frameworks.torch.version") or "", version)


@on_vendor("amd", "rocm")
@using("torch")
def fused_attention(facts: Facts) -> Any:
    """Whether fused attention may run on targets where torch takes it only when asked."""
    targets = _targets(facts)
    if all(target in FUSED_ANYWAY for target in targets):
        return UNUSED
    return "fused kernels too" if asked(facts, VARIABLES[1]) else "the plain form alone"


def holes(facts: Facts) -> Fails | None:
    """Fail where strict mode of torch does not reach MIOpen's convolutions, or one form of attention."""
    strict = (lambda side: side.read("frameworks.backend") == "rocm",
              lambda side: not in_process(side) or imported(side, "torch"),
              lambda side: bool(side.read("determinism.deterministic_algorithms")
                                or side.read("determinism.cudnn_deterministic")))
    if all_hold(facts, (*strict, lambda side: _torch_before(side, HANDS_OVER))):
        return Fails(f"torch before {HANDS_OVER} does not ask MIOpen for convolutions that repeat")
    kernels = all_hold(facts, (*strict, lambda side: asked(side, "TORCH_ROCM_FA_PREFER_CK"),
                               lambda side: side.read("determinism.sdp_mem_efficient") is not False))
    return Fails("strict mode does not reach memory-efficient attention by Composable Kernel") if kernels else None


def searching(facts: Facts) -> Fails | None:
    """Fail where MIOpen times convolutions that its tables do not list, and takes the fastest.

    That is its ordinary way, also without torch's benchmark switch. Until 2.8 torch asked for none of it in
    deterministic mode; since then that is a switch of its own, which is not recorded.
    """
    found = all_hold(facts, (
        lambda side: side.read("frameworks.backend") == "rocm",
        lambda side: not in_process(side) or imported(side, "torch"),
        lambda side: side.read("determinism.cudnn_enabled") is not False,
        lambda side: (variable(side, "MIOPEN_FIND_MODE") or "").upper() not in FAST,
        lambda side: not (_torch_before(side, SEARCHES_ANYWAY) and _asks_for_no_search(side))))
    return Fails("MIOpen may time convolutions and take the fastest") if found else None


def _asks_for_no_search(facts: Facts) -> bool:
    deterministic = facts.read("determinism.deterministic_algorithms") or facts.read("determinism.cudnn_deterministic")
    return bool(deterministic) and facts.read("determinism.cudnn_benchmark") is not True


RULES: tuple[AnyRule, ...] = (
    Distinction(
        id="rocm-tf32", layer="precision", cause="precision_mode", set_by=SetBy.PROGRAM,
        guaranteed=Level.STATISTICAL, expected=Level.STATISTICAL, possible=Level.BITWISE,
        why="matrix products on AMD devices in {expected} against {observed}",
        effect="about 1e-3 relative a product", confidence="documented",
        remedy="set HIPBLASLT_ALLOW_TF32 and torch.backends.cuda.matmul.allow_tf32 the same on both sides",
        source=("pytorch pull requests 139869, 180926, 188168", "AMD CDNA 3 instruction set: XF32"), project=products),
    Distinction(
        id="rocm-tf32-convolutions", layer="precision", cause="precision_mode", set_by=SetBy.PROGRAM,
        guaranteed=Level.STATISTICAL, expected=Level.BITWISE, possible=Level.BITWISE,
        why="convolutions on AMD devices with {expected} against {observed}",
        effect="about 1e-3 relative a convolution where MIOpen takes it", confidence="documented",
        remedy="set torch.backends.cudnn.allow_tf32 the same on both sides",
        source=("pytorch pull request 162943",), project=convolutions),
    Distinction(
        id="rocm-fused-attention", layer="determinism", cause="attention_implementation", set_by=SetBy.PROGRAM,
        guaranteed=Level.CURVE, expected=Level.CURVE, possible=Level.BITWISE,
        why="attention on AMD devices may run in {expected} against {observed}",
        effect="attention sums in another order: one unit of the last place in half precision",
        remedy="set TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL the same on both sides", confidence="observed",
        source=("unsloth pull request 8821: kernels with and without it",), project=fused_attention),
    Condition(
        id="miopen-search", layer="determinism", cause="cudnn_autotune", set_by=SetBy.PROGRAM,
        guaranteed=Level.CURVE, expected=Level.BITWISE, possible=Level.BITWISE, why="{detail} {side}",
        effect="convolutions may run in another algorithm from one start to the next, which rounds otherwise",
        remedy="export MIOPEN_FIND_MODE=FAST", confidence="documented",
        source=("MIOpen documentation, find database", "pytorch pull requests 145294, 158951"), holds=searching),
    Condition(
        id="rocm-strict-holes", layer="determinism", cause="nondeterministic_kernel", set_by=SetBy.PROGRAM,
        guaranteed=Level.CURVE, expected=Level.BITWISE, possible=Level.BITWISE, why="{detail} {side}",
        effect="gradients differ at rounding level from run to run",
        remedy="install torch 2.2 or later, and unset TORCH_ROCM_FA_PREFER_CK",
        confidence="documented", source=("pytorch pull requests 107028, 197771",), holds=holes),
)
