"""Readers against real modules of this process, stand-ins of older torch versions, and one failure at a time."""

from __future__ import annotations

import ctypes.util
import sys
import types
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch

from repro_env.fingerprint.facts import is_unread
from repro_env.probes import (
    inprocess,
    inprocess_build,
    inprocess_compile,
    inprocess_distributed,
    inprocess_libraries,
    inprocess_model,
    inprocess_numpy,
    inprocess_pools,
    inprocess_python,
    inprocess_torch,
    library_questions,
)
from repro_env.probes.keys import SECTIONS
from repro_env.system import System


class Host(System):
    """This machine with some of its modules, variables or mapped files replaced."""

    def __init__(self, modules: Mapping[str, Any] | None = None, variables: dict[str, str] | None = None,
                 files: list[str] | None = None, start: bytes | None = None) -> None:
        self._modules, self._variables, self._files, self._start = modules, variables, files, start

    @property
    def environ(self) -> Mapping[str, str]:
        return super().environ if self._variables is None else self._variables

    def loaded_modules(self) -> Mapping[str, Any]:
        return super().loaded_modules() if self._modules is None else self._modules

    def mapped_files(self) -> list[str]:
        return super().mapped_files() if self._files is None else self._files

    def read_bytes(self, path: str, limit: int = 65536) -> bytes:
        if path == "/proc/self/environ" and self._start is not None:
            return self._start
        return super().read_bytes(path, limit)


def settled(**known: Any) -> inprocess.Seen:
    seen = inprocess.Seen()
    seen.settled = True
    for name, value in known.items():
        setattr(seen, name, value)
    return seen


def passed(*modules: Any, **known: Any) -> inprocess.Seen:
    """What was seen of a program whose forward pass called these modules, the outermost last."""
    seen = settled(whole_pass=True, **known)
    for module in modules:
        inprocess_model.note_module(torch, module, seen)
    return seen


def read(**replaced: Any) -> dict[str, Any]:
    readings = inprocess.read(Host(**replaced), settled())
    assert readings.errors == []
    return readings.facts


def test_every_reading_is_a_field_of_the_document() -> None:
    for path in read():
        section, name = path.rsplit(".", 1) if path.startswith("program.") else path.split(".", 1)
        assert name.split(".")[0] in SECTIONS[section], path


def test_every_reading_has_a_source() -> None:
    readings = inprocess.read(System(), settled())

    assert readings.sources.keys() == readings.facts.keys()
    assert set(readings.sources.values()) <= {"torch", "numpy", "interpreter", "loaded-library"}


def test_what_torch_says_is_what_is_recorded() -> None:
    facts = read()

    assert facts["frameworks.torch.version"] == torch.__version__
    assert facts["frameworks.torch.revision"] == torch.version.git_version
    assert facts["threads.torch_intraop"] == torch.get_num_threads()
    assert facts["threads.torch_interop"] == torch.get_num_interop_threads()
    assert facts["precision.float32_matmul_precision"] == torch.get_float32_matmul_precision()
    assert facts["precision.allow_tf32_matmul"] is torch.backends.cuda.matmul.allow_tf32
    assert facts["precision.allow_tf32_cudnn"] is torch.backends.cudnn.allow_tf32
    assert facts["precision.fp16_reduced_reduction"] is \
        torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction
    assert facts["determinism.sdp_flash"] is torch.backends.cuda.flash_sdp_enabled()
    assert facts["determinism.cudnn_benchmark"] is torch.backends.cudnn.benchmark
    assert facts["determinism.mha_fastpath"] is torch.backends.mha.get_fastpath_enabled()
    assert facts["determinism.changed"] == []
    assert facts["cpu.torch_capability"] == torch.backends.cpu.get_cpu_capability()


def test_the_simd_list_is_the_one_numpy_prints() -> None:
    shown = np.show_config(mode="dicts")
    assert read()["cpu.numpy_simd"] == sorted(shown["SIMD Extensions"].get("found", []))


def test_older_numpy_keeps_its_core_elsewhere() -> None:
    core = types.SimpleNamespace(__cpu_features__={"AVX2": True, "FMA3": True, "AVX512F": False, "SSE": True},
                                 __cpu_dispatch__=["FMA3", "AVX2", "AVX512F"])
    numpy = types.SimpleNamespace(__version__="1.26.4", version=types.SimpleNamespace(git_revision="abc"))
    facts = read(modules={"numpy": numpy, "numpy.core._multiarray_umath": core}, files=[])

    assert facts["cpu.numpy_simd"] == ["AVX2", "FMA3"]
    assert facts["frameworks.numpy.version"] == "1.26.4"
    assert facts["frameworks.numpy.revision"] == "abc"


def test_openblas_tells_its_version_kernels_and_threads() -> None:
    pools = read()["threads.blas_pools"]

    assert pools
    assert all(pool["library"] == "openblas" and pool["threads"] >= 1 for pool in pools)
    assert all(pool["version"][0].isdigit() and pool["architecture"] for pool in pools)


def test_two_openmp_runtimes_that_disagree_are_not_one_number(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {"/a/libgomp.so.1": 2, "/b/libomp.so": 4}
    host = Host(files=list(counts))
    monkeypatch.setattr(host, "ask_library", lambda path, question: question(
        types.SimpleNamespace(omp_get_max_threads=lambda: counts[path])), raising=False)

    both = inprocess_pools.openmp_pools(host, list(counts))
    assert both == {"libgomp": 2, "libomp": 4}
    assert inprocess_pools._openmp(both, "") == {"unread": "not-reported"}
    assert inprocess_pools._openmp({"libgomp": 2}, "") == 2
    assert inprocess_pools._openmp({}, "") is None


def test_copies_of_one_openmp_runtime_that_disagree_are_both_told(monkeypatch: pytest.MonkeyPatch) -> None:
    counts = {"/a/libgomp-24e2ab19.so.1.0.0": 8, "/b/libgomp.so.1": 1, "/c/libgomp.so.1": 8}
    host = Host(files=list(counts))
    monkeypatch.setattr(host, "ask_library", lambda path, question: question(
        types.SimpleNamespace(omp_get_max_threads=lambda: counts[path])), raising=False)

    assert inprocess_pools.openmp_pools(host, list(counts)) == {"libgomp": 1, "libgomp 2": 8}


def test_a_library_that_is_not_mapped_is_surely_not_loaded() -> None:
    facts = read(files=[], modules={})

    for name in ("cudnn", "cublas", "nccl", "openblas", "mkl"):
        assert facts[f"libraries.{name}.loaded"] is None
    assert facts["threads.blas_pools"] == []
    assert facts["threads.openmp"] is None


def test_a_mapped_library_that_cannot_say_is_not_reported() -> None:
    libc = ctypes.util.find_library("c")
    assert libc is not None
    assert System().ask_library(libc, library_questions.cudnn) is None


@pytest.mark.parametrize(("number", "version"), [(90100, "9.1.0"), (8907, "8.9.7"), (91002, "9.10.2")])
def test_cudnn_numbers_have_two_forms(number: int, version: str) -> None:
    class Function:
        restype: Any = None

        def __call__(self) -> int:
            return number

    library = types.SimpleNamespace(cudnnGetVersion=Function())

    assert library_questions.cudnn(library) == version


CUDA_REPORT = """PyTorch built with:
  - GCC 9.3
  - C++ Version: 201703
  - Intel(R) MKL-DNN v3.1.1 (Git Hash 64f6bcbcbab628e96f33a62c3e975f8535a7bde4)
  - CPU capability usage: AVX512
  - CUDA Runtime 12.1
  - NVCC architecture flags: -gencode;arch=compute_80,code=sm_80;-gencode;arch=compute_90,code=sm_90
  - CuDNN 8.9.2
  - Build settings: BLAS_INFO=mkl, BUILD_TYPE=Release, CUDA_VERSION=12.1, CUDNN_VERSION=8.9.2, \
CXX_COMPILER=/opt/c++, CXX_FLAGS= -D_GLIBCXX_USE_CXX11_ABI=0 -DUSE_FBGEMM -O2 -march=native -Wall -ffast-math, \
LAPACK_INFO=mkl, PERF_WITH_AVX512=1, TORCH_VERSION=2.1.0, USE_CUDA=ON, USE_CUDNN=ON, USE_NCCL=1, USE_ROCM=OFF,
"""


def _old_torch(**switches: Any) -> Any:
    """Torch before 2.9, as far as the readers ask: no new interface, fewer switches."""
    answers: dict[str, Any] = {
        "_get_cublas_allow_tf32": True, "_get_cudnn_allow_tf32": False,
        "_get_cublas_allow_fp16_reduced_precision_reduction": True,
        "_get_cublas_allow_bf16_reduced_precision_reduction": False, "_get_float32_matmul_precision": "high",
        "_get_deterministic_algorithms": True, "_get_deterministic_algorithms_warn_only": True,
        "_get_cudnn_enabled": True, "_get_cudnn_deterministic": True, "_get_cudnn_benchmark": False,
        "_cuda_getArchFlags": "sm_90 sm_80 compute_90", "_nccl_version": (2 << 32) + (18 << 16) + 1,
        "_cuda_getCompiledVersion": 12010, "_get_linalg_preferred_backend": "_LinalgBackend.Cusolver",
        "_cuda_get_cudnn_benchmark_limit": 10, "_cuda_tunableop_is_enabled": False, **switches}
    extension = types.SimpleNamespace(**{name: (lambda value=value: value) for name, value in answers.items()})
    extension._cudnn = types.SimpleNamespace(getCompileVersion=lambda: (8, 9, 2))
    extension._GLIBCXX_USE_CXX11_ABI = False
    return types.SimpleNamespace(
        __version__="2.1.0+cu121", _C=extension, __config__=types.SimpleNamespace(
            show=lambda: CUDA_REPORT, parallel_info=lambda: "omp_get_max_threads() : 4\nIntel(R) MKL-DNN v3.1.1 (Git)"),
        get_default_dtype=lambda: torch.float32,
        version=types.SimpleNamespace(cuda="12.1", hip=None, debug=False, git_version="abc"),
        backends=types.SimpleNamespace(cpu=types.SimpleNamespace(get_cpu_capability=lambda: "AVX2")),
        get_num_threads=lambda: 4, get_num_interop_threads=lambda: 2,
        is_autocast_enabled=lambda: True, get_autocast_gpu_dtype=lambda: torch.float16,
        cuda=types.SimpleNamespace(is_initialized=lambda: True, device_count=lambda: 1, current_device=lambda: 0,
                                   default_generators=(types.SimpleNamespace(initial_seed=lambda: 7),)),
        default_generator=types.SimpleNamespace(initial_seed=lambda: 7))


def test_an_older_torch_is_read_through_its_own_getters() -> None:
    facts = read(modules={"torch": _old_torch()}, files=[])

    assert facts["precision.allow_tf32_matmul"] is True
    assert facts["precision.allow_tf32_cudnn"] is False
    assert facts["precision.fp32_cuda_matmul"] is None, "this version has no such switch"
    assert facts["precision.fp16_accumulation"] is None
    assert facts["precision.autocast"] == "float16"
    assert facts["determinism.warn_only"] is True
    assert facts["determinism.sdp_cudnn"] is None
    assert facts["frameworks.torch.arch_list"] == ["compute_90", "sm_80", "sm_90"]
    assert facts["frameworks.backend"] == "cuda"


def test_cuda_that_was_not_started_is_not_asked() -> None:
    old = _old_torch()
    old.cuda = types.SimpleNamespace(is_initialized=lambda: False)
    old.__config__.show = lambda: pytest.fail("this report counts devices, which starts the driver")

    facts = read(modules={"torch": old}, files=[])

    assert facts["frameworks.backend"] == "cpu"
    assert facts["libraries.onednn.loaded"] == "3.1.1", "told without the report"
    assert facts["frameworks.torch.build_flags"] == {"unread": "not-reported"}
    assert facts["libraries.cudnn.compiled_against"] == "8.9.2", "a constant of the extension module"


def test_rocm_is_told_from_cuda() -> None:
    old = _old_torch()
    old.version.hip = "6.1"
    assert inprocess_python.backend(Host(), {"torch": old}, settled()) == "rocm"


def test_a_torch_that_is_still_being_imported_is_left_alone() -> None:
    facts = read(modules={"torch": types.SimpleNamespace(__version__="2.13.0")}, files=[])

    assert not any(path.startswith(("precision.allow", "determinism.det", "determinism.cudnn")) for path in facts)


def test_a_seed_counts_only_when_the_program_set_it() -> None:
    old = _old_torch()

    assert inprocess_torch._seeds(old, settled(torch_seed_at_import=9)) == {"torch": 7, "cuda": 7}
    assert inprocess_torch._seeds(old, settled()) == {"torch": 7, "cuda": 7}, "entropy is never that small"

    old.default_generator = types.SimpleNamespace(initial_seed=lambda: 67280421310721)
    assert inprocess_torch._seeds(old, settled(torch_seed_at_import=67280421310721)) == {"unread": "not-reported"}
    assert inprocess_torch._seeds(old, settled()) == {"unread": "not-reported"}
    assert inprocess_torch._seeds(old, settled(torch_seed_at_import=9))["torch"] == 67280421310721


@pytest.mark.parametrize(("start", "now", "seed"), [
    (b"A=1\0PYTHONHASHSEED=42\0", {"PYTHONHASHSEED": "42"}, "42"),
    (b"A=1\0", {"PYTHONHASHSEED": "7"}, "random"),
    (b"PYTHONHASHSEED=random\0", {}, "random"),
    (b"PYTHONHASHSEED=42\0", {}, "42"),
], ids=["set", "set-too-late", "random", "removed-later"])
def test_the_hash_seed_is_the_one_the_process_started_with(start: bytes, now: dict[str, str], seed: str,
                                                           monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "flags", types.SimpleNamespace(hash_randomization=1, ignore_environment=0))

    assert inprocess_python.hash_seed(Host(start=start, variables=now)) == seed


def test_no_hash_randomisation_is_seed_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "flags", types.SimpleNamespace(hash_randomization=0, ignore_environment=0))
    assert inprocess_python.hash_seed(Host(variables={})) == "0"


def test_denormals_are_measured_in_the_calling_thread() -> None:
    assert inprocess_python.flushes_to_zero() is False


def test_autocast_once_seen_stays_and_silence_proves_nothing() -> None:
    seen = inprocess.Seen()
    assert is_unread(seen.autocast)
    seen.note_autocast(None)
    assert seen.autocast is None
    seen.forget_autocast()
    assert is_unread(seen.autocast)
    seen.note_autocast("bfloat16")
    seen.note_autocast(None)
    seen.forget_autocast()
    assert seen.autocast == "bfloat16"


GROUPS = {"frameworks": inprocess_python, "precision": inprocess_torch, "cpu": inprocess_numpy,
          "libraries": inprocess_libraries, "threads": inprocess_pools, "program.layout": inprocess_distributed,
          "program.model": inprocess_model, "determinism.inductor": inprocess_compile}


@pytest.mark.parametrize("path", GROUPS)
def test_a_group_that_fails_costs_its_own_facts_only(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise RuntimeError("planted")

    whole = inprocess.read(System(), passed(torch.nn.Linear(1, 1))).facts
    monkeypatch.setattr(GROUPS[path], "read", fail)
    readings = inprocess.read(System(), passed(torch.nn.Linear(1, 1)))

    assert readings.errors == [{"path": path, "code": "failed", "message": "reading raised RuntimeError"}]
    assert set(readings.facts) < set(whole)
    assert all(readings.facts[path] == whole[path] for path in readings.facts)


TABLES = [(inprocess_torch, "PRECISION"), (inprocess_torch, "DETERMINISM"), (inprocess_build, "BUILD"),
          (inprocess_torch, "THREADS")]
LINES = [line for module, table in TABLES for line in getattr(module, table)]


@pytest.mark.parametrize("path", [line[0] for line in LINES])
def test_a_reader_that_fails_costs_its_own_fact_only(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: Any) -> None:
        raise ValueError("planted secret")

    whole = read()
    for module, table in TABLES:
        lines = tuple((line[0], line[1], fail) if line[0] == path else line for line in getattr(module, table))
        monkeypatch.setattr(module, table, lines)

    readings = inprocess.read(System(), settled())

    assert readings.facts == {**whole, path: {"unread": "failed"}}
    assert readings.errors == [{"path": path, "code": "failed", "message": "reading raised ValueError"}]


def test_mapped_files_that_cannot_be_listed_cost_libraries_and_pools(monkeypatch: pytest.MonkeyPatch) -> None:
    host = Host()
    monkeypatch.setattr(host, "mapped_files", lambda: (_ for _ in ()).throw(OSError("denied")))

    readings = inprocess.read(host, settled())

    assert [error["path"] for error in readings.errors] == ["libraries", "threads", "determinism"]
    assert readings.facts["frameworks.torch.version"] == torch.__version__
