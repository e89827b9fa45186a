"""Which numeric libraries are loaded in this process, and the version each reports itself.

Only files already mapped are opened again, which loads nothing; no handle and no device context is made for asking.
A library that is not mapped is not loaded: ``null``, once the program has computed.
"""

from __future__ import annotations

import re

from ..canonical import digest_bytes
from ..fingerprint.facts import unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..system import System
    from .inprocess import Readings, Seen


def read(system: System, seen: Seen, readings: Readings) -> None:
    """Record the loaded version of every known library."""
    mapped = system.mapped_files()
    reports = torch_reports(system.loaded_modules().get("torch"))
    for name, pattern, ask in LIBRARIES:
        paths = [path for path in mapped if re.search(pattern, path)]
        readings.attempt(f"libraries.{name}.loaded", "loaded-library", lambda: _loaded(system, paths, ask))  # noqa: B023 - called at once
    for name, pattern in WITHIN_TORCH.items():
        version = found(pattern, reports)
        if version:
            readings.put(f"libraries.{name}.loaded", "torch", version)
    runtimes = [path for path in mapped if re.search(_OPENMP, path)]
    if runtimes:
        readings.attempt("libraries.openmp.loaded", "loaded-library", lambda: openmp(system, runtimes))


def torch_reports(torch: Any) -> str:
    """Return torch's own words on what is linked into it; empty where it was not imported."""
    config = getattr(torch, "__config__", None)
    if config is None or not hasattr(config, "parallel_info"):
        return ""
    return f"{config.show()}\n{config.parallel_info()}"


def found(pattern: str, text: str) -> str | None:
    """Return the first group of the first match."""
    match = re.search(pattern, text)
    return match.group(1) if match else None


def openmp(system: System, paths: list[str]) -> str:
    """Return kind and build id of each OpenMP runtime, sorted: these libraries report no version of their own."""
    return ", ".join(sorted({f"{found(_OPENMP, path)} {build_id(system, path)[:19]}" for path in paths}))


def build_id(system: System, path: str) -> str:
    """Return the GNU build id of an ELF file in hexadecimal, else the digest of its content.

    Tools that repair wheels may move or drop the note; then only the content tells two builds apart. Raise
    ``OSError`` for a file that cannot be read, or that is too large to take a digest of.
    """
    found_note = note(system, path)
    if found_note is not None:
        return found_note
    content = system.read_bytes(path, _CONTENT_BYTES + 1)
    if len(content) > _CONTENT_BYTES:
        raise OSError("too large to take a digest of")
    return digest_bytes(content)


def note(system: System, path: str) -> str | None:
    """Return the GNU build id in the head of an ELF file in hexadecimal, ``None`` without one; raise ``OSError``."""
    head = system.read_bytes(path, _HEAD_BYTES)
    at = head.find(_BUILD_ID)
    return head[at + len(_BUILD_ID):at + len(_BUILD_ID) + 20].hex() if at >= 0 else None


def _loaded(system: System, paths: list[str], ask: Callable[[Any], str | None] | None) -> Any:
    """Return the version, several in order where copies differ; ``None`` when no file of the library is mapped."""
    if not paths:
        return None
    versions = {ask(system.load_library(path)) for path in paths} if ask else set()
    return ", ".join(sorted(version for version in versions if version)) or unread("not-reported")


def _integer(symbol: str, form: Callable[[int], str]) -> Callable[[Any], str | None]:
    """Return a question for libraries that write one integer: ``int f(int *)``."""
    def ask(library: Any) -> str | None:
        import ctypes

        value = ctypes.c_int(0)
        function = getattr(library, symbol, None)
        return form(value.value) if function is not None and function(ctypes.byref(value)) == 0 else None

    return ask


def _property(symbol: str) -> Callable[[Any], str | None]:
    """Return a question for libraries with NVIDIA's ``libraryPropertyType``: major, minor, patch level."""
    def ask(library: Any) -> str | None:
        import ctypes

        function = getattr(library, symbol, None)
        parts = [ctypes.c_int(-1) for _ in range(3)]
        if function is None or any(function(kind, ctypes.byref(part)) for kind, part in enumerate(parts)):
            return None
        return ".".join(str(part.value) for part in parts)

    return ask


def _cudnn(library: Any) -> str | None:
    import ctypes

    function = getattr(library, "cudnnGetVersion", None)
    if function is None:
        return None
    function.restype = ctypes.c_size_t
    number = int(function())
    major = 10000 if number >= 90000 else 1000
    return f"{number // major}.{number % major // 100}.{number % 100}"


def _pair(symbol: str) -> Callable[[Any], str | None]:
    """Return a question for libraries that write major and minor: ``int f(int *, int *)``."""
    def ask(library: Any) -> str | None:
        import ctypes

        major, minor = ctypes.c_int(0), ctypes.c_int(0)
        function = getattr(library, symbol, None)
        if function is None or function(ctypes.byref(major), ctypes.byref(minor)):
            return None
        return f"{major.value}.{minor.value}"

    return ask


def openblas_version(library: Any) -> str | None:
    """Return the version that an OpenBLAS reports in its configuration text."""
    from .inprocess_pools import openblas_words

    words = openblas_words(library)
    return words[1] if len(words) > 1 and words[0] == "OpenBLAS" else None


_OPENMP = r"/lib(gomp|iomp5|omp)[-.][^/]*$"
#: ELF note of the linker: name of 4 bytes, identifier of 20, type 3, "GNU".
_BUILD_ID = b"\x04\x00\x00\x00\x14\x00\x00\x00\x03\x00\x00\x00GNU\x00"
_HEAD_BYTES = 16384
_CONTENT_BYTES = 64 << 20
#: section key, how its files are named, and how it is asked.
LIBRARIES: tuple[tuple[str, str, Callable[[Any], str | None] | None], ...] = (
    ("cuda_runtime", r"/libcudart[-.][^/]*$",
     _integer("cudaRuntimeGetVersion", lambda n: f"{n // 1000}.{n % 1000 // 10}")),
    ("cublas", r"/libcublas\.so[^/]*$", _property("cublasGetProperty")),
    ("cudnn", r"/libcudnn\.so[^/]*$", _cudnn),
    ("cufft", r"/libcufft\.so[^/]*$", _property("cufftGetProperty")),
    ("cusolver", r"/libcusolver\.so[^/]*$", _property("cusolverGetProperty")),
    ("cusparse", r"/libcusparse\.so[^/]*$", _property("cusparseGetProperty")),
    ("nccl", r"/libnccl\.so[^/]*$",
     _integer("ncclGetVersion", lambda n: f"{n // 10000}.{n % 10000 // 100}.{n % 100}")),
    ("nvjitlink", r"/libnvJitLink\.so[^/]*$", _pair("nvJitLinkVersion")),
    ("nvrtc", r"/libnvrtc\.so[^/]*$", _pair("nvrtcVersion")),
    ("triton", r"/triton/_C/libtriton[^/]*$", None),
    ("miopen", r"/libMIOpen\.so[^/]*$", None),
    ("rccl", r"/librccl\.so[^/]*$",
     _integer("ncclGetVersion", lambda n: f"{n // 10000}.{n % 10000 // 100}.{n % 100}")),
    ("mkl", r"/libmkl_(rt|core)[^/]*\.so[^/]*$", None),
    ("onednn", r"/libdnnl\.so[^/]*$", None),
    ("openblas", r"/lib[^/]*openblas[^/]*\.(so|dylib)[^/]*$", openblas_version),
    ("openmp", _OPENMP, None),
)
#: libraries that torch carries inside, and its words on them.
WITHIN_TORCH = {"mkl": r"Math Kernel Library Version (\S+?)-Product", "onednn": r"MKL-DNN v(\S+)"}
