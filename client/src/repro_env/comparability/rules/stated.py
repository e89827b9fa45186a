"""Layers ``accelerators`` and ``cpu``: what people state of hardware in words, where nobody could read it.

``--declare hardware="home PC"`` says that a side ran on another machine of which no more is known. Words are compared
as they stand: only different words count, and hardware that was read is judged by the rules on what was read.
"""

from __future__ import annotations

from typing import Any

from ..acting import UNUSED
from ..levels import Level, SetBy
from ..reading import Facts
from ..rule import AnyRule, Distinction

#: name of the declared value.
HARDWARE = "hardware"


def stated(facts: Facts) -> Any:
    """Hardware in words; a side that states none says nothing."""
    return (facts.read("declared.values") or {}).get(HARDWARE) or UNUSED


def stated_of_gpu(facts: Facts) -> Any:
    """Hardware in words, of a side that computed on an accelerator."""
    value = stated(facts)
    if value is UNUSED or facts.read("frameworks.backend") in ("cpu", None):
        return UNUSED
    return value


_HOW = "read it: run `repro-env capture` on both machines"

RULES: tuple[AnyRule, ...] = (
    Distinction(
        id="stated-gpu-hardware", layer="accelerators", cause="rng_launch_geometry", set_by=SetBy.PROGRAM,
        guaranteed=Level.STATISTICAL, expected=Level.STATISTICAL, possible=Level.BITWISE,
        why="computed on accelerators of {expected} against {observed}, which were not read",
        effect="random numbers drawn on the device, and kernels, depend on which accelerator it is",
        remedy=_HOW, confidence="documented", source=("pytorch issue 158398", "PyTorch documentation, Reproducibility"),
        subsumes=("stated-hardware",), project=stated_of_gpu),
    Distinction(
        id="stated-hardware", layer="cpu", cause="cpu_isa", set_by=SetBy.PROGRAM, guaranteed=Level.CURVE,
        expected=Level.CURVE, possible=Level.BITWISE, why="ran on {expected} against {observed}, which were not read",
        effect="a copied environment takes other kernels on another processor", remedy=_HOW, confidence="observed",
        source=("pytorch issue 18412",), project=stated),
)
