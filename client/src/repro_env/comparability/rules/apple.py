"""Layer ``accelerators``: what acts on Apple's devices alone: macOS holds the kernels, and strict mode has holes."""

from __future__ import annotations

from typing import Any

from ..acting import all_hold, imported, in_process, settings, using
from ..levels import Level, SetBy
from ..reading import Facts
from ..rule import AnyRule, Condition, Distinction, Fails, Parts, show_parts
from .amd import OFF, on_vendor

#: switches of torch's MPS back end -> what each does.
SWITCHES = {"PYTORCH_MPS_FAST_MATH": "fast math", "PYTORCH_MPS_PREFER_METAL": "Metal kernels for products",
            "PYTORCH_ENABLE_MPS_FALLBACK": "missing operations on the CPU"}


@on_vendor("apple", "mps")
@using("torch")
def os_release(facts: Facts) -> Any:
    """The release of macOS, which brings the graph compiler and most kernels of the MPS back end."""
    return facts.read("system.os_name") or "unknown"


@on_vendor("apple", "mps")
@using("torch")
def switches(facts: Facts) -> Any:
    """Switches of the MPS back end that are on."""
    found = settings(facts, SWITCHES, off=OFF)
    return Parts({name: SWITCHES[name] if text else None for name, text in found.read.items()}, found.lacking)


def holes(facts: Facts) -> Fails | None:
    """Fail where torch is strict about kernels on a back end whose kernels its strict mode does not all know."""
    found = all_hold(facts, (
        lambda side: side.read("frameworks.backend") == "mps",
        lambda side: not in_process(side) or imported(side, "torch"),
        lambda side: bool(side.read("determinism.deterministic_algorithms"))))
    return Fails("deterministic mode does not reach every kernel of MPS") if found else None


RULES: tuple[AnyRule, ...] = (
    Distinction(
        id="macos-release", layer="accelerators", cause="os", set_by=SetBy.PROGRAM, guaranteed=Level.STATISTICAL,
        expected=Level.CURVE, possible=Level.BITWISE, why="{expected} against {observed}, which brings the GPU kernels",
        effect="other kernels of the system, so other rounding; some releases mended wrong ones",
        remedy="use the same macOS release", confidence="documented",
        source=("PyTorch documentation, MPS backend: kernels of the Metal Performance Shaders framework",),
        project=os_release),
    Distinction(
        id="mps-switches", layer="precision", cause="precision_mode", set_by=SetBy.PROGRAM,
        guaranteed=Level.STATISTICAL, expected=Level.CURVE, possible=Level.BITWISE,
        why="switches of MPS that are on: {expected} against {observed}",
        effect="other kernels: fast math rounds more loosely, operations on the CPU as the CPU does",
        remedy=f"set {', '.join(SWITCHES)} the same on both sides", confidence="documented",
        source=("PyTorch documentation, MPS environment variables",), project=switches, show=show_parts("none")),
    Condition(
        id="mps-strict-holes", layer="determinism", cause="nondeterministic_kernel", set_by=SetBy.PROGRAM,
        guaranteed=Level.CURVE, expected=Level.BITWISE, possible=Level.BITWISE, why="{detail} {side}",
        effect="index, scatter and embedding gradients add in any order", confidence="observed",
        remedy="compute on the CPU where bits are compared",
        source=("pytorch issues 97574, 161029, 195404", "pytorch pull request 197506"), holds=holes),
)
