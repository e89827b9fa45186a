"""Every switch of torch: set through either interface, read without raising, warning, or changing what others read."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import types
import warnings
from typing import Any

import pytest
import torch

from repro_env.fingerprint.facts import is_unread
from repro_env.probes import (
    inprocess,
    inprocess_build,
    inprocess_compile,
    inprocess_distributed,
    inprocess_model,
    inprocess_pools,
    inprocess_python,
    inprocess_torch,
)
from repro_env.system import System
from tests.client.process.test_readers import CUDA_REPORT, _old_torch, passed, read, settled

#: a program that, in one child for each list of setters, sets switches, asks torch's own getters, is looked at twice,
#: and asks them again.
PROGRAM = """
import json, os, sys, warnings
import torch
from repro_env.probes import inprocess
from repro_env.system import System

CASES = json.loads(sys.argv[1])
GETTERS = (
    "torch.backends.cuda.matmul.allow_tf32", "torch.backends.cudnn.allow_tf32", "torch.get_float32_matmul_precision()",
    "torch.backends.fp32_precision", "torch.backends.cuda.matmul.fp32_precision",
    "torch.backends.cudnn.fp32_precision", "torch.backends.cudnn.conv.fp32_precision",
    "torch.backends.cudnn.rnn.fp32_precision", "torch.backends.mkldnn.fp32_precision",
    "torch.backends.mkldnn.matmul.fp32_precision", "torch.backends.mkldnn.conv.fp32_precision",
    "torch.backends.mkldnn.rnn.fp32_precision", "torch.backends.mkldnn.allow_tf32",
    "torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction",
    "torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction",
    "torch.backends.cuda.matmul.allow_fp16_accumulation", "torch.backends.cuda.fp16_bf16_reduction_math_sdp_allowed()",
    "torch.backends.cuda.flash_sdp_enabled()", "torch.backends.cuda.mem_efficient_sdp_enabled()",
    "torch.backends.cuda.math_sdp_enabled()", "torch.backends.cuda.cudnn_sdp_enabled()",
    "torch._C._get_sdp_priority_order()", "torch.backends.cudnn.benchmark", "torch.backends.cudnn.deterministic",
    "torch.backends.cudnn.enabled", "torch.are_deterministic_algorithms_enabled()",
    "torch.is_deterministic_algorithms_warn_only_enabled()", "torch.utils.deterministic.fill_uninitialized_memory",
    "torch.backends.mkldnn.enabled", "torch.backends.mkldnn.deterministic", "torch.get_default_dtype()",
    "torch.backends.cuda.preferred_linalg_library()", "torch.initial_seed()", "torch.get_num_threads()",
    "torch.random.get_rng_state().sum()", "torch.is_autocast_enabled('cpu')", "torch.cuda.is_initialized()")

def answers():
    found = {}
    for getter in GETTERS:
        try:
            found[getter] = str(eval(getter))
        except RuntimeError as error:
            found[getter] = "refused: " + str(error)[:40]
    return found

def outcomes(setters):
    found = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for setter in setters:
            exec(setter)
        before, said = answers(), len(caught)
        seen = inprocess.Seen()
        seen.settled = True
        first, second = (inprocess.read(System(), seen) for _ in range(2))
        found["warned by the look"] = [str(item.message) for item in caught[said:]]
    after = answers()
    found["changed by the look"] = {name: [value, after[name]] for name, value in before.items()
                                    if after[name] != value}
    found["errors"] = first.errors + second.errors
    found["unsteady"] = [path for path, value in first.facts.items() if second.facts[path] != value]
    found["facts"] = first.facts
    return found

for name, setters in CASES.items():
    child = os.fork()
    if not child:
        sys.stdout.write(json.dumps({name: outcomes(setters)}) + "\\n")
        sys.stdout.flush()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0, name
"""
OLD = ["torch.backends.cuda.matmul.allow_tf32 = True", "torch.backends.cudnn.allow_tf32 = False",
       "torch.set_float32_matmul_precision('medium')"]
NEW = ["torch.backends.fp32_precision = 'ieee'", "torch.backends.cuda.matmul.fp32_precision = 'tf32'",
       "torch.backends.cudnn.conv.fp32_precision = 'ieee'", "torch.backends.cudnn.rnn.fp32_precision = 'tf32'",
       "torch.backends.mkldnn.matmul.fp32_precision = 'bf16'", "torch.backends.mkldnn.conv.fp32_precision = 'tf32'",
       "torch.backends.mkldnn.rnn.fp32_precision = 'ieee'"]
OTHERS = ["torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False",
          "torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False",
          "torch.backends.cuda.matmul.allow_fp16_accumulation = True",
          "torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp(True)",
          "torch.backends.cuda.enable_flash_sdp(False)", "torch.backends.cuda.enable_cudnn_sdp(False)",
          "torch.backends.cuda.enable_mem_efficient_sdp(False)", "torch._C._set_sdp_priority_order([0, 3, 1, 2])",
          "torch.backends.cudnn.benchmark = True", "torch.backends.cudnn.deterministic = True",
          "torch.use_deterministic_algorithms(True, warn_only=True)", "torch.backends.mkldnn.deterministic = True",
          "torch.utils.deterministic.fill_uninitialized_memory = False", "torch.set_default_dtype(torch.bfloat16)",
          "torch.backends.mha.set_fastpath_enabled(False)", "torch.set_flush_denormal(True)",
          "torch.set_num_threads(1)", "torch.manual_seed(5)"]


CASES = {"old": OLD, "new": NEW, "all": NEW + OLD + OTHERS}


@pytest.fixture(scope="module")
def outcomes() -> dict[str, Any]:
    done = subprocess.run([sys.executable, "-c", PROGRAM, json.dumps(CASES)], capture_output=True, text=True,
                          check=True, timeout=120)
    return {name: found for line in done.stdout.splitlines() for name, found in json.loads(line).items()}


@pytest.mark.parametrize("case", CASES)
def test_reading_every_switch_changes_and_says_nothing(case: str, outcomes: dict[str, Any]) -> None:
    found = {name: value for name, value in outcomes[case].items() if name != "facts"}
    assert found == {"warned by the look": [], "changed by the look": {}, "errors": [], "unsteady": []}


def test_switches_of_the_old_interface_are_read_as_they_were_set(outcomes: dict[str, Any]) -> None:
    facts = outcomes["old"]["facts"]
    assert facts["precision.allow_tf32_matmul"] is True
    assert facts["precision.allow_tf32_cudnn"] is False
    assert facts["precision.float32_matmul_precision"] == "medium"


def test_switches_of_the_new_interface_are_read_where_the_old_one_refuses(outcomes: dict[str, Any]) -> None:
    facts = outcomes["new"]["facts"]
    expected = {"fp32_generic": "ieee", "fp32_cuda_matmul": "tf32", "fp32_cudnn_conv": "ieee", "fp32_cudnn_rnn": "tf32",
                "fp32_mkldnn_matmul": "bf16", "fp32_mkldnn_conv": "tf32", "fp32_mkldnn_rnn": "ieee"}
    assert {name: facts[f"precision.{name}"] for name in expected} == expected


def test_every_other_switch_is_read_as_it_was_set(outcomes: dict[str, Any]) -> None:
    facts = outcomes["all"]["facts"]
    expected = {
        "precision.fp16_reduced_reduction": False, "precision.bf16_reduced_reduction": False,
        "precision.fp16_accumulation": True, "precision.math_sdp_reduced": True, "precision.default_dtype": "bfloat16",
        "precision.flush_to_zero": True, "determinism.sdp_flash": False, "determinism.sdp_cudnn": False,
        "determinism.sdp_mem_efficient": False, "determinism.sdp_math": True, "determinism.cudnn_benchmark": True,
        "determinism.cudnn_deterministic": True, "determinism.deterministic_algorithms": True,
        "determinism.warn_only": True, "determinism.mkldnn_deterministic": True, "determinism.mha_fastpath": False,
        "determinism.fill_uninitialized_memory": False, "threads.torch_intraop": 1,
        "determinism.sdp_priority": ["math", "cudnn", "flash", "mem_efficient", "overrideable"]}
    assert {path: facts[path] for path in expected} == expected


def test_another_flash_kernel_in_place_of_torchs_own_is_named() -> None:
    newer = _old_torch(_get_sdp_priority_order=[3, 1, 0])
    newer.nn = types.SimpleNamespace(attention=types.SimpleNamespace(current_flash_attention_impl=lambda: "FA4"))
    assert read(modules={"torch": newer}, files=[])["determinism.sdp_priority"] == ["cudnn", "flash FA4", "math"]

    newer.nn.attention = types.SimpleNamespace()
    assert read(modules={"torch": newer}, files=[])["determinism.sdp_priority"] == ["cudnn", "flash", "math"]


def test_flush_to_zero_is_measured_as_torch_set_it_for_this_thread() -> None:
    assert torch.set_flush_denormal(True)
    try:
        assert inprocess_python.flushes_to_zero() is True
    finally:
        torch.set_flush_denormal(False)
    assert inprocess_python.flushes_to_zero() is False


def test_a_build_for_devices_tells_what_it_was_compiled_against() -> None:
    facts = read(modules={"torch": _old_torch()}, files=[])

    assert facts["libraries.cudnn.compiled_against"] == "8.9.2"
    assert facts["libraries.nccl.compiled_against"] == "2.18.1"
    assert facts["libraries.cuda_runtime.compiled_against"] == "12.1"
    assert facts["libraries.miopen.compiled_against"] is None
    assert facts["frameworks.torch.abi"] == "pre-cxx11"
    assert facts["determinism.cudnn_benchmark_limit"] == 10
    assert facts["determinism.preferred_linalg"] == "cusolver"
    assert facts["determinism.preferred_blas"] is None, "this version has no such switch"
    assert facts["determinism.sdp_priority"] is None


def test_a_torch_without_a_getter_of_its_cpu_kernels_tells_them_in_its_report() -> None:
    old = _old_torch()
    old.backends = types.SimpleNamespace()
    assert read(modules={"torch": old}, files=[])["cpu.torch_capability"] == "AVX512"

    old.cuda.is_initialized = lambda: False
    assert read(modules={"torch": old}, files=[])["cpu.torch_capability"] == {"unread": "not-reported"}


def test_a_build_for_rocm_names_its_own_libraries() -> None:
    old = _old_torch(_get_blas_preferred_backend="_BlasBackend.Cublaslt")
    old.version.cuda, old.version.hip = None, "6.1"
    facts = read(modules={"torch": old}, files=[])

    assert facts["libraries.miopen.compiled_against"] == "8.9.2"
    assert facts["libraries.rccl.compiled_against"] == "2.18.1"
    assert facts["libraries.cudnn.compiled_against"] is None
    assert facts["determinism.preferred_blas"] == "cublaslt"


def test_rocm_is_not_asked_what_it_prefers_before_the_program_started_it() -> None:
    old = _old_torch()
    old.version.cuda, old.version.hip = None, "6.1"
    old.cuda.is_initialized = lambda: False
    old._C._get_blas_preferred_backend = lambda: pytest.fail("this getter counts devices")

    assert inprocess_torch._preferred(old, "_get_blas_preferred_backend") == {"unread": "not-loaded"}


def test_a_build_without_devices_was_compiled_against_none_of_their_libraries() -> None:
    facts = read()

    for name in ("cudnn", "nccl", "cuda_runtime", "miopen", "rccl"):
        assert facts[f"libraries.{name}.compiled_against"] is None
    for name in ("cudnn_benchmark_limit", "preferred_blas", "preferred_linalg", "tunable_op"):
        assert facts[f"determinism.{name}"] is None


def test_the_settings_that_choose_kernels_are_taken_from_the_report() -> None:
    assert inprocess_build.build_flags(CUDA_REPORT) == {
        "BLAS_INFO": "mkl", "LAPACK_INFO": "mkl", "PERF_WITH_AVX512": "1", "CUDA_VERSION": "12.1",
        "CUDNN_VERSION": "8.9.2", "USE_CUDA": "ON", "USE_CUDNN": "ON", "USE_NCCL": "1", "USE_ROCM": "OFF",
        "USE_FBGEMM": "1", "CXX_FLAGS": "-march=native -ffast-math", "COMPILER": "GCC 9.3"}


def test_the_real_report_names_blas_and_no_folder() -> None:
    flags = inprocess_build.build_flags(torch.__config__.show())

    assert {"BLAS_INFO", "USE_OPENMP", "COMPILER"} <= flags.keys()
    assert not any("/" in value for value in flags.values())


@pytest.mark.parametrize(("device_seed", "told"), [(7, 7), (1 << 40, None), (8, None)],
                         ids=["set-with-torch", "drawn", "set-by-itself"])
def test_the_seed_of_a_device_counts_where_it_was_set_with_torch(device_seed: int, told: int | None) -> None:
    old = _old_torch()
    old.cuda.default_generators = (types.SimpleNamespace(initial_seed=lambda: device_seed),)

    found = inprocess_torch._seeds(old, settled(torch_seed_at_import=9))["cuda"]
    assert found == told if told is not None else is_unread(found)


def test_no_seed_of_a_device_is_asked_before_devices_were_started() -> None:
    old = _old_torch()
    old.cuda = types.SimpleNamespace(is_initialized=lambda: False)

    assert inprocess_torch._seeds(old, settled(torch_seed_at_import=9)) == {"torch": 7}


def test_a_changed_pool_is_told_with_its_size_at_the_first_step() -> None:
    seen = settled()
    seen.changed({"threads.openmp_pools": {"libgomp": 8, "libiomp5": 8}, "determinism.cudnn_benchmark": False})

    assert seen.changed({"threads.openmp_pools": {"libgomp": 4, "libiomp5": 8, "libomp": 8},
                         "determinism.cudnn_benchmark": True}
                        ) == ["determinism.cudnn_benchmark: false", "threads.openmp_pools.libgomp: 8"]


def test_what_the_compiler_and_torch_itself_do_later_is_no_switch() -> None:
    seen = settled()
    seen.changed({"determinism.inductor": {"freezing": "false"}, "determinism.compile_cache": None,
                  "determinism.sdp_priority": ["flash", "math"]})
    assert seen.changed({"determinism.inductor": {"freezing": "false|true"}, "determinism.compile_cache": "sha256:1",
                         "determinism.sdp_priority": ["cudnn", "flash", "math"]}) == []


def test_reading_torch_costs_milliseconds() -> None:
    groups = (inprocess_torch, inprocess_compile, inprocess_model, inprocess_distributed, inprocess_pools)
    seen = passed(torch.nn.Linear(2, 2))

    def spent() -> float:
        start = time.thread_time()
        for group in groups:
            group.read(System(), seen, inprocess.Readings())
        return time.thread_time() - start

    assert min(spent() for _ in range(5)) < 0.010


def test_a_look_at_a_real_torch_warns_of_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert inprocess.read(System(), settled()).errors == []
