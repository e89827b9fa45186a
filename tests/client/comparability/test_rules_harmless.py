"""What must not raise an alarm: harmless differences, planted in complete documents, leave no reason."""

from __future__ import annotations

from typing import Any

import pytest
from documents import change, complete_document, distribution, framework, h100, library

from repro_env.comparability.judge import judge
from repro_env.comparability.levels import Level, Question, Scope
from repro_env.comparability.reading import Facts

HARMLESS_ON_CPU: dict[str, dict[str, Any]] = {
    "host name": {"capture.process": {**complete_document()["capture"]["process"], "node": "other", "pid": 1}},
    "time zone": {"system.utc_offset": "+02:00"},
    "kernel release": {"system.kernel": "5.15.0-105-generic"},
    "name of the distribution": {"system.os_name": "Ubuntu 22.04.4 LTS"},
    "virtualisation": {"system.virtualisation": None},
    "UTF-8 by another name": {"system.encoding": "utf8"},
    "python patch release": {"python.version": "3.11.2"},
    "python compiler": {"python.compiler": "GCC 13.1.0"},
    "virtual environment": {"python.environment": "conda"},
    "container image": {"container.engine": "docker", "container.image_digest": "sha256:" + "9" * 64},
    "inter-op threads": {"threads.torch_interop": 1},
    "affinity with equal counts": {"threads.affinity_count": 16},
    "quota": {"threads.cgroup_limit_millicpu": 4000},
    "cores": {"cpu.cores": 64},
    "unrelated distributions": {"distributions.installed": [
        distribution("numpy", "2.3.5"), distribution("requests", "2.32.0"), distribution("torch", "2.13.0+cpu"),
        distribution("tqdm", "4.66"), distribution("transformers", "5.0.0")]},
    "TF32 switch without TF32": {"precision.allow_tf32_matmul": True, "precision.allow_tf32_cudnn": False},
    "precision high on a CPU": {"precision.float32_matmul_precision": "high"},
    "TF32 of the newer interface": {"precision.fp32_cuda_matmul": "tf32", "precision.fp32_generic": "tf32"},
    "cuDNN autotuning": {"determinism.cudnn_benchmark": True},
    "cuDNN determinism": {"determinism.cudnn_deterministic": False},
    "cuBLAS workspace": {"determinism.cublas_workspace": ":16:8"},
    "oneDNN determinism": {"determinism.mkldnn_deterministic": True},
    "CUDA build on a CPU run": {"frameworks.torch": framework(
        "2.13.0+cu124", revision="r2.13.0cpu", cuda_build="12.4", arch_list=["sm_90"])},
    "idle GPU": {"accelerators.devices": [h100()]},
    "idle CUDA libraries": {"libraries.cudnn": library("9.1.0"), "libraries.cublas": library("12.4.5")},
    "thread variable with no effect": {"variables.values.OMP_NUM_THREADS": "8"},
    "wait policy": {"variables.values.OMP_WAIT_POLICY": "passive"},
    "schedule": {"variables.values.OMP_SCHEDULE": "dynamic,1"},
    "allocator": {"variables.values.LD_PRELOAD": "/usr/lib/libtcmalloc_minimal.so.4"},
    "OpenMP runtime preloaded": {"variables.values.LD_PRELOAD": "/usr/lib/libiomp5.so"},
    "huge pages": {"variables.values.GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"},
    "capability set to what it is": {"variables.values.ATEN_CPU_CAPABILITY": "avx512"},
    "capability in small letters": {"cpu.torch_capability": "avx512"},
    "oneDNN cap at AVX512_CORE": {"variables.values.ONEDNN_MAX_CPU_ISA": "AVX512_CORE"},
    "oneDNN cap above": {"variables.values.ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16"},
    "MKL cap at AVX512": {"variables.values.MKL_ENABLE_INSTRUCTIONS": "AVX512"},
    "OMP_DYNAMIC set to off": {"variables.values.OMP_DYNAMIC": "false"},
    "OpenMP build id": {"libraries.openmp": {**library("libgomp 4.5"), "build_id": "other"}},
    "variables of GPU kernels": {"variables.values.TORCH_BLAS_PREFER_CUBLASLT": "1",
                                 "variables.values.CUBLASLT_WORKSPACE_SIZE": "1024",
                                 "variables.values.CUDA_MPS_ACTIVE_THREAD_PERCENTAGE": "50"},
    "order of pools": {"threads.blas_pools": [
        {"library": "openblas", "version": "0.3.30", "architecture": "SkylakeX", "threads": 8},
        {"library": "openblas", "version": "0.3.30", "architecture": "SkylakeX", "threads": 8}]},
    "jax installed and not used": {"frameworks.jax": framework("0.5.3", imported=False)},
    "remote of the repository": {"source.remote": "https://example.org/mirror.git"},
}
HARMLESS_ON_GPU: dict[str, dict[str, Any]] = {
    "driver with native code": {"driver.kernel_module": "535.86.10", "driver.user_libcuda": "535.86.10"},
    "CUDA level of the driver": {"driver.cuda_level": "12.6"},
    "kernel module flavour": {"driver.kernel_flavour": "proprietary"},
    "CUDA toolkit": {"libraries.cuda_toolkit": "12.8.93"},
    "system cuDNN": {"libraries.system_cudnn": ["8.9.7"]},
    "ECC and memory": {"accelerators.devices": [h100(ecc=False, memory_bytes=1) for _ in range(8)]},
    "fewer devices on the node": {"accelerators.devices": [h100()]},
    "name as people write it": {"accelerators.devices": [h100(name="H100 SXM5 80GB")]},
    "interconnect": {"accelerators.interconnect": "pcie"},
    "launch blocking": {"variables.values.CUDA_LAUNCH_BLOCKING": "1"},
    "allocator options": {"variables.values.PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"},
    "module loading": {"variables.values.CUDA_MODULE_LOADING": "EAGER"},
    "variables of AMD's libraries": {"variables.values.MIOPEN_FIND_MODE": "2",
                                     "variables.values.HIPBLASLT_ALLOW_TF32": "1"},
    "variables of JAX": {"variables.values.XLA_FLAGS": "--xla_gpu_autotune_level=0",
                         "variables.values.JAX_ENABLE_X64": "1"},
    "variables of collectives for one process": {"variables.values.NCCL_BUFFSIZE": "8388608",
                                                 "variables.values.NCCL_P2P_DISABLE": "1"},
    "emulation switched off": {"variables.values.CUBLAS_EMULATE_SINGLE_PRECISION": "0"},
    "word for the same precision": {"precision.fp32_cuda_matmul": "ieee"},
    "oneDNN cap at what float32 uses anyway": {"variables.values.ONEDNN_MAX_CPU_ISA": "AVX512_CORE"},
    "four-part library version": {"libraries.cudnn": {**library("9.1.0"), "installed": "9.1.0.70"}},
}
CASES = [pytest.param("cpu", change_, id=name) for name, change_ in HARMLESS_ON_CPU.items()] + [
    pytest.param("h100", change_, id=name) for name, change_ in HARMLESS_ON_GPU.items()]


@pytest.mark.parametrize(("machine", "planted"), CASES)
@pytest.mark.parametrize("question", [Question.COMPARE, Question.REPEAT])
def test_harmless_difference_is_silent(machine: str, planted: dict[str, Any], question: Question) -> None:
    base = complete_document(machine=machine)
    verdict = judge(Facts.of(base), Facts.of(change(base, **planted)), question=question)
    assert not verdict.reasons, [(reason.rule, reason.why) for reason in verdict.reasons]
    assert not verdict.assumes
    assert verdict.guaranteed is Level.BITWISE


#: the switch as older and as newer versions of torch show it.
MEDIUM: list[dict[str, Any]] = [
    {"precision.float32_matmul_precision": "medium", "precision.fp32_mkldnn_matmul": None},
    {"precision.float32_matmul_precision": "medium", "precision.fp32_mkldnn_matmul": "bf16"}]


@pytest.mark.parametrize("medium", MEDIUM)
def test_precision_medium_without_bf16_is_silent(medium: dict[str, Any]) -> None:
    base = complete_document(**{"cpu.instruction_sets": ["avx2"], "precision.fp32_mkldnn_matmul": None})
    assert not judge(Facts.of(base), Facts.of(change(base, **medium))).reasons


@pytest.mark.parametrize("medium", MEDIUM)
def test_precision_medium_capped_below_bf16_is_silent(medium: dict[str, Any]) -> None:
    base = complete_document(**{"variables.values.ONEDNN_MAX_CPU_ISA": "AVX2", "precision.fp32_mkldnn_matmul": None})
    assert not judge(Facts.of(base), Facts.of(change(base, **medium))).reasons


@pytest.mark.parametrize("planted", [
    {"variables.values.ONEDNN_DEFAULT_FPMATH_MODE": "BF16"}, {"variables.values.ONEDNN_MAX_CPU_ISA": "AVX2"},
    {"variables.values.MKL_CBWR": "AVX2"}, {"variables.values.MKL_ENABLE_INSTRUCTIONS": "AVX2"}])
def test_settings_of_libraries_that_a_numpy_program_does_not_load_are_silent(planted: dict[str, Any]) -> None:
    base = complete_document("exit", **{"frameworks.torch.imported": False, "libraries.mkl.loaded": None})
    verdict = judge(Facts.of(base), Facts.of(change(base, **planted)))
    assert (verdict.guaranteed, verdict.reasons) == (Level.BITWISE, ())


def test_mixed_switches_are_judged_by_what_is_in_force() -> None:
    """Torch refuses to tell the old switch once a program has used the new ones; TF32 does nothing on a CPU."""
    base = complete_document()
    other = change(base, **{"precision.float32_matmul_precision": {"unread": "not-reported"},
                            **{f"precision.fp32_mkldnn_{name}": "tf32" for name in ("matmul", "conv", "rnn")}})
    verdict = judge(Facts.of(base), Facts.of(other))
    assert (verdict.guaranteed, verdict.reasons, verdict.assumes) == (Level.BITWISE, (), ())


def test_tf32_switch_does_nothing_before_ampere() -> None:
    turing = {"accelerators.devices": [h100(name="Tesla T4", compute_capability="7.5", sm_count=40)]}
    base = complete_document(machine="h100", **turing)
    other = change(base, **{"precision.allow_tf32_matmul": True, "precision.float32_matmul_precision": "medium"})
    assert not judge(Facts.of(base), Facts.of(other)).reasons


def test_same_draw_that_fits_both_gpus_is_no_matter_of_random_numbers() -> None:
    base = complete_document(machine="h100", **{"random.largest_cuda_draw": 4096})
    other = change(base, **{"accelerators.devices": [h100(sm_count=114)]})
    assert "rng-launch-geometry" not in {reason.rule for reason in judge(Facts.of(base), Facts.of(other)).reasons}


@pytest.mark.parametrize("machine", ["cpu", "h100"])
def test_prologue_twice_is_the_same_stack(machine: str) -> None:
    side = Facts.of(complete_document("prologue", machine=machine))
    verdict = judge(side, side)
    assert verdict.scope is Scope.STACK
    assert verdict.guaranteed is Level.BITWISE
    assert verdict.headline.startswith("Same stack")


def test_torch_that_was_not_imported_does_not_count() -> None:
    base = complete_document(**{"frameworks.torch.imported": False})
    other = change(base, **{"frameworks.torch.version": "1.13.1", "threads.torch_intraop": {"unread": "not-loaded"}})
    verdict = judge(Facts.of(base), Facts.of(other))
    assert not verdict.reasons, [reason.rule for reason in verdict.reasons]


def test_package_that_only_one_side_has_lowers_what_is_guaranteed_alone() -> None:
    base = complete_document()
    more = [*base["stack"]["distributions"]["installed"], distribution("timm", "1.0.9")]
    verdict = judge(Facts.of(base), Facts.of(change(base, **{"distributions.installed": more})))
    assert verdict.expected is Level.BITWISE
    assert verdict.guaranteed is Level.STATISTICAL
