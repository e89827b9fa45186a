"""Asking a loaded library for its version: one question a library, none of which starts a device or loads a file.

Checked on the vendors' documentation and, where a package ships the library, on the thing itself. What is not asked:
hipBLASLt (it wants a handle, which needs a device), HIP before the program has started it (every call starts it), and
the front of a library whose parts are not mapped (asking cuDNN or MKL then would load them).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_TEXT_BYTES = 256


def integer(symbol: str, form: Callable[[int], str]) -> Callable[[Any], str | None]:
    """Return a question for libraries that write one integer: ``int f(int *)``."""
    def ask(library: Any) -> str | None:
        import ctypes

        value = ctypes.c_int(0)
        function = getattr(library, symbol, None)
        return form(value.value) if function is not None and function(ctypes.byref(value)) == 0 else None

    return ask


def pair(symbol: str) -> Callable[[Any], str | None]:
    """Return a question for libraries that write major and minor: ``int f(int *, int *)``."""
    def ask(library: Any) -> str | None:
        import ctypes

        major, minor = ctypes.c_int(0), ctypes.c_int(0)
        function = getattr(library, symbol, None)
        if function is None or function(ctypes.byref(major), ctypes.byref(minor)):
            return None
        return f"{major.value}.{minor.value}"

    return ask


def properties(symbol: str) -> Callable[[Any], str | None]:
    """Return a question for libraries with NVIDIA's ``libraryPropertyType``: major, minor, patch level."""
    def ask(library: Any) -> str | None:
        import ctypes

        function = getattr(library, symbol, None)
        parts = [ctypes.c_int(-1) for _ in range(3)]
        if function is None or any(function(kind, ctypes.byref(part)) for kind, part in enumerate(parts)):
            return None
        return ".".join(str(part.value) for part in parts)

    return ask


def cuda(number: int) -> str:
    """Return ``12.1`` of 12010."""
    return f"{number // 1000}.{number % 1000 // 10}"


def nccl(number: int) -> str:
    """Return ``2.20.5`` of 22005; before 2.9 the minor version had one digit less."""
    if number < 10000:
        return f"{number // 1000}.{number % 1000 // 100}.{number % 100}"
    return f"{number // 10000}.{number % 10000 // 100}.{number % 100}"


def hip(number: int) -> str:
    """Return ``6.1.40091`` of 60140091."""
    return f"{number // 10_000_000}.{number % 10_000_000 // 100_000}.{number % 100_000}"


def cudnn(library: Any) -> str | None:
    """Return the version from ``size_t cudnnGetVersion(void)``; the number has five digits from 9 on."""
    import ctypes

    function = getattr(library, "cudnnGetVersion", None)
    if function is None:
        return None
    function.restype = ctypes.c_size_t
    number = int(function())
    major = 10000 if number >= 90000 else 1000
    return f"{number // major}.{number % major // 100}.{number % 100}"


def miopen(library: Any) -> str | None:
    """Return the version from ``int miopenGetVersion(size_t *, size_t *, size_t *)``."""
    import ctypes

    parts = [ctypes.c_size_t(0) for _ in range(3)]
    function = getattr(library, "miopenGetVersion", None)
    if function is None or function(*map(ctypes.byref, parts)):
        return None
    return ".".join(str(part.value) for part in parts)


def rocblas(library: Any) -> str | None:
    """Return the version from ``int rocblas_get_version_string(char *, size_t)``, without the commit, its last part."""
    import ctypes

    text = ctypes.create_string_buffer(_TEXT_BYTES)
    function = getattr(library, "rocblas_get_version_string", None)
    if function is None or function(text, ctypes.c_size_t(_TEXT_BYTES)):
        return None
    return ".".join(text.value.decode("ascii", "replace").split(".")[:3]) or None


def mkl(library: Any) -> str | None:
    """Return the version from ``void mkl_serv_get_version_string(char *, int)``: ``2024.2`` of its sentence."""
    import ctypes

    text = ctypes.create_string_buffer(_TEXT_BYTES)
    function = getattr(library, "mkl_serv_get_version_string", None)
    if function is None:
        return None
    function(text, ctypes.c_int(_TEXT_BYTES - 1))
    _, _, rest = text.value.decode("ascii", "replace").partition("Version ")
    return rest.partition("-Product")[0].partition(" ")[0] or None


def onednn(library: Any) -> str | None:
    """Return the version from ``const dnnl_version_t *dnnl_version(void)``, a structure that starts with three ints."""
    import ctypes

    function = getattr(library, "dnnl_version", None)
    if function is None:
        return None
    function.restype = ctypes.POINTER(ctypes.c_int * 3)
    answer = function()
    return ".".join(map(str, answer.contents)) if answer else None


def openblas(library: Any) -> str | None:
    """Return the version that an OpenBLAS reports in its configuration text."""
    from .inprocess_pools import openblas_words

    words = openblas_words(library)
    return words[1] if len(words) > 1 and words[0] == "OpenBLAS" else None


#: library -> how it is asked.
QUESTIONS: dict[str, Callable[[Any], str | None]] = {
    "cuda_runtime": integer("cudaRuntimeGetVersion", cuda), "cublas": properties("cublasGetProperty"), "cudnn": cudnn,
    "cufft": properties("cufftGetProperty"), "cusolver": properties("cusolverGetProperty"),
    "cusparse": properties("cusparseGetProperty"), "nccl": integer("ncclGetVersion", nccl),
    "nvjitlink": pair("nvJitLinkVersion"), "nvrtc": pair("nvrtcVersion"),
    "hip_runtime": integer("hipRuntimeGetVersion", hip), "rocblas": rocblas, "miopen": miopen,
    "rccl": integer("ncclGetVersion", nccl), "mkl": mkl, "onednn": onednn, "openblas": openblas,
}
#: libraries with a front that loads its parts when it is called -> starts of the parts that answer without that.
FRONTS = {"cudnn": ("libcudnn_graph", "libcudnn_ops_infer"), "mkl": ("libmkl_core",)}
