"""Sections of the stack that a program switches: precision, determinism, threads, collectives, numerics."""

from __future__ import annotations

from dataclasses import dataclass

from .field import Fact, fact

_TORCH = "torch"


@dataclass(frozen=True)
class Precision:
    """Raw switches of both API generations; comparability resolves what acts per operation."""

    allow_tf32_matmul: Fact[bool] = fact("torch.backends.cuda.matmul.allow_tf32", source=_TORCH, example=False)
    allow_tf32_cudnn: Fact[bool] = fact("torch.backends.cudnn.allow_tf32", source=_TORCH, example=True)
    float32_matmul_precision: Fact[str] = fact("torch.get_float32_matmul_precision(): highest, high, medium",
                                               source=_TORCH, example="highest")
    fp32_generic: Fact[str] = fact("torch.backends.fp32_precision", source=_TORCH, example="none")
    fp32_cuda_matmul: Fact[str] = fact("torch.backends.cuda.matmul.fp32_precision", source=_TORCH, example="ieee")
    fp32_cudnn_conv: Fact[str] = fact("torch.backends.cudnn.conv.fp32_precision", source=_TORCH, example="tf32")
    fp32_cudnn_rnn: Fact[str] = fact("torch.backends.cudnn.rnn.fp32_precision", source=_TORCH, example="tf32")
    fp32_mkldnn_matmul: Fact[str] = fact("torch.backends.mkldnn.matmul.fp32_precision", source=_TORCH, example="none")
    fp32_mkldnn_conv: Fact[str] = fact("torch.backends.mkldnn.conv.fp32_precision", source=_TORCH, example="none")
    fp32_mkldnn_rnn: Fact[str] = fact("torch.backends.mkldnn.rnn.fp32_precision", source=_TORCH, example="none")
    fp16_reduced_reduction: Fact[bool] = fact("allow_fp16_reduced_precision_reduction", source=_TORCH, example=True)
    bf16_reduced_reduction: Fact[bool] = fact("allow_bf16_reduced_precision_reduction", source=_TORCH, example=True)
    fp16_accumulation: Fact[bool] = fact("allow_fp16_accumulation", source=_TORCH, example=False)
    autocast: Fact[str] = fact("autocast dtype in force or declared; null when off", source="torch, declared",
                               example="bfloat16")
    default_dtype: Fact[str] = fact("default floating dtype", source=_TORCH, example="float32")
    flush_to_zero: Fact[bool] = fact("denormals flushed on the CPU, measured by arithmetic", source="measured",
                                     example=False)
    flex_attention: Fact[str] = fact("precision of float32 products in FlexAttention: ieee, tf32",
                                     source="torch, declared", example="ieee")
    math_sdp_reduced: Fact[bool] = fact("torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp", source=_TORCH,
                                        example=False)
    jax_x64: Fact[bool] = fact("jax_enable_x64", source="jax", example=False)
    jax_matmul: Fact[str] = fact("jax_default_matmul_precision; null when the platform decides", source="jax",
                                 example="highest")
    tensorflow_tf32: Fact[bool] = fact("tf.config.experimental.tensor_float_32_execution_enabled()",
                                       source="tensorflow", example=True)
    tensorflow_policy: Fact[str] = fact("global Keras dtype policy", source="tensorflow", example="mixed_bfloat16")


@dataclass(frozen=True)
class Determinism:
    """Switches that decide whether a program repeats."""

    deterministic_algorithms: Fact[bool] = fact("torch.are_deterministic_algorithms_enabled()", source=_TORCH,
                                                example=True)
    warn_only: Fact[bool] = fact("deterministic mode only warns", source=_TORCH, example=False)
    fill_uninitialized_memory: Fact[bool] = fact("torch.utils.deterministic.fill_uninitialized_memory",
                                                 source=_TORCH, example=True)
    cudnn_enabled: Fact[bool] = fact("torch.backends.cudnn.enabled", source=_TORCH, example=True)
    cudnn_deterministic: Fact[bool] = fact("torch.backends.cudnn.deterministic", source=_TORCH, example=True)
    cudnn_benchmark: Fact[bool] = fact("torch.backends.cudnn.benchmark", source=_TORCH, example=False)
    cublas_workspace: Fact[str] = fact("CUBLAS_WORKSPACE_CONFIG in force at start; null when unset",
                                       source="variable", example=":4096:8")
    sdp_flash: Fact[bool] = fact("flash attention allowed in SDPA", source=_TORCH, example=True)
    sdp_mem_efficient: Fact[bool] = fact("memory-efficient attention allowed in SDPA", source=_TORCH, example=True)
    sdp_math: Fact[bool] = fact("math attention allowed in SDPA", source=_TORCH, example=True)
    sdp_cudnn: Fact[bool] = fact("cuDNN attention allowed in SDPA", source=_TORCH, example=True)
    mkldnn_enabled: Fact[bool] = fact("torch.backends.mkldnn.enabled", source=_TORCH, example=True)
    mha_fastpath: Fact[bool] = fact("torch.backends.mha fast path of attention layers in inference", source=_TORCH,
                                    example=True)
    mkldnn_deterministic: Fact[bool] = fact("torch.backends.mkldnn.deterministic", source=_TORCH, example=False)
    tunable_op: Fact[bool] = fact("TunableOp enabled", source="torch, variable", example=False)
    tensorflow_op_determinism: Fact[bool] = fact("tf.config op determinism or TF_DETERMINISTIC_OPS",
                                                 source="tensorflow, variable", example=True)
    xla_deterministic: Fact[bool] = fact("XLA deterministic ops flag", source="variable", example=True)
    nondeterministic_kernels: Fact[tuple[str, ...]] = fact(
        "kernels the program is known to call that have no deterministic form", source="trace, declared",
        example=["roi_align_backward"])
    changed: Fact[tuple[str, ...]] = fact(
        "switches and counts that changed after the first step, each with its value at that step", source="torch",
        example=["threads.torch_intraop: 8"])
    cudnn_benchmark_limit: Fact[int] = fact("torch.backends.cudnn.benchmark_limit: algorithms that are timed",
                                            source=_TORCH, example=10)
    sdp_priority: Fact[tuple[str, ...]] = fact(
        "order in which SDPA tries its kernels; flash with its implementation where another than torch's own is active",
        source=_TORCH, example=["cudnn", "flash", "mem_efficient", "math"])
    preferred_blas: Fact[str] = fact("torch.backends.cuda.preferred_blas_library()", source=_TORCH, example="cublaslt")
    preferred_linalg: Fact[str] = fact("torch.backends.cuda.preferred_linalg_library()", source=_TORCH,
                                       example="default")
    inductor: Fact[dict[str, str]] = fact(
        "settings of Inductor and Triton that choose generated kernels; null when Inductor generated nothing",
        source=_TORCH, example={"max_autotune": "false", "fallback_random": "false"})
    compile_cache: Fact[str] = fact(
        "digest of what timing chose for generated kernels and TunableOp's products; null without either",
        source="torch, files", example="sha256:" + "0" * 64)
    jax_prng: Fact[str] = fact("JAX's default generator, and whether its bits do not depend on sharding", source="jax",
                               example="threefry2x32, partitionable")
    tensorflow_onednn: Fact[bool] = fact("whether TensorFlow takes oneDNN's kernels on the CPU", source="tensorflow",
                                         example=True)
    tensorflow_jit: Fact[bool] = fact("whether TensorFlow compiles by XLA on its own: tf.config.optimizer.get_jit()",
                                      source="tensorflow", example=False)


@dataclass(frozen=True)
class BlasPool:
    """One loaded BLAS and its own thread pool."""

    library: str = fact("openblas, mkl, blis, accelerate", source="loaded-library", example="openblas")
    version: Fact[str] = fact("version the library reports", source="loaded-library", example="0.3.27")
    architecture: Fact[str] = fact("kernel set it chose", source="loaded-library", example="SkylakeX")
    threads: Fact[int] = fact("effective threads", source="loaded-library", example=8)


@dataclass(frozen=True)
class Threads:
    """Effective counts; only valid at or after the first step, earlier they are unread ``too-early``."""

    torch_intraop: Fact[int] = fact("torch.get_num_threads()", source=_TORCH, example=8)
    torch_interop: Fact[int] = fact("torch.get_num_interop_threads()", source=_TORCH, example=8)
    openmp: Fact[int] = fact("omp_get_max_threads() of the loaded runtime", source="loaded-library", example=8)
    mkl: Fact[int] = fact("mkl_get_max_threads() of the loaded MKL", source="loaded-library", example=8)
    blas_pools: Fact[tuple[BlasPool, ...]] = fact("every loaded BLAS pool, sorted", source="loaded-library",
                                                  example=[])
    affinity_count: Fact[int] = fact("processors the process may run on", source="sched_getaffinity", example=8)
    cgroup_limit_millicpu: Fact[int] = fact("CPU quota in thousandths of a processor; null when unlimited",
                                            source="cgroup", example=4000)
    openmp_pools: Fact[dict[str, int]] = fact("threads of each loaded OpenMP runtime by its kind",
                                              source="loaded-library", example={"libgomp": 8, "libiomp5": 8})
    tensorflow_intraop: Fact[int] = fact("intra-op threads TensorFlow was told to use; 0: it decides",
                                         source="tensorflow", example=8)
    tensorflow_interop: Fact[int] = fact("inter-op threads TensorFlow was told to use; 0: it decides",
                                         source="tensorflow", example=2)
    scikit_learn: Fact[int] = fact("threads of scikit-learn's own loops; null where none of them has run",
                                   source="scikit_learn", example=8)


@dataclass(frozen=True)
class Collectives:
    """How ranks exchange numbers."""

    backend: Fact[str] = fact("nccl, gloo, mpi, rccl; null when not distributed", source=_TORCH, example="nccl")
    algorithm: Fact[str] = fact("NCCL_ALGO in force", source="variable", example="Ring")
    protocol: Fact[str] = fact("NCCL_PROTO in force", source="variable", example="Simple")
    nvls: Fact[bool] = fact("in-switch reduction may be used", source="variable, declared", example=False)
    topology: Fact[str] = fact("placement of ranks: digest of the graph, or words", source="NCCL dump, declared",
                               example="8 GPUs in one NVLink domain")


@dataclass(frozen=True)
class Probe:
    """Result of one small kernel run on the actual device."""

    digest: str = fact("digest of the kernel's output", source="numerics", example="sha256:" + "0" * 64)
    repeatable: Fact[bool] = fact("whether repeated launches gave equal bits", source="numerics", example=True)


@dataclass(frozen=True)
class Numerics:
    """Behaviour measured instead of believed."""

    probes: Fact[dict[str, Probe]] = fact("probe results by name", source="numerics", example={})
