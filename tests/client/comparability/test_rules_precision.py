"""Effective precision: what a switch does on this device, in this version."""

from __future__ import annotations

from typing import Any

import pytest
from documents import change, complete_document

from repro_env.comparability.judge import judge
from repro_env.comparability.levels import Level
from repro_env.comparability.reading import Facts
from repro_env.comparability.rules.tf32 import default_precision


def outside(gpu: str, torch: str) -> Facts:
    return Facts.of({"stack": {"accelerators": {"devices": [{"name": gpu}]},
                               "frameworks": {"torch": {"version": torch}}}, "capture": {"vantage": "import"}})


@pytest.mark.parametrize(("gpu", "torch", "precision"), [
    ("RTX 3090", "1.6.0", "IEEE float32"),
    ("RTX 3090", "1.7.0", "TF32 products and convolutions"),
    ("A100", "1.11.0+cu113", "TF32 products and convolutions"),
    ("A100", "1.12.0", "IEEE float32 with TF32 convolutions"),
    ("H100 PCIe", "2.5.1", "IEEE float32 with TF32 convolutions"),
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


@pytest.mark.parametrize(("sets", "cap", "lowered"), [
    (["avx512_bf16", "avx512f"], None, True), (["bf16", "asimd"], None, True),
    (["avx512bw", "avx512dq", "avx512f", "avx512vl"], None, True),
    (["avx512bw", "avx512dq", "avx512f", "avx512vl"], "AVX512_CORE", True),
    (["avx512bw", "avx512dq", "avx512f", "avx512vl"], "AVX2", False),
    (["avx512f"], None, False), (["avx2"], None, False)])
@pytest.mark.parametrize("newer", [True, False])
def test_medium_acts_where_onednn_has_bfloat16(sets: list[str], cap: str | None, lowered: bool, newer: bool) -> None:
    """Measured: with AVX-512 and no bfloat16 unit, *medium* changes the products of torch all the same."""
    base = complete_document(**{"cpu.instruction_sets": sets, "variables.values.ONEDNN_MAX_CPU_ISA": cap,
                                "precision.fp32_mkldnn_matmul": "none" if newer else None})
    other = change(base, **{"precision.float32_matmul_precision": "medium",
                            "precision.fp32_mkldnn_matmul": "bf16" if newer else None})
    verdict = judge(Facts.of(base), Facts.of(other))
    assert {reason.rule for reason in verdict.reasons} == ({"cpu-products", "host-products"} if lowered else set())


def test_layers_are_lowered_by_units_of_the_cpu_only() -> None:
    """Measured: without a bfloat16 unit a convolution gives the bits it gave before."""
    base = complete_document(**{"cpu.instruction_sets": ["avx512bw", "avx512dq", "avx512f", "avx512vl"]})
    verdict = judge(Facts.of(base), Facts.of(change(base, **{"precision.fp32_mkldnn_conv": "bf16"})))
    assert (verdict.guaranteed, verdict.reasons) == (Level.BITWISE, ())


@pytest.mark.parametrize("planted", [
    {"variables.values.MKL_CBWR": "AVX2"}, {"variables.values.ONEDNN_MAX_CPU_ISA": "AVX2"},
    {"variables.values.ONEDNN_DEFAULT_FPMATH_MODE": "BF16"}, {"precision.fp32_mkldnn_conv": "bf16"}])
def test_what_steers_the_host_is_not_guaranteed_on_a_gpu(planted: dict[str, Any]) -> None:
    """Initial values, and parts of a model, may be computed on the host of a GPU run."""
    base = complete_document("exit", machine="h100")
    verdict = judge(Facts.of(base), Facts.of(change(base, **planted)))
    assert verdict.guaranteed < Level.BITWISE
    assert verdict.expected is Level.BITWISE


#: what a program on an H100 reads of itself after each way to ask torch 2.13 for TF32 products, and of an old torch.
ROUTES: dict[str, dict[str, Any]] = {
    "flag": {"precision.allow_tf32_matmul": True, "precision.fp32_cuda_matmul": "tf32",
             "precision.float32_matmul_precision": "high"},
    "word": {"precision.allow_tf32_matmul": True, "precision.fp32_cuda_matmul": "tf32",
             "precision.float32_matmul_precision": "high", "precision.fp32_mkldnn_matmul": "tf32"},
    "medium": {"precision.allow_tf32_matmul": True, "precision.fp32_cuda_matmul": "tf32",
               "precision.float32_matmul_precision": "medium"},
    "generic": {"precision.allow_tf32_matmul": True, "precision.fp32_cuda_matmul": "tf32",
                "precision.fp32_generic": "tf32", "precision.float32_matmul_precision": {"unread": "not-reported"}},
    "own switch": {"precision.allow_tf32_matmul": True, "precision.fp32_cuda_matmul": "tf32",
                   "precision.float32_matmul_precision": {"unread": "not-reported"}},
    "variable": {"precision.allow_tf32_matmul": True, "precision.fp32_cuda_matmul": "tf32",
                 "precision.float32_matmul_precision": "high",
                 "variables.values.TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "1"},
    "older interface": {"precision.allow_tf32_matmul": True, "precision.fp32_cuda_matmul": None,
                        "precision.fp32_generic": None, "precision.float32_matmul_precision": "high"},
    "left to the generic switch": {"precision.allow_tf32_matmul": {"unread": "not-reported"},
                                   "precision.fp32_cuda_matmul": "none", "precision.fp32_generic": "tf32"},
}


@pytest.mark.parametrize("route", ROUTES)
def test_every_way_to_tf32_is_one_state(route: str) -> None:
    base = complete_document(machine="h100")
    verdict = judge(Facts.of(change(base, **ROUTES["flag"])), Facts.of(change(base, **ROUTES[route])))
    assert "tf32-matmul" not in {reason.rule for reason in verdict.reasons}
    assert "tf32-matmul" not in {item.rule for item in verdict.assumes}
    full = judge(Facts.of(base), Facts.of(change(base, **ROUTES[route])))
    assert full.reasons[0].rule == "tf32-matmul"


@pytest.mark.parametrize("planted", [
    {"precision.fp32_cuda_matmul": "tf32"}, {"precision.fp32_cudnn_conv": "ieee"},
    {"precision.allow_tf32_cudnn": False}, {"precision.fp32_cudnn_rnn": "ieee"}])
def test_the_variable_that_forbids_tf32_makes_switches_equal(planted: dict[str, Any]) -> None:
    base = complete_document(machine="h100", **{"variables.values.NVIDIA_TF32_OVERRIDE": "0"})
    verdict = judge(Facts.of(base), Facts.of(change(base, **planted)))
    assert (verdict.reasons, verdict.guaranteed) == ((), Level.BITWISE)


def test_the_variable_that_forbids_tf32_acts_through_each_operation() -> None:
    base = complete_document(machine="h100")
    verdict = judge(Facts.of(base), Facts.of(change(base, **{"variables.values.NVIDIA_TF32_OVERRIDE": "0"})))
    assert {reason.rule for reason in verdict.reasons} == {"tf32-conv", "tf32-rnn", "tf32-cudnn"}


def test_containers_of_nvidia_lower_products_by_default() -> None:
    assert default_precision(outside("A100", "2.1.0a0+41361538.nv23.06")) == "TF32 products and convolutions"


def test_a_container_that_sets_a_variable_is_told_from_outside() -> None:
    base = complete_document("image", machine="h100")
    other = change(base, **{"variables.values.TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "1"})
    assert judge(Facts.of(base), Facts.of(other)).reasons[0].rule == "tf32-override"


def test_an_unknown_generation_leaves_tf32_open() -> None:
    lowered = {"precision.fp32_cuda_matmul": "tf32", "precision.allow_tf32_matmul": True}
    base = complete_document(machine="h100", **lowered)
    unnamed = change(base, **{"accelerators.devices.0.name": {"unread": "denied"},
                              "accelerators.devices.0.compute_capability": {"unread": "denied"}})
    one = change(unnamed, **{"accelerators.devices": unnamed["stack"]["accelerators"]["devices"][:1]})
    assert "tf32-matmul" in {item.rule for item in judge(Facts.of(base), Facts.of(one)).assumes}
