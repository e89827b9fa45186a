"""Variables that no switch shows."""

from __future__ import annotations

from documents import framework

from tests.client.comparability.planted.planting import ROCM, Planted, cpu, gpu

PLANTED: dict[str, Planted] = {
    "emulated-precision": gpu("variables.values.CUBLAS_EMULATE_SINGLE_PRECISION", None, "1"),
    "rocm-precision": gpu("variables.values.ROCBLAS_INTERNAL_FP16_ALT_IMPL", None, "1", **ROCM),
    "jax-precision": cpu("variables.values.JAX_ENABLE_X64", None, "1", **{"frameworks.jax": framework("0.5.3")}),
    "gpu-kernel-choice": gpu("variables.values.TORCH_BLAS_PREFER_CUBLASLT", None, "1"),
    "rocm-kernel-choice": gpu("variables.values.MIOPEN_FIND_MODE", None, "2", **ROCM),
    "gpu-code-generation": gpu("variables.values.PTXAS_OPTIONS", None, "-O1"),
    "compilation-switches": cpu("variables.values.TORCH_COMPILE_DISABLE", None, "1"),
    "xla-flags": cpu("variables.values.XLA_FLAGS", None, "--xla_cpu_enable_fast_math=true",
                     **{"frameworks.jax": framework("0.5.3")}),
    "tensorflow-switches": cpu("variables.values.TF_CUDNN_DETERMINISTIC", None, "1",
                               **{"frameworks.tensorflow": framework("2.10.0")}),
    "tensorflow-variables": cpu("variables.values.TF_ENABLE_ONEDNN_OPTS", None, "0",
                                **{"frameworks.tensorflow": framework("2.10.0")}),
    "mkl-threading": cpu("variables.values.MKL_DYNAMIC", None, "FALSE"),
    "numpy-promotion": cpu("variables.values.NPY_PROMOTION_STATE", None, "weak"),
    "compiled-loops": cpu("variables.values.NUMBA_DISABLE_JIT", None, "1"),
    "openmp-limits": cpu("variables.values.OMP_THREAD_LIMIT", None, "1"),
}
