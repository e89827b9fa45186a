"""Attention: the kernels that can really run, whatever is switched on."""

from __future__ import annotations

from typing import Any

import pytest
from documents import change, complete_document, h100

from repro_env.comparability.judge import judge
from repro_env.comparability.levels import Level
from repro_env.comparability.reading import Facts
from repro_env.comparability.rules.attention import in_force, on_processor

CARDS: dict[str, dict[str, Any]] = {
    "h100": {}, "v100": {"name": "Tesla V100-SXM2-16GB", "compute_capability": "7.0", "sm_count": 80},
    "t4": {"name": "Tesla T4", "compute_capability": "7.5", "sm_count": 40},
    "mi300x": {"vendor": "amd", "name": "AMD Instinct MI300X", "compute_capability": None, "gfx_target": "gfx942"},
}
CUDNN_FIRST = ["cudnn", "flash", "mem_efficient", "math"]


def side(card: str = "h100", **overrides: Any) -> Facts:
    return Facts.of(complete_document(machine="h100", **{"accelerators.devices": [h100(**CARDS[card])], **overrides}))


@pytest.mark.parametrize(("card", "facts", "kernels"), [
    ("h100", {}, ["flash", "mem_efficient"]),
    ("v100", {}, ["mem_efficient"]),
    ("v100", {"determinism.sdp_mem_efficient": False}, ["math"]),
    ("t4", {}, ["mem_efficient"]),
    ("t4", {"determinism.sdp_priority": None, "frameworks.torch.version": "2.1.2"}, ["flash", "mem_efficient"]),
    ("mi300x", {"determinism.sdp_priority": CUDNN_FIRST}, ["flash", "mem_efficient"]),
    ("h100", {"determinism.sdp_priority": CUDNN_FIRST}, ["flash", "mem_efficient"]),
    ("h100", {"determinism.sdp_priority": CUDNN_FIRST, "determinism.deterministic_algorithms": False},
     ["cudnn", "flash", "mem_efficient"]),
    ("h100", {"determinism.sdp_priority": CUDNN_FIRST, "determinism.warn_only": True},
     ["cudnn", "flash", "mem_efficient"]),
    ("h100", {"determinism.sdp_priority": ["math", "flash"]}, ["math"]),
    ("h100", {"determinism.sdp_priority": ["math", "flash"], "determinism.sdp_math": False}, ["flash"]),
    ("h100", {"determinism.sdp_priority": ["flash FA3", "mem_efficient", "math"]}, ["flash FA3", "mem_efficient"]),
    ("h100", {"determinism.sdp_priority": None, "frameworks.torch.version": "2.5.1"}, ["flash", "mem_efficient"]),
    ("h100", {"determinism.sdp_priority": None, "frameworks.torch.version": "2.5.0",
              "determinism.deterministic_algorithms": False}, ["cudnn", "flash", "mem_efficient"]),
])
def test_kernels_in_force(card: str, facts: dict[str, Any], kernels: list[str]) -> None:
    assert in_force(side(card, **facts)) == kernels


@pytest.mark.parametrize(("card", "facts"), [
    ("v100", {"determinism.sdp_flash": False}), ("v100", {"determinism.sdp_cudnn": False}),
    ("h100", {"determinism.sdp_cudnn": False}), ("h100", {"determinism.sdp_math": False}),
    ("h100", {"determinism.sdp_priority": CUDNN_FIRST}),
    ("h100", {"determinism.sdp_priority": ["flash", "mem_efficient", "cudnn", "math"]})])
def test_a_switch_without_a_kernel_behind_it_is_silent(card: str, facts: dict[str, Any]) -> None:
    verdict = judge(side(card), side(card, **facts))
    assert (verdict.reasons, verdict.guaranteed) == ((), Level.BITWISE)


@pytest.mark.parametrize("facts", [
    {"determinism.sdp_mem_efficient": False}, {"determinism.sdp_cudnn": False}, {"determinism.sdp_math": False},
    {"determinism.sdp_priority": ["math", "flash"]}])
def test_switches_of_gpu_kernels_do_nothing_on_a_processor(facts: dict[str, Any]) -> None:
    base = complete_document()
    assert on_processor(Facts.of(base)) == "flash"
    assert not judge(Facts.of(base), Facts.of(change(base, **facts))).reasons


def test_an_unknown_generation_leaves_the_kernels_open() -> None:
    unnamed = h100(name={"unread": "denied"}, compute_capability={"unread": "denied"})
    verdict = judge(side(), Facts.of(complete_document(machine="h100", **{"accelerators.devices": [unnamed]})))
    assert "attention-kernels" in {item.rule for item in verdict.assumes}
    assert verdict.guaranteed < Level.BITWISE
