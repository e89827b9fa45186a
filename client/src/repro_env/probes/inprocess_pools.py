"""The thread pools of loaded numeric libraries, asked for the size that is in force.

Only files already mapped into the process are opened again, which loads nothing. Where a library is linked into
torch itself (MKL) torch's own report is read instead.
"""

from __future__ import annotations

import re

from ..fingerprint.facts import is_unread, unread
from .inprocess_libraries import found, torch_reports

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..system import System
    from .inprocess import Readings, Seen

_OPENBLAS = re.compile(r"/lib[^/]*openblas[^/]*\.(so|dylib)[^/]*$")
_OPENMP = re.compile(r"/lib(gomp|iomp5|omp)[-.][^/]*$")
_MKL = re.compile(r"/libmkl_rt[^/]*\.so[^/]*$")
_MKL_PARTS = (re.compile(r"/libmkl_core\."), re.compile(r"/libmkl_(intel_thread|gnu_thread|tbb_thread|sequential)\."))
#: what builders put around OpenBLAS's names.
_AROUND = tuple((prefix, suffix) for prefix in ("scipy_", "") for suffix in ("64_", "", "_64"))


def read(system: System, seen: Seen, readings: Readings) -> None:
    """Record the size of every pool."""
    mapped = system.mapped_files()
    reports = torch_reports(system.loaded_modules().get("torch"))
    readings.attempt("threads.blas_pools", "loaded-library", lambda: blas_pools(system, mapped))
    readings.attempt("threads.openmp_pools", "loaded-library", lambda: openmp_pools(system, mapped))
    pools = readings.facts["threads.openmp_pools"]
    readings.attempt("threads.openmp", "loaded-library", lambda: pools if is_unread(pools) else _openmp(pools, reports))
    readings.attempt("threads.mkl", "loaded-library", lambda: _mkl(system, mapped, reports))


def blas_pools(system: System, mapped: list[str]) -> list[dict[str, Any]]:
    """Return the pool of every mapped OpenBLAS, sorted; two copies of one library are two pools."""
    asked = [system.ask_library(path, _openblas) for path in mapped if _OPENBLAS.search(path)]
    pools: list[dict[str, Any]] = [pool for pool in asked if pool is not None]
    return sorted(pools, key=lambda pool: [str(pool[name]) for name in sorted(pool)])


def openblas_words(library: Any) -> list[str]:
    """Return the configuration text of an OpenBLAS in words, as ``OpenBLAS 0.3.30 USE64BITINT ... Haswell``."""
    around = _symbols(library)
    return _text(library, "openblas_get_config", around).split() if around else []


def _openblas(library: Any) -> dict[str, Any] | None:
    """Return one pool; ``None`` for a file that is no whole OpenBLAS."""
    around = _symbols(library)
    if around is None:
        return None
    words = openblas_words(library)
    count = getattr(library, f"{around[0]}openblas_get_num_threads{around[1]}")
    return {"library": "openblas", "version": words[1] if words[:1] == ["OpenBLAS"] and len(words) > 1 else None,
            "architecture": _text(library, "openblas_get_corename", around) or None, "threads": int(count())}


def _symbols(library: Any) -> tuple[str, str] | None:
    """Return prefix and suffix of the names in this build."""
    return next((around for around in _AROUND
                 if hasattr(library, f"{around[0]}openblas_get_num_threads{around[1]}")), None)


def _text(library: Any, name: str, around: tuple[str, str]) -> str:
    """Call a function that returns a C string; empty where the library lacks it."""
    import ctypes

    function = getattr(library, f"{around[0]}{name}{around[1]}", None)
    if function is None:
        return ""
    function.restype = ctypes.c_char_p
    answer = function()
    return answer.decode("ascii", "replace") if isinstance(answer, bytes) else ""


def openmp_pools(system: System, mapped: list[str]) -> dict[str, int]:
    """Return the threads of each loaded OpenMP runtime by its kind; copies of one kind that disagree are numbered."""
    counts: dict[str, set[int]] = {}
    for path in mapped:
        kind = _OPENMP.search(path)
        if kind:
            count = system.ask_library(path, _openmp_threads)
            if count is not None:
                counts.setdefault(f"lib{kind.group(1)}", set()).add(count)
    return {kind if number == 1 else f"{kind} {number}": count for kind, several in sorted(counts.items())
            for number, count in enumerate(sorted(several), 1)}


def _openmp_threads(library: Any) -> int | None:
    function = getattr(library, "omp_get_max_threads", None)
    return int(function()) if function is not None else None


def _openmp(pools: dict[str, int], reports: str) -> Any:
    """Return the threads of the OpenMP runtime; unread where several runtimes disagree, null where none is loaded."""
    counts = set(pools.values())
    if not counts:
        reported = found(r"omp_get_max_threads\(\) : (\d+)", reports)
        return int(reported) if reported else None
    return counts.pop() if len(counts) == 1 else unread("not-reported")


def _mkl(system: System, mapped: list[str], reports: str) -> Any:
    """Return the threads of MKL; null where none is loaded, or nothing but its front, which loads the rest when asked.

    That load ends the process where the OpenMP runtime it wants cannot be found.
    """
    fronts = [path for path in mapped if _MKL.search(path)]
    if fronts:
        started = all(any(part.search(path) for path in mapped) for part in _MKL_PARTS)
        return system.ask_library(fronts[0], lambda mkl: int(mkl.MKL_Get_Max_Threads())) if started else None
    reported = found(r"mkl_get_max_threads\(\) : (\d+)", reports)
    return int(reported) if reported else None
