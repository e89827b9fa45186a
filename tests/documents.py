"""Complete, valid documents for tests: every fact captured or surely absent, so that nothing is left to assume.

``complete_document("process", machine="cpu")`` is a torch program on a CPU machine, ``machine="h100"`` one on eight
H100. Overrides name facts by dotted path with the part in front left out, as rules read them
(``complete_document(**{"threads.torch_intraop": 4})``); ``capture.…`` reaches the capture part, and an item of a list
is reached by its index (``accelerators.devices.0.sm_count``).
"""

from __future__ import annotations

import copy
from typing import Any

from repro_env import variables
from repro_env.comparability.reading import PROGRAM_SECTIONS
from repro_env.fingerprint.facts import SCHEMA_VERSION
from repro_env.jobs import JOB

Document = dict[str, Any]

LIBRARIES = ("cuda_runtime", "cublas", "cudnn", "cufft", "cusolver", "cusparse", "nccl", "nvjitlink", "nvrtc", "triton",
             "hip_runtime", "rocblas", "hipblaslt", "miopen", "rccl", "mkl", "onednn", "openblas", "openmp")
FRAMEWORKS = ("torch", "jax", "tensorflow", "numpy", "scipy", "scikit_learn")
#: every variable a rule may look at, unset.
VARIABLES = (*variables.ALLOWED, "GOMP_SPINCOUNT", "PYTHONMALLOC")


def library(version: str, found: str = "wheel") -> Document:
    """A library that is installed, loaded and compiled against in one version."""
    return {"installed": version, "loaded": version, "compiled_against": version, "found": found,
            "build_id": "b" + version.replace(".", ""), "conflicts": [], "candidates": [f"{found} {version}"]}


def framework(version: str, **facts: Any) -> Document:
    """A framework that the process imported."""
    return {"version": version, "imported": True, "revision": "r" + version.replace("+", ""), "cuda_build": None,
            "rocm_build": None, "arch_list": [], "build": "wheel", "debug": False, "abi": "cxx11", "build_flags": {},
            **facts}


def distribution(name: str, version: str, **facts: Any) -> Document:
    """One installed distribution from an index."""
    return {"name": name, "version": version, "origin": None, "revision": None, "editable": False, "shadowed": False,
            "record_digest": None, **facts}


def h100(**facts: Any) -> Document:
    """An H100 SXM."""
    return {"vendor": "nvidia", "name": "NVIDIA H100 80GB HBM3", "compute_capability": "9.0", "gfx_target": None,
            "sm_count": 132, "threads_per_sm": 2048, "memory_bytes": 85520809984, "mig_profile": None, "ecc": True,
            "form_factor": "SXM", **facts}


def complete_document(vantage: str = "process", /, machine: str = "cpu", **overrides: Any) -> Document:
    """Return a document with every fact read; ``overrides`` replace facts by dotted path."""
    document = copy.deepcopy({"cpu": _cpu, "h100": _h100}[machine]())
    document["capture"]["vantage"] = vantage
    document["capture"]["subject"] = {"image": "environment", "prologue": "environment", "import": "document"}.get(
        vantage, "process")
    return change(document, **overrides)


def change(document: Document, **overrides: Any) -> Document:
    """Return a copy of ``document`` with the facts at the dotted paths replaced (``KeyError`` for an unknown path)."""
    changed = copy.deepcopy(document)
    for path, value in overrides.items():
        section, *steps = path.split(".")
        part = section if section == "capture" else "program" if section in PROGRAM_SECTIONS else "stack"
        holder: Any = changed[part] if section == "capture" else changed[part][section]
        for step in steps[:-1]:
            holder = holder[_key(holder, step)]
        free = path.rpartition(".")[0] in ("variables.values", "declared.values", "random.seeds")
        if not free and isinstance(holder, dict) and steps[-1] not in holder:
            raise KeyError(path)
        holder[_key(holder, steps[-1])] = value
    return changed


def _key(holder: Any, step: str) -> Any:
    return int(step) if isinstance(holder, list) else step


def _cpu() -> Document:
    return {"schema": SCHEMA_VERSION, "stack": _cpu_stack(), "program": _program(), "capture": _capture(),
            "digests": {"stack": {"unread": "not-recorded"}, "program": {"unread": "not-recorded"}}}


def _cpu_stack() -> Document:
    return {
        "accelerators": {"devices": None, "interconnect": None, "links": None},
        "driver": dict.fromkeys(("kernel_module", "user_libcuda", "compat", "cuda_level", "kernel_flavour")),
        "libraries": {**dict.fromkeys(LIBRARIES), "mkl": library("2025.0"), "onednn": library("3.12.0"),
                      "openblas": library("0.3.30"), "openmp": library("libgomp 4.5"), "system_cudnn": None,
                      "cuda_toolkit": None, "unvetted_kernels": []},
        "frameworks": {**dict.fromkeys(FRAMEWORKS), "backend": "cpu", "torch": framework("2.13.0+cpu"),
                       "numpy": framework("2.3.5"), "scipy": framework("1.17.1"),
                       "scikit_learn": framework("1.9.1")},
        "precision": _precision(), "determinism": _determinism(), "threads": _threads(), "cpu": _processor(),
        "variables": {"values": {**dict.fromkeys(VARIABLES), "PYTHONHASHSEED": "0"}},
        "python": {"version": "3.11.7", "implementation": "cpython", "compiler": "GCC 12.2.0", "free_threaded": False,
                   "environment": "venv"},
        "distributions": {"installed": [distribution("numpy", "2.3.5"), distribution("rich", "13.9.4"),
                                        distribution("torch", "2.13.0+cpu"), distribution("transformers", "5.0.0")],
                          "complete": True},
        "system": {"os_family": "linux", "os_name": "Debian GNU/Linux 12", "kernel": "6.1.0-18-amd64",
                   "libc": "glibc 2.36", "virtualisation": "kvm", "encoding": "UTF-8", "utc_offset": "+00:00"},
        "container": dict.fromkeys(("engine", "image_reference", "image_digest", "image_key", "learned")),
        "collectives": dict.fromkeys(("backend", "algorithm", "protocol", "nvls", "topology")),
        "numerics": {"probes": None}}


def _precision() -> Document:
    return {"allow_tf32_matmul": False, "allow_tf32_cudnn": True, "float32_matmul_precision": "highest",
            "fp32_generic": "none", "fp32_cuda_matmul": "none", "fp32_cudnn_conv": "tf32", "fp32_cudnn_rnn": "tf32",
            "fp32_mkldnn_matmul": "none", "fp32_mkldnn_conv": "none", "fp32_mkldnn_rnn": "none",
            "fp16_reduced_reduction": True, "bf16_reduced_reduction": True, "fp16_accumulation": False,
            "autocast": None, "default_dtype": "float32", "flush_to_zero": False, "flex_attention": None,
            "math_sdp_reduced": False, "jax_x64": None, "jax_matmul": None, "tensorflow_tf32": None,
            "tensorflow_policy": None}


def _determinism() -> Document:
    return {"deterministic_algorithms": True, "warn_only": False, "fill_uninitialized_memory": True,
            "cudnn_enabled": True, "cudnn_deterministic": True, "cudnn_benchmark": False, "cublas_workspace": None,
            "sdp_flash": True, "sdp_mem_efficient": True, "sdp_math": True, "sdp_cudnn": True, "mkldnn_enabled": True,
            "mha_fastpath": True, "changed": [],
            "mkldnn_deterministic": False, "tunable_op": False, "tensorflow_op_determinism": None,
            "xla_deterministic": None, "nondeterministic_kernels": [], "cudnn_benchmark_limit": 10,
            "sdp_priority": ["flash", "mem_efficient", "math", "cudnn"], "preferred_blas": "default",
            "preferred_linalg": "default", "inductor": None, "compile_cache": None, "jax_prng": None,
            "tensorflow_onednn": None, "tensorflow_jit": None}


def _threads() -> Document:
    return {"torch_intraop": 8, "torch_interop": 4, "openmp": 8, "mkl": 8,
            "blas_pools": [{"library": "openblas", "version": "0.3.30", "architecture": "SkylakeX", "threads": 8}],
            "affinity_count": 8, "cgroup_limit_millicpu": None, "openmp_pools": {"libgomp": 8},
            "tensorflow_intraop": None, "tensorflow_interop": None, "scikit_learn": None}


def _processor() -> Document:
    return {"architecture": "x86_64", "vendor": "GenuineIntel", "model": "Intel(R) Xeon(R) Platinum 8481C",
            "microarchitecture": "6-143", "cores": 16, "torch_capability": "AVX512",
            "instruction_sets": ["amx_bf16", "amx_tile", "avx", "avx2", "avx512_bf16", "avx512bw", "avx512f",
                                 "avx512vl", "fma"],
            "numpy_simd": ["AVX2", "AVX512F", "AVX512_SKX", "FMA3"]}


def _program() -> Document:
    return {
        "source": {"commit": "9f1c2d3e4f5a6b7c8d9e0f1a2b3c4d5e6f7a8b9c", "dirty": False, "diff_digest": None,
                   "remote": None, "entry_point": "train.py", "arguments_digest": "sha256:" + "1" * 64,
                   "submodules": None},
        "random": {"seeds": {"python": 42, "numpy": 42, "torch": 42}, "seeded_before_use": True, "hash_seed": "0",
                   "generators": ["numpy-legacy", "torch-philox"], "largest_cuda_draw": None, "resume_state": None},
        "data": {"dataset_digest": "sha256:" + "2" * 64, "file_order_digest": "sha256:" + "3" * 64,
                 "loader_workers": 4, "worker_seeding": "default", "persistent_workers": False,
                 "sampler": "RandomSampler", "drop_last": True, "preprocessing": None, "loader_generator": "default"},
        "layout": {"world_size": 1, "data_parallel": 1, "tensor_parallel": 1, "pipeline_parallel": 1,
                   "micro_batch": 16, "accumulation": 1, "dynamic_batching": False, "ddp_bucket_mb": None,
                   "static_graph": None, "context_parallel": 1, "expert_parallel": 1, "sharding": "none",
                   "ddp_buckets": None, "jax_devices": None},
        "model": {"training": True, "batch_norm": "train", "attention": "sdpa", "compile": False},
        "declared": {"values": None}}


def _capture() -> Document:
    return {
        "observation_id": "0b0f3c1e-6c1a-5d7e-9f5a-3c1d2e4f5a6b", "run_id": "0192f3c1-6c1a-7d7e-9f5a-3c1d2e4f5a6b",
        "run_id_source": "made", "sequence": 0, "vantage": "process", "moment": "first-step", "subject": "process",
        "project": "vision", "group": None, "labels": {}, "captured_at": "2026-01-31T12:00:00Z",
        "client_version": "0.1.0",
        "job": dict.fromkeys(JOB),
        "process": {"node": "node-17", "rank": None, "local_rank": None, "world_size": None, "pid": 4711,
                    "user": "researcher", "device_masks": {}, "device_ids": []},
        "sources": {}, "errors": [], "durations_us": {}, "drift": [], "results": {}, "imported": None,
        "segment": None, "random_states": None, "container_id": None, "image_evidence": [], "device_states": [],
        "device_links": []}


def _h100() -> Document:
    document = _cpu()
    stack = document["stack"]
    cuda = {"cuda_runtime": library("12.4.127"), "cublas": library("12.4.5"), "cudnn": library("9.1.0"),
            "cufft": library("11.2.1"), "cusolver": library("11.6.1"), "cusparse": library("12.3.1"),
            "nccl": library("2.21.5"), "nvjitlink": library("12.4.127"), "nvrtc": library("12.4.127"),
            "triton": library("3.1.0")}
    stack["accelerators"] = {"devices": [h100() for _ in range(8)], "interconnect": "nvlink",
                             "links": ["nvlink-18 x 28"]}
    stack["driver"] = {"kernel_module": "550.54.15", "user_libcuda": "550.54.15", "compat": False,
                       "cuda_level": "12.4", "kernel_flavour": "open"}
    stack["libraries"].update(cuda)
    stack["frameworks"]["backend"] = "cuda"
    stack["frameworks"]["torch"] = framework(
        "2.5.1+cu124", cuda_build="12.4", arch_list=["sm_50", "sm_60", "sm_70", "sm_75", "sm_80", "sm_86", "sm_90"])
    stack["distributions"]["installed"][2] = distribution("torch", "2.5.1+cu124")
    stack["determinism"]["cublas_workspace"] = ":4096:8"
    stack["variables"]["values"]["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
    document["program"]["random"]["largest_cuda_draw"] = 1048576
    return document
