"""Variables that steer kernels and that no API shows: what acts is the variable itself.

One rule a family, so that a difference is said once. A variable whose effect can be read (thread counts, kernel
levels, TF32 switches) has no place here: it is judged by the value that it leads to.
"""

from __future__ import annotations

from typing import Any, Callable, NamedTuple

from ..acting import UNUSED, in_process, on_gpu, using, using_any
from ..acting import settings as set_to
from ..levels import Level, SetBy
from ..reading import Facts
from ..rule import AnyRule, Distinction, Projection, show_parts


def on_rocm(project: Projection) -> Projection:
    """Limit a projection to programs that computed on AMD devices, or that were seen from outside."""
    def limited(facts: Facts) -> Any:
        if in_process(facts) and facts.read("frameworks.backend") != "rocm":
            return UNUSED
        return project(facts)
    return limited


def threaded(project: Projection) -> Projection:
    """Limit a projection to programs with loops that OpenMP splits."""
    return using_any("torch", "scikit_learn", "tensorflow")(project)


def from_outside(limit: Callable[[Projection], Projection]) -> Callable[[Projection], Projection]:
    """Limit a projection further to sides seen from outside: a process tells itself what such variables led to."""
    def decorate(project: Projection) -> Projection:
        limited = limit(project)
        return lambda facts: UNUSED if in_process(facts) else limited(facts)
    return decorate


class Family(NamedTuple):
    """Variables of one effect. ``off`` are values that say what an unset variable says."""

    id: str
    layer: str
    cause: str
    title: str
    names: tuple[str, ...]
    limit: Callable[[Projection], Projection]
    guaranteed: Level
    expected: Level
    effect: str
    source: str
    off: tuple[str, ...] = ()


_ROUNDING = "other kernels, so other rounding"
_OFF = ("0", "false", "off", "no")
FAMILIES = (
    Family("emulated-precision", "precision", "precision_mode", "float32 products",
           ("CUBLAS_EMULATE_SINGLE_PRECISION", "TRITON_F32_DEFAULT"), on_gpu, Level.STATISTICAL, Level.STATISTICAL,
           "products are put together from narrower numbers", "NVIDIA cuBLAS documentation, floating point emulation",
           _OFF),
    Family("rocm-precision", "precision", "precision_mode", "ROCm precision",
           ("ROCBLAS_INTERNAL_FP16_ALT_IMPL", "MIOPEN_DEBUG_CONVOLUTION_ATTRIB_FP16_ALT_IMPL"),
           on_rocm, Level.STATISTICAL, Level.STATISTICAL, "products in other arithmetic",
           "PyTorch documentation, Numerical accuracy: AMD Instinct MI200", _OFF),
    Family("jax-precision", "precision", "precision_mode", "JAX precision",
           ("JAX_DEFAULT_MATMUL_PRECISION", "JAX_ENABLE_X64"), from_outside(using("jax")), Level.STATISTICAL,
           Level.STATISTICAL, "every product or every constant has another width",
           "JAX documentation, configuration options", _OFF),
    Family("gpu-kernel-choice", "determinism", "determinism_flags", "choice of kernels",
           ("CUBLASLT_WORKSPACE_SIZE", "TORCH_CUBLASLT_UNIFIED_WORKSPACE", "TORCH_BLAS_PREFER_CUBLASLT",
            "DISABLE_ADDMM_CUDA_LT", "TORCH_LINALG_PREFER_CUSOLVER", "TORCH_CUDNN_USE_HEURISTIC_MODE_B",
            "TORCH_CUDNN_V8_API_DISABLED", "TORCH_CUDNN_SDPA_DEPRIORITIZED", "CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION",
            "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "MAMBA_DETERMINISTIC", "CAUSAL_CONV1D_DETERMINISTIC",
            "FLASH_ATTENTION_DETERMINISTIC", "VLLM_BATCH_INVARIANT"), on_gpu, Level.CURVE, Level.BITWISE, _ROUNDING,
           "PyTorch documentation, CUDA environment variables"),
    Family("rocm-kernel-choice", "determinism", "determinism_flags", "choice of kernels of ROCm",
           ("HSA_OVERRIDE_GFX_VERSION", "TORCH_BLAS_PREFER_HIPBLASLT", "TORCH_ROCM_FA_PREFER_CK",
            "HIPBLASLT_DETERMINISTIC", "HIPBLASLT_TENSILE_LIBPATH", "ROCBLAS_DEFAULT_ATOMICS_MODE", "MIOPEN_FIND_MODE",
            "MIOPEN_FIND_ENFORCE", "MIOPEN_DEBUG_CONVOLUTION_DETERMINISTIC"), on_rocm, Level.CURVE, Level.BITWISE,
           _ROUNDING, "ROCm MIOpen and rocBLAS documentation, environment variables"),
    Family("gpu-code-generation", "driver", "compile_mode", "making of kernels",
           ("TRITON_PTXAS_PATH", "TRITON_DEFAULT_FP_FUSION", "PTXAS_OPTIONS", "DISABLE_PTXAS_OPT"), on_gpu,
           Level.CURVE, Level.BITWISE, "another compiler contracts and orders operations otherwise",
           "Triton documentation, environment variables"),
    Family("compilation-switches", "determinism", "compile_mode", "compilation",
           ("TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE", "PYTORCH_JIT", "TORCH_DISABLE_NATIVE_JIT",
            "TORCHINDUCTOR_DETERMINISTIC", "PYTORCH_SUM_INNER_TREE"), using("torch"), Level.CURVE, Level.BITWISE,
           "seen only in programs that compile: fused kernels round otherwise",
           "measured: eager and compiled differ by 3e-7 in float32"),
    Family("tensorflow-switches", "determinism", "determinism_flags", "TensorFlow",
           ("TF_CUDNN_DETERMINISTIC", "TF_CUDNN_USE_AUTOTUNE"), using("tensorflow"), Level.CURVE, Level.CURVE,
           _ROUNDING, "TensorFlow documentation, op determinism"),
    Family("tensorflow-variables", "determinism", "determinism_flags", "TensorFlow",
           ("TF_ENABLE_ONEDNN_OPTS", "TF_DETERMINISTIC_OPS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"),
           from_outside(using("tensorflow")), Level.CURVE, Level.CURVE,
           _ROUNDING, "TensorFlow documentation, oneDNN and op determinism"),
    Family("mkl-threading", "threads", "thread_count", "threads of MKL",
           ("MKL_DYNAMIC", "MKL_DOMAIN_NUM_THREADS", "MKL_THREADING_LAYER", "MKL_INTERFACE_LAYER"), using("torch"),
           Level.CURVE, Level.BITWISE, "a product may be split among another number of threads",
           "measured: MKL_DYNAMIC=FALSE with four threads on two cores gives other sums"),
    Family("openmp-limits", "threads", "thread_count", "OpenMP",
           ("OMP_THREAD_LIMIT", "OMP_MAX_ACTIVE_LEVELS", "KMP_DETERMINISTIC_REDUCTION"), threaded, Level.CURVE,
           Level.BITWISE, "loops run with fewer threads than the runtime tells, or add in another order",
           "OpenMP specification, environment variables"),
    Family("numpy-promotion", "precision", "precision_mode", "promotion of types in NumPy", ("NPY_PROMOTION_STATE",),
           using("numpy"), Level.STATISTICAL, Level.CURVE, "scalars make float32 results float64 or keep them",
           "NEP 50: promotion of Python scalars"),
    Family("compiled-loops", "cpu", "compile_mode", "loops outside NumPy",
           ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_DISABLE_JIT", "OPENCV_CPU_DISABLE", "POLARS_MAX_THREADS"),
           using("numpy"), Level.CURVE, Level.BITWISE, "seen only where Numba, OpenCV or Polars computes",
           "Numba documentation, environment variables"),
)


def settings(family: Family) -> Projection:
    """Project a family to its variables that are set to something that acts."""
    @family.limit
    def project(facts: Facts) -> Any:
        return set_to(facts, family.names, family.off)
    return project


RULES: tuple[AnyRule, ...] = tuple(
    Distinction(
        id=family.id, layer=family.layer, cause=family.cause, set_by=SetBy.PROGRAM, guaranteed=family.guaranteed,
        expected=family.expected, possible=Level.BITWISE, why=f"{family.title}: {{expected}} against {{observed}}",
        effect=family.effect, remedy=f"set {' and '.join(family.names[:2])} the same on both sides"
        if len(family.names) <= 2 else f"set the same variables on both sides: {', '.join(family.names)}",
        confidence="documented", source=(family.source,), project=settings(family),
        show=show_parts("the default"))
    for family in FAMILIES)
#: every variable that acts through a rule here.
JUDGED = frozenset((*(name for family in FAMILIES for name in family.names), "XLA_FLAGS"))
