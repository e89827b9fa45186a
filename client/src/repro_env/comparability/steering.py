"""Which rules look at what a variable does: those that read it, and those on the facts that it leads to.

A differing variable is called harmless only where all of them were decided and none found a difference.
"""

from __future__ import annotations

from .rules import amd, apple, collectives, cpu, threads, unseen

_MKL = ("cpu-vector-level", "mkl-branch", "host-branches")
_ONEDNN = ("cpu-products", "host-products", "cpu-vector-level", "onednn-isa", "onednn-half-units", "host-branches")
_FPMATH = ("onednn-fpmath", "host-products")
_HOLES = "known-nondeterministic-kernel"
_POOLS = ("blas-threads", "blas-threads-host")
_WORKSPACE = ("cublas-workspace", "cublas-workspace-setting", "workspace-unset")

#: variable -> rules that read it, beside those of its family.
_READ: dict[str, tuple[str, ...]] = {
    "CAUSAL_CONV1D_DETERMINISTIC": (_HOLES,), "MAMBA_DETERMINISTIC": (_HOLES,), "VLLM_BATCH_INVARIANT": (_HOLES,),
    "FLASH_ATTENTION_DETERMINISTIC": (_HOLES, "attention-backward"),
    "NVTE_ALLOW_NONDETERMINISTIC_ALGO": (_HOLES, "transformer-engine-nondeterministic"),
    "CUDA_FORCE_PTX_JIT": ("driver-compiles",),
    "DNNL_DEFAULT_FPMATH_MODE": _FPMATH, "ONEDNN_DEFAULT_FPMATH_MODE": _FPMATH,
    "DNNL_MAX_CPU_ISA": _ONEDNN, "ONEDNN_MAX_CPU_ISA": _ONEDNN,
    "GLIBC_TUNABLES": ("glibc-caps",), "JAX_PLATFORMS": ("jax-platforms",),
    "HIPBLASLT_ALLOW_TF32": ("rocm-tf32",), "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL": ("rocm-fused-attention",),
    "TORCH_ROCM_FA_PREFER_CK": ("rocm-strict-holes", "rocm-ck-attention"), "MIOPEN_FIND_MODE": ("miopen-search",),
    "HSA_OVERRIDE_GFX_VERSION": ("arch-not-in-build", "cuda-older-than-gpu", "gpu-name-contradiction",
                                 "gpu-older-than-build", "driver-compiles"),
    "LD_PRELOAD": ("preloaded-libraries", "mkl-alignment"),
    "MKL_CBWR": (*_MKL, "mkl-alignment", "cpu-vendor"), "MKL_DEBUG_CPU_TYPE": _MKL, "MKL_ENABLE_INSTRUCTIONS": _MKL,
    "NVIDIA_TF32_OVERRIDE": ("tf32-matmul", "tf32-conv", "tf32-rnn", "tf32-cudnn", "tf32-override",
                             "tf32-override-value", "jax-matmul", "jax-default-precision", "tensorflow-tf32"),
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": ("tf32-override",),
    "OMP_DYNAMIC": ("dynamic-threads",), "PYTORCH_TUNABLEOP_TUNING": ("tunable-op",),
    "TF_NUM_INTRAOP_THREADS": ("tensorflow-threads",), "TF_XLA_FLAGS": ("tensorflow-xla-flags",),
    "TORCHINDUCTOR_MAX_AUTOTUNE": ("inductor-autotune",), "TORCH_CUDNN_SDPA_DEPRIORITIZED": ("cudnn-attention-gate",),
    "XLA_FLAGS": ("xla-flags", "xla-autotune", "driver-compiles"),
    "ATEN_CPU_CAPABILITY": ("kernel-variables",),
    **dict.fromkeys(apple.SWITCHES, ("mps-switches",)),
}

#: variable -> rules on the facts that it leads to.
_LEADS: dict[str, tuple[str, ...]] = {
    "CUBLAS_WORKSPACE_CONFIG": _WORKSPACE, "NCCL_ALGO": ("collective-algorithm", "nvls"),
    "NCCL_PROTO": ("collective-protocol",), "NCCL_NVLS_ENABLE": ("nvls",), "PYTORCH_TUNABLEOP_ENABLED": ("tunable-op",),
    "XLA_FLAGS": ("xla-nondeterministic",), "TF_DETERMINISTIC_OPS": ("tensorflow-nondeterministic",),
    "TF_ENABLE_ONEDNN_OPTS": ("tensorflow-onednn",), "JAX_ENABLE_X64": ("jax-x64",),
    "JAX_DEFAULT_MATMUL_PRECISION": ("jax-matmul", "jax-matmul-host"),
    "OMP_NUM_THREADS": ("torch-threads", "torch-host-threads", "blas-threads", "blas-threads-host", "openmp-threads",
                        "mkl-threads", "scikit-learn-threads"),
    "MKL_NUM_THREADS": ("mkl-threads", "torch-threads"), "OPENBLAS_NUM_THREADS": _POOLS,
    "GOTO_NUM_THREADS": _POOLS, "BLIS_NUM_THREADS": _POOLS,
    "OPENBLAS_CORETYPE": ("blas-kernels", "blas-kernels-host"), "BLIS_ARCH_TYPE": ("blas-kernels", "blas-kernels-host"),
    "NPY_DISABLE_CPU_FEATURES": ("numpy-simd", "numpy-simd-host"),
    "NPY_ENABLE_CPU_FEATURES": ("numpy-simd", "numpy-simd-host"),
    "ATEN_CPU_CAPABILITY": ("torch-capability", "torch-host-capability"),
    **dict.fromkeys(("PYTHONUTF8", "LANG", "LC_ALL", "LC_CTYPE"), ("text-encoding",)),
}


def _families() -> dict[str, tuple[str, ...]]:
    """Return the rule that reads each of several variables of one effect."""
    found: dict[str, tuple[str, ...]] = {name: (family.id,) for family in unseen.FAMILIES for name in family.names}
    for rule, names in (("collective-channels", collectives.CHANNELS), ("thread-variables", threads.ASKED),
                        ("kernel-variables", cpu.ASKED)):
        found.update(dict.fromkeys(names, (rule,)))
    return found


def _joined(*tables: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    names = dict.fromkeys(name for table in tables for name in table)
    return {name: tuple(dict.fromkeys(rule for table in tables for rule in table.get(name, ()))) for name in names}


#: variable -> every rule that looks at what it does.
STEERS: dict[str, tuple[str, ...]] = _joined(_READ, _families(), _LEADS)
#: variables by which people ask for what is read in force where the process was seen.
ASKING = frozenset((*threads.ASKED, *cpu.ASKED, "ATEN_CPU_CAPABILITY"))
#: variables that a rule reads itself, and that ask for nothing which the process tells.
JUDGED_VARIABLES = frozenset((*_READ, *_families(), *amd.VARIABLES)) - ASKING
#: variables that decide what is loaded: from outside nobody sees what that was.
LOADING = frozenset(("LD_LIBRARY_PATH",))
