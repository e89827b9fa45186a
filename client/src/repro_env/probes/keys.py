"""The keys of every section, in plain tuples, so that a capture need not create the dataclasses.

``tests/client/probes/test_keys.py`` holds them against the definition in ``fingerprint``.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ACCELERATOR = ("vendor", "name", "compute_capability", "gfx_target", "sm_count", "threads_per_sm", "memory_bytes",
               "mig_profile", "ecc", "form_factor")
LIBRARY = ("installed", "loaded", "compiled_against", "found", "build_id", "conflicts",
           "candidates")
FRAMEWORK = ("version", "imported", "revision", "cuda_build", "rocm_build", "arch_list", "build", "debug",
             "abi", "build_flags")
LIBRARIES = ("cuda_runtime", "cublas", "cudnn", "cufft", "cusolver", "cusparse", "nccl", "nvjitlink", "nvrtc", "triton",
             "hip_runtime", "rocblas", "hipblaslt", "miopen", "rccl", "mkl", "onednn", "openblas", "openmp")
FRAMEWORKS = ("torch", "jax", "tensorflow", "numpy", "scipy", "scikit_learn")
STATE = ("device_id", "power_limit_mw", "sm_clock_limit_mhz", "memory_clock_limit_mhz")

#: section path -> keys; sections of the program part carry the prefix ``program.``.
SECTIONS: dict[str, tuple[str, ...]] = {
    "accelerators": ("devices", "interconnect", "links"),
    "driver": ("kernel_module", "user_libcuda", "compat", "cuda_level", "kernel_flavour"),
    "libraries": (*LIBRARIES, "system_cudnn", "cuda_toolkit", "unvetted_kernels"),
    "frameworks": ("backend", *FRAMEWORKS),
    "precision": (
        "allow_tf32_matmul", "allow_tf32_cudnn", "float32_matmul_precision", "fp32_generic", "fp32_cuda_matmul",
        "fp32_cudnn_conv", "fp32_cudnn_rnn", "fp32_mkldnn_matmul", "fp32_mkldnn_conv", "fp32_mkldnn_rnn",
        "fp16_reduced_reduction", "bf16_reduced_reduction", "fp16_accumulation", "autocast", "default_dtype",
        "flush_to_zero", "flex_attention", "math_sdp_reduced", "jax_x64", "jax_matmul", "tensorflow_tf32",
        "tensorflow_policy"),
    "determinism": (
        "deterministic_algorithms", "warn_only", "fill_uninitialized_memory", "cudnn_enabled", "cudnn_deterministic",
        "cudnn_benchmark", "cublas_workspace", "sdp_flash", "sdp_mem_efficient", "sdp_math", "sdp_cudnn",
        "mkldnn_enabled", "mha_fastpath", "mkldnn_deterministic", "tunable_op", "tensorflow_op_determinism",
        "xla_deterministic", "nondeterministic_kernels", "changed", "cudnn_benchmark_limit", "sdp_priority",
        "preferred_blas", "preferred_linalg", "inductor", "compile_cache", "jax_prng", "tensorflow_onednn",
        "tensorflow_jit"),
    "threads": ("torch_intraop", "torch_interop", "openmp", "mkl", "blas_pools", "affinity_count",
                "cgroup_limit_millicpu", "openmp_pools", "tensorflow_intraop", "tensorflow_interop",
                "scikit_learn"),
    "cpu": ("architecture", "vendor", "model", "microarchitecture", "instruction_sets", "cores", "torch_capability",
            "numpy_simd"),
    "variables": ("values",),
    "python": ("version", "implementation", "compiler", "free_threaded", "environment"),
    "distributions": ("installed", "complete"),
    "system": ("os_family", "os_name", "kernel", "libc", "virtualisation", "encoding", "utc_offset"),
    "container": ("engine", "image_reference", "image_digest", "image_key", "learned"),
    "collectives": ("backend", "algorithm", "protocol", "nvls", "topology"),
    "numerics": ("probes",),
    "program.source": ("commit", "dirty", "diff_digest", "remote", "entry_point", "arguments_digest", "submodules"),
    "program.random": ("seeds", "seeded_before_use", "hash_seed", "generators", "largest_cuda_draw", "resume_state"),
    "program.data": ("dataset_digest", "file_order_digest", "loader_workers", "worker_seeding", "persistent_workers",
                     "sampler", "drop_last", "preprocessing", "loader_generator"),
    "program.layout": ("world_size", "data_parallel", "tensor_parallel", "pipeline_parallel", "micro_batch",
                       "accumulation", "dynamic_batching", "ddp_bucket_mb", "static_graph", "context_parallel",
                       "expert_parallel", "sharding", "ddp_buckets", "jax_devices"),
    "program.model": ("training", "batch_norm", "attention", "compile"),
    "program.declared": ("values",),
}


def blank(path: str, code: str) -> dict[str, Any]:
    """Return the section at ``path`` with every fact unread for ``code``."""
    return {key: {"unread": code} for key in SECTIONS[path]}


def blank_of(keys: tuple[str, ...], code: str) -> dict[str, Any]:
    """Return a library, framework or device with every fact unread for ``code``."""
    return {key: {"unread": code} for key in keys}
