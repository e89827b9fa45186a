"""Effective precision: what a switch does on this device, in this version."""

from __future__ import annotations

from typing import Any

import pytest

from repro_env.comparability.judge import judge
from repro_env.comparability.reading import Facts
from repro_env.comparability.rules.precision import default_precision


def outside(gpu: str, torch: str) -> Facts:
    return Facts.of({"stack": {"accelerators": {"devices": [{"name": gpu}]},
                               "frameworks": {"torch": {"version": torch}}}, "capture": {"vantage": "import"}})


@pytest.mark.parametrize(("gpu", "torch", "precision"), [
    ("RTX 3090", "1.6.0", "IEEE float32"),
    ("RTX 3090", "1.7.0", "TF32 products and convolutions"),
    ("A100", "1.11.0+cu113", "TF32 products and convolutions"),
    ("A100", "1.12.0", "IEEE products, TF32 convolutions"),
    ("H100 PCIe", "2.5.1", "IEEE products, TF32 convolutions"),
    ("GTX 1080 Ti", "1.8.0", "IEEE float32"),
    ("Tesla T4", "2.5.1", "IEEE float32"),
    ("MI308X", "2.5.1", "IEEE float32"),
])
def test_default_precision_by_version_and_device(gpu: str, torch: str, precision: str) -> None:
    assert default_precision(outside(gpu, torch)) == precision


def test_precision_seen_from_outside() -> None:
    verdict = judge(outside("A100", "1.11"), outside("A100", "1.12"))
    assert verdict.reasons[0].rule == "default-precision"
    assert "TF32 products" in verdict.reasons[0].why


def test_old_card_needs_no_version() -> None:
    left = outside("RTX 3090", "1.8.0")
    right = Facts.of({"stack": {"accelerators": {"devices": [{"name": "RTX 2080"}]}}})
    assert judge(left, right).reasons[0].cause == "precision_mode"


@pytest.mark.parametrize("stated", [{"sm_count": 1}, {"compute_capability": "9.0"}])
def test_stated_facts_win_over_the_name(stated: dict[str, Any]) -> None:
    left = Facts.of({"stack": {"accelerators": {"devices": [{"name": "RTX 3090", **stated}]}}})
    right = Facts.of({"stack": {"accelerators": {"devices": [{"name": "RTX 3090"}]}}})
    assert judge(left, right).reasons
