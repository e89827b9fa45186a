"""Which branch each library takes on a CPU. What is held to measurements was measured on a CPU with AVX-512 and AMX."""

from __future__ import annotations

from typing import Any

import pytest
from documents import change, complete_document, library

from repro_env.comparability import branches
from repro_env.comparability.judge import judge
from repro_env.comparability.levels import Level
from repro_env.comparability.processors import level_of_model
from repro_env.comparability.reading import Facts
from repro_env.comparability.vector import UNREAD, project
from repro_env.comparability.verdict import Verdict

INTEL, AMD = "GenuineIntel", "AuthenticAMD"


@pytest.mark.parametrize(("cbwr", "enabled"), [
    ("AVX512", None), ("AUTO", None), ("OFF", None), ("AVX512_E1", None), (None, "AVX512"), (None, "AVX512_E4"),
    ("avx2", None), (None, "avx2"), ("unknown", None), (None, "unknown")])
def test_caps_of_mkl_that_change_nothing_where_avx512_is(cbwr: str | None, enabled: str | None) -> None:
    assert branches.mkl("AVX-512", INTEL, cbwr, enabled) == branches.mkl("AVX-512", INTEL, None, None)


@pytest.mark.parametrize(("one", "other"), [
    (("AVX2", "AVX2"), ("AVX2", None)), (("AVX2,STRICT", "AVX2"), ("AVX2,STRICT", None)),
    (("AVX2", "SSE4_2"), ("SSE4_2", None)), (("COMPATIBLE", "AVX2"), ("COMPATIBLE", None))])
def test_routes_to_one_branch_of_mkl(one: tuple[str, Any], other: tuple[str, Any]) -> None:
    assert branches.mkl("AVX-512", INTEL, *one) == branches.mkl("AVX-512", INTEL, *other)


@pytest.mark.parametrize(("one", "other"), [
    ((None, None), ("AVX2", None)), ((None, None), ("AVX512,STRICT", None)), (("AVX2", None), ("AVX2,STRICT", None)),
    (("AVX2", None), (None, "AVX2")), (("SSE4_2", None), ("COMPATIBLE", None)), ((None, "AVX"), (None, "AVX2"))])
def test_branches_of_mkl_that_were_measured_to_differ(one: tuple[Any, Any], other: tuple[Any, Any]) -> None:
    assert branches.mkl("AVX-512", INTEL, *one) != branches.mkl("AVX-512", INTEL, *other)


@pytest.mark.parametrize("cbwr", ["AVX2", "AVX512", "AVX2,STRICT"])
def test_only_compatible_is_a_branch_for_cpus_of_others(cbwr: str) -> None:
    assert branches.mkl("AVX2", AMD, cbwr, None) == branches.mkl("AVX2", AMD, None, None)
    assert branches.mkl("AVX2", AMD, "COMPATIBLE", None) == "COMPATIBLE"


@pytest.mark.parametrize("cap", [None, "AVX512_CORE", "avx512_core", "AVX512_CORE_VNNI", "AVX512_CORE_AMX",
                                 "AVX10_1_512", "DEFAULT", "ALL", "unknown"])
def test_float32_in_onednn_needs_no_more_than_avx512_core(cap: str | None) -> None:
    assert branches.onednn("AVX-512", cap) == "AVX512_CORE"


@pytest.mark.parametrize(("cap", "isa"), [("AVX2", "AVX2"), ("avx2", "AVX2"), ("AVX2_VNNI_2", "AVX2"), ("AVX", "AVX"),
                                          ("SSE41", "SSE41")])
def test_onednn_is_held_below_what_the_cpu_has(cap: str, isa: str) -> None:
    assert branches.onednn("AVX-512", cap) == isa


@pytest.mark.parametrize("cap", ["AVX2", "AVX512_CORE"])
def test_a_cap_at_or_above_the_cpu_does_nothing(cap: str) -> None:
    assert branches.onednn("AVX2", cap) == branches.onednn("AVX2", None) == "AVX2"


@pytest.mark.parametrize(("cap", "unit"), [
    (None, "AMX"), ("ALL", "AMX"), ("AVX512_CORE_AMX", "AMX"), ("AVX10_1_512_AMX", "AMX"),
    ("AVX512_CORE_FP16", "AVX-512 float16"), ("AVX10_1_512", "AVX-512 float16"),
    ("AVX512_CORE_BF16", "AVX-512 bfloat16"), ("AVX512_CORE", "none"), ("AVX2", "none")])
def test_units_for_half_precision_under_a_cap(cap: str | None, unit: str) -> None:
    assert branches.half_units(["amx_bf16", "avx512_bf16", "avx512_fp16", "avx512f"], cap) == unit


@pytest.mark.parametrize(("features", "level"), [
    (["AVX2", "AVX512F", "AVX512_SKX", "FMA3"], "AVX-512"), (["X86_V3", "X86_V4"], "AVX-512"),
    (["AVX2", "FMA3"], "AVX2"), (["X86_V3"], "AVX2"), ([], "baseline")])
def test_level_of_numpy_in_the_words_of_both_generations(features: list[str], level: str) -> None:
    assert branches.numpy_level(features) == level


def verdict_on(left: dict[str, Any], right: dict[str, Any], **common: Any) -> Verdict:
    base = complete_document("exit", **common)
    return judge(Facts.of(change(base, **left)), Facts.of(change(base, **right)))


AVX2_CPU = {"cpu.instruction_sets": ["avx", "avx2", "fma"], "cpu.microarchitecture": "6-63",
            "cpu.model": "Intel(R) Xeon(R) CPU E5-2690 v3"}
#: what a program shows in which every library is held at AVX2.
HELD = {"cpu.torch_capability": "AVX2", "cpu.numpy_simd": ["AVX2", "FMA3"], "libraries.mkl": library("2025.0"),
        "variables.values.MKL_ENABLE_INSTRUCTIONS": "AVX2", "variables.values.ONEDNN_MAX_CPU_ISA": "AVX2",
        "threads.blas_pools": [{"library": "openblas", "version": "0.3.30", "architecture": "Haswell", "threads": 8}]}


def test_libraries_held_at_avx2_make_two_levels_of_cpus_one() -> None:
    """What remains are choices by model, such as block sizes."""
    verdict = verdict_on({}, AVX2_CPU, **HELD)
    assert {reason.rule for reason in verdict.reasons} == {"processor"}
    assert (verdict.guaranteed, verdict.expected) == (Level.CURVE, Level.BITWISE)


@pytest.mark.parametrize("free", [
    {"cpu.torch_capability": "AVX512"}, {"cpu.numpy_simd": ["AVX2", "AVX512F"]},
    {"variables.values.MKL_ENABLE_INSTRUCTIONS": None}, {"variables.values.ONEDNN_MAX_CPU_ISA": None},
    {"threads.blas_pools": [{"library": "openblas", "version": "0.3.30", "architecture": "SkylakeX", "threads": 8}]}],
    ids=lambda free: next(iter(free)))
def test_one_library_that_is_not_held_makes_the_levels_differ(free: dict[str, Any]) -> None:
    verdict = verdict_on({**HELD, **free}, {**HELD, **AVX2_CPU})
    assert verdict.reasons[0].rule == "cpu-vector-level"
    assert verdict.expected is Level.CURVE


def test_a_program_of_pure_python_uses_no_vectors() -> None:
    unused = {f"frameworks.{name}": None for name in ("torch", "numpy", "scipy", "scikit_learn")}
    verdict = verdict_on({}, AVX2_CPU, **unused, **{"libraries.mkl": None, "threads.blas_pools": []})
    assert {reason.rule for reason in verdict.reasons} == {"processor"}


@pytest.mark.parametrize(("common", "rules"), [
    ({"libraries.mkl": None}, {"processor"}), ({"variables.values.MKL_CBWR": "COMPATIBLE"}, {"processor"}),
    ({}, {"cpu-vendor", "processor"})], ids=["no MKL", "compatible", "MKL"])
def test_the_maker_of_a_cpu_matters_to_mkl_alone(common: dict[str, Any], rules: set[str]) -> None:
    verdict = verdict_on({}, {"cpu.vendor": AMD, "cpu.microarchitecture": "25-17"}, **common)
    assert {reason.rule for reason in verdict.reasons} == rules


@pytest.mark.parametrize("machine", ["cpu", "h100"])
def test_a_cap_that_repeats_what_the_cpu_is_stays_silent(machine: str) -> None:
    base = complete_document("exit", machine=machine, **AVX2_CPU, **{
        "cpu.torch_capability": "AVX2", "cpu.numpy_simd": ["AVX2"], "threads.blas_pools": HELD["threads.blas_pools"]})
    other = change(base, **{"variables.values.ONEDNN_MAX_CPU_ISA": "AVX2",
                            "variables.values.MKL_ENABLE_INSTRUCTIONS": "AVX2"})
    verdict = judge(Facts.of(base), Facts.of(other))
    assert (verdict.guaranteed, verdict.reasons) == (Level.BITWISE, ())


def test_cap_on_half_precision_acts_only_where_half_precision_is_used() -> None:
    capped = {"variables.values.ONEDNN_MAX_CPU_ISA": "AVX512_CORE"}
    assert not verdict_on({}, capped).reasons
    assert {reason.rule for reason in verdict_on({}, capped, **{"precision.autocast": "bfloat16"}).reasons} == {
        "onednn-half-units"}


@pytest.mark.parametrize(("stated", "held"), [
    ({"warm-up": "all"}, True), ({"warm-up": "tanh"}, False), (None, False), ({"epochs": "3"}, False)])
def test_dispatch_race_is_over_after_a_warm_up_of_every_function(stated: dict[str, str] | None, held: bool) -> None:
    side = Facts.of(complete_document("exit", **{"libraries.mkl": library("2024.2"), "declared.values": stated}))
    verdict = judge(side, side)
    assert ({reason.rule for reason in verdict.reasons} == set()) is held
    assert (verdict.guaranteed is Level.BITWISE) is held


NUMPY_ON_MKL = {"frameworks.torch.imported": False, "libraries.mkl": library("2024.1"), "threads.blas_pools": [],
                "frameworks.numpy.build_flags": {"blas": "mkl"}}


@pytest.mark.parametrize(("cbwr", "rules"), [(None, {"mkl-alignment"}), ("AVX2", set()), ("COMPATIBLE", set())])
def test_numpy_on_mkl_repeats_only_with_a_fixed_branch(cbwr: str | None, rules: set[str]) -> None:
    side = Facts.of(complete_document("exit", **NUMPY_ON_MKL, **{"variables.values.MKL_CBWR": cbwr}))
    assert {reason.rule for reason in judge(side, side).reasons} == rules


@pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NPY_DISABLE_CPU_FEATURES",
                                  "OPENBLAS_CORETYPE"])
def test_from_outside_the_variable_is_what_is_known(name: str) -> None:
    """In the process the value in force is read, and the variable by itself says nothing."""
    for vantage, silent in (("prologue", False), ("process", True)):
        base = complete_document(vantage)
        verdict = judge(Facts.of(base), Facts.of(change(base, **{f"variables.values.{name}": "2"})))
        assert (not verdict.reasons) is silent
        assert (verdict.guaranteed is Level.BITWISE) is silent
        assert bool(verdict.ignored) is silent


@pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "OPENBLAS_CORETYPE"])
def test_a_side_seen_from_outside_is_not_lowered_by_what_the_process_shows(name: str) -> None:
    outside = complete_document("prologue", **{f"variables.values.{name}": "2"})
    verdict = judge(Facts.of(outside), Facts.of(complete_document("process")))
    assert not verdict.reasons
    assert verdict.guaranteed is Level.BITWISE


@pytest.mark.parametrize(("without", "rules"), [
    (["AVX2", "AVX512F", "AVX512_SKX", "FMA3"], {"numpy-simd-host"}),
    (["AVX2", "FMA3"], {"cpu-vector-level", "numpy-simd", "numpy-simd-host"})], ids=["half precision", "AVX-512"])
def test_numpy_features_that_floats_do_not_use_lower_the_guarantee_alone(without: list[str], rules: set[str]) -> None:
    """Measured with NumPy 2.4: withholding AVX512_ICL and AVX512_SPR changed no result in float32 and float64."""
    pool = {"library": "openblas", "version": "0.3.30", "architecture": "Haswell", "threads": 8}
    common = {"frameworks.torch": None, "libraries.mkl": None, "threads.blas_pools": [pool]}
    verdict = verdict_on({"cpu.numpy_simd": ["AVX2", "AVX512F", "AVX512_ICL", "AVX512_SKX", "AVX512_SPR", "FMA3"]},
                         {"cpu.numpy_simd": without}, **common)
    assert {reason.rule for reason in verdict.reasons} == rules
    assert verdict.guaranteed is Level.CURVE


@pytest.mark.parametrize(("model", "level"), [
    ("Intel Xeon Processor (Skylake, IBRS)", "AVX-512"), ("Intel Core Processor (Haswell, no TSX)", "AVX2"),
    ("AMD EPYC-Milan Processor", "AVX2"), ("AMD EPYC-Genoa Processor", "AVX-512"),
    ("Intel(R) Xeon(R) 6972P", "AVX-512"), ("Intel(R) Xeon(R) 6780E", "AVX2"),
    ("Intel(R) Xeon(R) CPU 5160 @ 3.00GHz", None), ("Intel(R) Xeon(R) CPU @ 2.20GHz", None),
    ("Intel(R) Core(TM) i7-1065G7 CPU @ 1.30GHz", "AVX-512"), ("Intel(R) Core(TM) Ultra 7 155H", "AVX2"),
    ("AMD Ryzen Threadripper PRO 7995WX 96-Cores", "AVX-512"), ("AMD Ryzen AI 9 HX 370 w/ Radeon 890M", "AVX-512"),
    ("AMD Ryzen Threadripper 3970X 32-Core Processor", "AVX2"), ("Neoverse-V2", "SVE"), ("Neoverse-N1", "NEON")])
def test_level_of_a_processor_by_its_name_where_all_of_its_kind_agree(model: str, level: str | None) -> None:
    assert level_of_model(model) == level


def test_branches_follow_what_was_found_and_not_the_name() -> None:
    """A hypervisor may withhold what the name of a processor promises."""
    unread = {"cpu.instruction_sets": {"unread": "denied"}}
    vector = project(Facts.of(complete_document("exit", **unread)))
    assert {vector[rule].state for rule in ("mkl-branch", "onednn-isa", "host-branches")} == {UNREAD}
    assert vector["cpu-vector-level"].value == "AVX-512"
