"""What loaded numeric libraries tell of themselves: thread pools, versions, kernel sets.

Only files already mapped into the process are opened again, which loads nothing. Where a library is linked into
torch itself (MKL, oneDNN) torch's own report is read instead.
"""

from __future__ import annotations

import re

from ..fingerprint.facts import unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from ..system import System
    from .inprocess import Readings, Seen

_OPENBLAS = re.compile(r"/lib[^/]*openblas[^/]*\.(so|dylib|dll)[^/]*$")
_OPENMP = re.compile(r"/lib(gomp|iomp5|omp)[^/]*\.(so|dylib)[^/]*$")
_MKL = re.compile(r"/libmkl_rt[^/]*\.so[^/]*$")
_SYMBOLS = tuple((prefix, suffix) for prefix in ("scipy_", "") for suffix in ("64_", "", "_64"))


def read(system: System, seen: Seen, readings: Readings) -> None:
    """Record every pool, and the libraries' versions."""
    mapped = system.mapped_files()
    torch = system.loaded_modules().get("torch")
    reports = _reports(torch)
    pools = [pool for path in mapped if _OPENBLAS.search(path) for pool in _openblas(system, path)]
    readings.attempt("threads.blas_pools", "loaded-library", lambda: _distinct(pools))
    readings.attempt("threads.openmp", "loaded-library", lambda: _openmp(system, mapped, reports))
    readings.attempt("threads.mkl", "loaded-library", lambda: _mkl(system, mapped, reports))
    _version(readings, "openblas", _one(sorted({pool["version"] for pool in pools if pool["version"]})), bool(pools))
    _version(readings, "mkl", _found(r"Math Kernel Library Version (\S+?)-Product", reports),
             any(_MKL.search(path) for path in mapped))
    _version(readings, "onednn", _found(r"MKL-DNN v(\S+)", reports), any("libdnnl" in path for path in mapped))


def _version(readings: Readings, name: str, version: str | None, loaded: bool) -> None:
    """Record the version a loaded library reports; ``not-reported`` where it is loaded and silent."""
    path = f"libraries.{name}.loaded"
    readings.put(path, "loaded-library", version or unread("not-reported" if loaded else "not-loaded"))


def _reports(torch: Any) -> str:
    """Return torch's own words on the libraries linked into it; empty where it was not imported."""
    config = getattr(torch, "__config__", None)
    if config is None or not hasattr(config, "parallel_info"):
        return ""
    return f"{config.show()}\n{config.parallel_info()}"


def _openblas(system: System, path: str) -> list[dict[str, Any]]:
    """Return the pool of one OpenBLAS, with the names its builders gave the symbols; nothing when it has none."""
    library = system.load_library(path)
    for prefix, suffix in _SYMBOLS:
        count = getattr(library, f"{prefix}openblas_get_num_threads{suffix}", None)
        if count is not None:
            config = _text(library, f"{prefix}openblas_get_config{suffix}")
            words = config.split()
            version = words[1] if len(words) > 1 and words[0] == "OpenBLAS" else None
            return [{"library": "openblas", "version": version,
                     "architecture": _text(library, f"{prefix}openblas_get_corename{suffix}") or None,
                     "threads": int(count())}]
    return []


def _text(library: Any, symbol: str) -> str:
    """Call a function that returns a C string; empty where the library lacks it."""
    import ctypes

    function: Callable[[], Any] | None = getattr(library, symbol, None)
    if function is None:
        return ""
    function.restype = ctypes.c_char_p  # type: ignore[attr-defined]  # a ctypes function pointer
    answer = function()
    return answer.decode("ascii", "replace") if isinstance(answer, bytes) else ""


def _distinct(pools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the pools sorted, alike ones each kept: two copies of one library are two pools."""
    return sorted(pools, key=lambda pool: [str(pool[name]) for name in sorted(pool)])


def _openmp(system: System, mapped: list[str], reports: str) -> Any:
    """Return the threads of the OpenMP runtime; unread where several runtimes disagree, null where none is loaded."""
    counts = set()
    for path in mapped:
        if _OPENMP.search(path):
            function = getattr(system.load_library(path), "omp_get_max_threads", None)
            if function is not None:
                counts.add(int(function()))
    if not counts:
        reported = _found(r"omp_get_max_threads\(\) : (\d+)", reports)
        return int(reported) if reported else None
    return counts.pop() if len(counts) == 1 else unread("not-reported")


def _mkl(system: System, mapped: list[str], reports: str) -> Any:
    """Return the threads of MKL; null where none is loaded."""
    for path in mapped:
        if _MKL.search(path):
            return int(system.load_library(path).MKL_Get_Max_Threads())
    reported = _found(r"mkl_get_max_threads\(\) : (\d+)", reports)
    return int(reported) if reported else None


def _found(pattern: str, text: str) -> str | None:
    match = re.search(pattern, text)
    return match.group(1) if match else None


def _one(values: list[str]) -> str | None:
    """Return the only value, or the values in one word where copies differ."""
    return ", ".join(values) or None
