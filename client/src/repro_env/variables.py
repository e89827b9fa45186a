"""The allow-list of environment variables, and the screen that keeps secrets in.

Only these names leave the machine. Ruled out on purpose: whatever differs between ranks of one job (device masks,
per-rank folders), and variables that no rule and no measured case has use for.
"""

from __future__ import annotations

from .fingerprint.facts import unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

#: what they steer -> names.
GROUPS: dict[str, tuple[str, ...]] = {
    "threads": (
        "OMP_NUM_THREADS", "OMP_THREAD_LIMIT", "OMP_DYNAMIC", "OMP_SCHEDULE", "OMP_PROC_BIND", "OMP_PLACES",
        "OMP_WAIT_POLICY", "OMP_MAX_ACTIVE_LEVELS", "KMP_AFFINITY", "KMP_BLOCKTIME", "KMP_DETERMINISTIC_REDUCTION",
        "MKL_NUM_THREADS", "MKL_DOMAIN_NUM_THREADS", "MKL_DYNAMIC", "MKL_THREADING_LAYER", "MKL_INTERFACE_LAYER",
        "OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "BLIS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
        "NUMEXPR_NUM_THREADS", "NUMEXPR_MAX_THREADS", "NUMBA_NUM_THREADS", "POLARS_MAX_THREADS", "TBB_NUM_THREADS",
        "LOKY_MAX_CPU_COUNT",
        "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS",
    ),
    "instruction sets": (
        "ATEN_CPU_CAPABILITY", "MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS", "MKL_DEBUG_CPU_TYPE", "ONEDNN_MAX_CPU_ISA",
        "DNNL_MAX_CPU_ISA", "ONEDNN_CPU_ISA_HINTS", "OPENBLAS_CORETYPE", "BLIS_ARCH_TYPE",
        "NPY_DISABLE_CPU_FEATURES", "NPY_ENABLE_CPU_FEATURES", "GLIBC_TUNABLES", "KMP_DUPLICATE_LIB_OK",
        "NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "OPENCV_CPU_DISABLE",
    ),
    "precision": (
        "NVIDIA_TF32_OVERRIDE", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "ONEDNN_DEFAULT_FPMATH_MODE",
        "DNNL_DEFAULT_FPMATH_MODE", "HIPBLASLT_ALLOW_TF32", "ROCBLAS_INTERNAL_FP16_ALT_IMPL",
        "MIOPEN_DEBUG_CONVOLUTION_ATTRIB_FP16_ALT_IMPL", "JAX_DEFAULT_MATMUL_PRECISION", "JAX_ENABLE_X64",
        "TRITON_F32_DEFAULT", "TRITON_DEFAULT_FP_FUSION", "CUBLAS_EMULATE_SINGLE_PRECISION", "TF_ENABLE_ONEDNN_OPTS",
        "PYTORCH_SUM_INNER_TREE", "XLA_FLAGS", "NPY_PROMOTION_STATE", "TF_XLA_FLAGS", "JAX_PLATFORMS",
        "PYTORCH_MPS_FAST_MATH",
    ),
    "determinism": (
        "CUBLAS_WORKSPACE_CONFIG", "CUBLASLT_WORKSPACE_SIZE", "TORCH_CUBLASLT_UNIFIED_WORKSPACE",
        "TF_DETERMINISTIC_OPS", "TF_CUDNN_DETERMINISTIC", "TF_CUDNN_USE_AUTOTUNE", "ROCBLAS_DEFAULT_ATOMICS_MODE",
        "HIPBLASLT_DETERMINISTIC", "MIOPEN_DEBUG_CONVOLUTION_DETERMINISTIC", "MIOPEN_FIND_MODE",
        "FLASH_ATTENTION_DETERMINISTIC", "NVTE_ALLOW_NONDETERMINISTIC_ALGO", "VLLM_BATCH_INVARIANT",
        "MAMBA_DETERMINISTIC", "CAUSAL_CONV1D_DETERMINISTIC", "HCCL_DETERMINISTIC", "LCCL_DETERMINISTIC",
        "TORCHINDUCTOR_DETERMINISTIC", "CUDA_DEVICE_MAX_CONNECTIONS",
    ),
    "kernel choice": (
        "CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION", "TORCH_CUDNN_USE_HEURISTIC_MODE_B", "TORCH_CUDNN_SDPA_DEPRIORITIZED",
        "TORCH_CUDNN_V8_API_DISABLED", "TORCH_CUDNN_V8_API_LRU_CACHE_LIMIT", "TORCH_BLAS_PREFER_CUBLASLT",
        "TORCH_BLAS_PREFER_HIPBLASLT", "TORCH_LINALG_PREFER_CUSOLVER", "TORCH_ROCM_FA_PREFER_CK",
        "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL", "PYTORCH_MPS_PREFER_METAL", "PYTORCH_ENABLE_MPS_FALLBACK",
        "HIPBLASLT_TENSILE_LIBPATH", "MIOPEN_FIND_ENFORCE",
        "DISABLE_ADDMM_CUDA_LT", "PYTORCH_TUNABLEOP_ENABLED", "PYTORCH_TUNABLEOP_TUNING",
        "TRITON_CACHE_AUTOTUNING", "TORCHINDUCTOR_MAX_AUTOTUNE", "TORCHINDUCTOR_FX_GRAPH_CACHE",
        "TORCHINDUCTOR_AUTOTUNE_REMOTE_CACHE", "TORCH_COMPILE_DISABLE", "TORCHDYNAMO_DISABLE",
        "TORCH_DISABLE_NATIVE_JIT", "PYTORCH_JIT", "NUMBA_DISABLE_JIT", "PYTORCH_NO_CUDA_MEMORY_CACHING",
    ),
    "code generation": (
        "CUDA_FORCE_PTX_JIT", "CUDA_DISABLE_PTX_JIT", "CUDA_CACHE_DISABLE", "CUDA_MODULE_LOADING",
        "TRITON_PTXAS_PATH", "PTXAS_OPTIONS", "DISABLE_PTXAS_OPT", "HSA_OVERRIDE_GFX_VERSION", "CUDA_LAUNCH_BLOCKING",
        "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
    ),
    "collectives": (
        "NCCL_ALGO", "NCCL_PROTO", "NCCL_NVLS_ENABLE", "NCCL_COLLNET_ENABLE", "NCCL_MIN_NCHANNELS",
        "NCCL_MAX_NCHANNELS", "NCCL_MIN_CTAS", "NCCL_MAX_CTAS", "NCCL_NTHREADS", "NCCL_BUFFSIZE", "NCCL_P2P_DISABLE",
        "NCCL_SHM_DISABLE", "NCCL_IB_DISABLE", "NCCL_TOPO_FILE", "NCCL_GRAPH_FILE", "NCCL_CONF_FILE",
        "NCCL_TUNER_PLUGIN", "NCCL_NET_PLUGIN", "TORCH_NCCL_HIGH_PRIORITY", "NCCL_P2P_LEVEL", "NCCL_NET_GDR_LEVEL",
        "NCCL_CROSS_NIC", "NCCL_MNNVL_ENABLE", "RCCL_MSCCL_ENABLE", "RCCL_MSCCLPP_ENABLE",
    ),
    "loading": (
        "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_BIND_NOW", "PYTHONOPTIMIZE", "PYTHONNOUSERSITE", "PYTHONUTF8",
    ),
    "text": ("LANG", "LC_ALL", "LC_CTYPE", "LC_NUMERIC", "TZ"),
    "allocation": (
        "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "MALLOC_ARENA_MAX", "XLA_PYTHON_CLIENT_PREALLOCATE",
    ),
}
ALLOWED: tuple[str, ...] = tuple(sorted(name for names in GROUPS.values() for name in names))

#: longest value taken; a longer one is no setting that a person wrote.
MAX_VALUE = 4096
#: variables whose value may be an explicit list of processors, which differs from rank to rank.
_PLACEMENT = {"OMP_PLACES": "{", "KMP_AFFINITY": "proclist"}
_TOKEN_STARTS = ("hf_", "ghp_", "gho_", "ghs_", "ghu_", "github_pat_", "glpat-", "sk-", "xoxb-", "xoxp-", "AKIA",
                 "ASIA", "eyJ", "AIza", "ya29.", "npm_", "pypi-", "dckr_pat_", "nvapi-", "wandb_", "-----BEGIN")
_TELLTALES = ("token=", "secret=", "password=", "passwd=", "api_key=", "apikey=", "access_key=", "authorization:",
              "bearer ", "signature=", "x-amz-")
_SECRET_NAMES = ("password", "passwd", "secret", "secret_key", "api_key", "apikey", "access_key", "access_token",
                 "auth_token", "private_key")
#: tokens hold a part of this length without a dash; names have shorter words.
_TOKEN_PART = 16
_BREAKS = str.maketrans(dict.fromkeys(" \t\n,;:=&?\"'()[]{}<>|@/", " "))
_HEXADECIMAL = frozenset("0123456789abcdef")
#: letters and digits mixed at this length are a key, not a setting.
_LONG_WORD = 32


def read(environ: Mapping[str, str]) -> tuple[dict[str, Any], list[str]]:
    """Return every allow-listed variable (``None``: surely unset), and the names whose value was withheld."""
    values: dict[str, Any] = dict.fromkeys(ALLOWED)
    withheld = []
    for name in ALLOWED:
        value = environ.get(name)
        if value is None:
            continue
        if len(value) > MAX_VALUE or looks_secret(value):
            values[name] = unread("denied")
            withheld.append(name)
        else:
            values[name] = _placement(name, value)
    return values, withheld


def looks_secret(value: str) -> bool:
    """Tell whether ``value`` has the shape of a credential: a token, a key, an address with a password."""
    lowered = value.lower()
    if any(telltale in lowered for telltale in _TELLTALES) or has_password(value):
        return True
    words = _without_digests(value).translate(_BREAKS).split()
    return any(word.startswith(_TOKEN_STARTS) or _is_key(word) for word in words)


def _without_digests(value: str) -> str:
    """Leave out every ``sha256:`` with 64 hexadecimal digits: a digest is stated to be read, and is no key."""
    head, *rest = value.split("sha256:")
    return head + " ".join(part[64:] if len(part) >= 64 and _HEXADECIMAL.issuperset(part[:64]) else part
                           for part in rest)


def names_secret(name: str) -> bool:
    """Tell whether what is called ``name`` is a credential whatever its shape; ``eos_token`` is none."""
    lowered = name.lower().replace("-", "_").rpartition(".")[2]
    return lowered == "token" or lowered.endswith(_SECRET_NAMES)


def is_token(value: str) -> bool:
    """Tell whether ``value`` is a token of a known kind: narrower than ``looks_secret``, for ids of any other form."""
    return value.startswith(_TOKEN_STARTS) and any(
        len(part) >= _TOKEN_PART for part in value.replace("_", "-").replace(".", "-").split("-"))


def has_password(value: str) -> bool:
    """Tell whether ``value`` holds an address with user information before its host."""
    _, found, rest = value.partition("://")
    while found:
        words = rest.split("/", 1)[0].split(None, 1)
        if words and "@" in words[0]:
            return True
        _, found, rest = rest.partition("://")
    return False


def without_credentials(url: str) -> str:
    """Return ``url`` without user information, query and fragment; a bare ``git@`` of an scp-like address stays."""
    scheme, separator, rest = url.partition("://")
    if separator:
        rest = rest.partition("?")[0].partition("#")[0]
        authority, slash, path = rest.partition("/")
        return f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}"
    user, at, rest = url.partition("@")
    return url if not at or user == "git" or "/" in user else rest


def _is_key(word: str) -> bool:
    parts = [part for part in word.replace("+", " ").replace(".", " ").split() if len(part) >= _LONG_WORD]
    return any(any(c.isdigit() for c in part) and any(c.isalpha() for c in part) and _is_opaque(part)
               for part in parts)


def _is_opaque(word: str) -> bool:
    """Tell a key from a long file name: names have words joined by dashes and underscores, keys do not."""
    longest = max(len(part) for part in word.replace("-", " ").replace("_", " ").split())
    return longest >= _LONG_WORD or (word.count("-") + word.count("_") <= 2 and longest >= 20)


def _placement(name: str, value: str) -> str:
    mark = _PLACEMENT.get(name)
    return "explicit list" if mark is not None and mark in value else value
