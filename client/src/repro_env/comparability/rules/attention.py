"""Layer ``determinism``: which kernels attention can really run in, and how they sum.

A switch of torch's attention is not the kernel: flash and cuDNN need a GPU from Ampere on, cuDNN is passed over in
strict deterministic mode, a processor knows flash and the plain form alone, and what stands after the plain form in the
order is never reached, because the plain form serves any call.
"""

from __future__ import annotations

from typing import Any

from ..acting import DEVICES, UNUSED, all_hold, devices, on_cpu, on_gpu, present, using, variable
from ..levels import Level, SetBy
from ..reading import Facts, Missing
from ..rule import AnyRule, Condition, Distinction, Fails, Projection
from ..versions import older, release

KERNELS = ("flash", "mem_efficient", "math", "cudnn")
_DOCS = "PyTorch documentation, scaled_dot_product_attention"
_SOURCE = "PyTorch source, ATen/native/transformers/cuda/sdp_utils.cpp"
#: first compute capability with each kernel, by the checks of torch; the plain form needs nothing.
NEEDS = {"flash": (8, 0), "cudnn": (8, 0), "mem_efficient": (5, 0)}
#: the generation before, on which the flash kernel of torch before 2.2 ran too.
TURING = (7, 5)


@on_gpu
@using("torch")
def in_force(facts: Facts) -> Any:
    """Kernels that attention on an accelerator can run in, in the order of trying."""
    switches = dict(zip(KERNELS, facts.read_all(*(f"determinism.sdp_{name}" for name in KERNELS))))
    if all(value is None for value in switches.values()):
        return UNUSED
    found = []
    for name in order(facts):
        kernel = name.partition(" ")[0]
        if kernel == "math" and switches["math"]:
            break
        if switches.get(kernel) and kernel != "math" and exists(facts, kernel):
            found.append(name)
    return found or ["math"]


def order(facts: Facts) -> tuple[str, ...]:
    """Return the order in which kernels are tried; before torch 2.6 it was fixed, with cuDNN first in 2.5.0 alone."""
    stated = facts.read("determinism.sdp_priority")
    if stated is not None:
        return tuple(stated)
    first = release(facts.read("frameworks.torch.version"))[:3] == (2, 5, 0)
    return ("cudnn", *KERNELS[:3]) if first else KERNELS


def exists(facts: Facts, kernel: str) -> bool:
    """Tell whether a device has the kernel; cuDNN's is passed over where every kernel must repeat."""
    found = [device for device in devices(facts) if device.vendor != "apple"]
    amd = any(device.vendor == "amd" for device in found)
    if kernel == "cudnn" and (amd or _strict(facts)):
        return False
    if amd or not found:
        return True
    if not all(device.capability for device in found):
        raise Missing({DEVICES: "not-reported"})
    lowest = min(device.capability for device in found)
    if kernel == "flash" and TURING <= lowest < NEEDS["flash"]:
        return older(facts.read("frameworks.torch.version") or "0", "2.2")
    return lowest >= NEEDS[kernel]


def _strict(facts: Facts) -> bool:
    on = facts.read("determinism.deterministic_algorithms")
    return bool(on) and not facts.read("determinism.warn_only")


@on_cpu
@using("torch")
def on_processor(facts: Facts) -> Any:
    """Attention on a processor: the flash kernel unless it is switched off. Measured: the order does not matter."""
    flash = facts.read("determinism.sdp_flash")
    return UNUSED if flash is None else "flash" if flash else "math"


def composable_kernels(facts: Facts) -> Fails | None:
    """Fail where strict mode does not reach the memory-efficient kernel of AMD's Composable Kernel library."""
    found = all_hold(facts, (
        lambda side: side.read("frameworks.backend") == "rocm", _strict,
        lambda side: (variable(side, "TORCH_ROCM_FA_PREFER_CK") or "0").lower() not in ("0", "off", "false", "no"),
        lambda side: side.read("determinism.sdp_mem_efficient") is not False))
    return Fails("strict mode does not reach attention of Composable Kernel") if found else None


def _torch_on_gpu(path: str) -> Projection:
    return on_gpu(using("torch")(lambda facts: present(facts.read(path))))


def _rule(rule_id: str, why: str, project: Projection, *, expected: Level, effect: str, remedy: str,
          source: tuple[str, ...], confidence: str = "documented", cause: str = "attention_implementation",
          layer: str = "determinism", guaranteed: Level = Level.CURVE) -> Distinction:
    return Distinction(
        id=rule_id, layer=layer, cause=cause, set_by=SetBy.PROGRAM, guaranteed=guaranteed, expected=expected,
        possible=Level.BITWISE, why=why, effect=effect, remedy=remedy, confidence=confidence, source=source,
        project=project)


RULES: tuple[AnyRule, ...] = (
    Condition(
        id="rocm-ck-attention", layer="determinism", cause="nondeterministic_kernel", set_by=SetBy.PROGRAM,
        guaranteed=Level.CURVE, expected=Level.BITWISE, possible=Level.BITWISE, why="{detail} {side}",
        effect="gradients of memory-efficient attention differ at rounding level from run to run",
        remedy="unset TORCH_ROCM_FA_PREFER_CK, or call torch.backends.cuda.enable_mem_efficient_sdp(False)",
        confidence="observed", source=("pytorch pull request 197771",), holds=composable_kernels),
    _rule("attention-kernels", "attention tries {expected} against {observed}", in_force, expected=Level.CURVE,
          effect="attention sums in another order; with dropout it also draws otherwise",
          remedy="allow the same kernels in the same order: torch.nn.attention.sdpa_kernel(..., set_priority=True)",
          source=(_DOCS, _SOURCE, "PyTorch 2.5.1 release notes: cuDNN attention")),
    _rule("attention-on-processor", "attention on the processor in {expected} against {observed}", on_processor,
          expected=Level.CURVE, effect="attention sums in another order", confidence="proven",
          remedy="allow the flash kernel on both sides: torch.nn.attention.sdpa_kernel()",
          source=("measured: flash and plain attention on the CPU differ; the order set does nothing there",)),
    _rule("attention-fastpath", "fast path of attention layers {expected} against {observed}",
          using("torch")(lambda facts: present(facts.read("determinism.mha_fastpath"))), expected=Level.BITWISE,
          effect="attention layers in inference run one fused kernel, which sums in another order",
          remedy="call torch.backends.mha.set_fastpath_enabled() with the same value", confidence="proven",
          source=("measured: changes what a transformer layer gives in inference on the CPU",)),
    _rule("math-sdp-reduction", "sums of math attention reduced in half precision {expected} against {observed}",
          _torch_on_gpu("precision.math_sdp_reduced"), layer="precision", cause="precision_mode",
          expected=Level.BITWISE, guaranteed=Level.STATISTICAL,
          effect="seen only where attention in half precision runs as separate products",
          remedy="call torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp() with the same value",
          source=("PyTorch documentation, torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp",)),
)
