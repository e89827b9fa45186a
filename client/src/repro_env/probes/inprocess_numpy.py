"""What an imported NumPy, SciPy and scikit-learn tell: dispatch, what they were built with, threads of their loops.

Each was built against a BLAS and by compilers of its own; what they print of it is kept in a dictionary, which is read.
"""

from __future__ import annotations

from ..fingerprint.facts import unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..system import System
    from .inprocess import Readings, Seen

#: the extension module that holds the dispatch tables: NumPy 2 and later, NumPy 1.
_CORES = ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath")
#: what older builds keep instead of one dictionary: how they found each library.
_OLDER = {"blas": ("blas_ilp64_opt_info", "blas_opt_info"), "lapack": ("lapack_ilp64_opt_info", "lapack_opt_info")}
_OPENMP = "sklearn.utils._openmp_helpers"


def read(system: System, seen: Seen, readings: Readings) -> None:
    """Record what each of them tells that was imported. NumPy's legacy generator's seed cannot be read back."""
    modules = system.loaded_modules()
    if "numpy" in modules:
        core = next((modules[name] for name in _CORES if name in modules), None)
        readings.attempt("cpu.numpy_simd", "numpy", lambda: simd_found(core))
    for name in ("numpy", "scipy"):
        if name in modules:
            config = modules.get(f"{name}.__config__")
            readings.attempt(f"frameworks.{name}.build_flags", name, lambda config=config: build_flags(config))  # type: ignore[misc]
            readings.put(f"frameworks.{name}.abi", name, None)
    if "sklearn" in modules:
        readings.put("frameworks.scikit_learn.build_flags", "scikit_learn", None)
        readings.put("frameworks.scikit_learn.abi", "scikit_learn", None)
        readings.attempt("threads.scikit_learn", "scikit_learn", lambda: loop_threads(system, modules, seen))


def simd_found(core: Any) -> Any:
    """Return the dispatch features this processor has, sorted: the list ``numpy.show_config()`` calls found.

    Versions before 1.20 do not list what they dispatch to.
    """
    if not hasattr(core, "__cpu_dispatch__"):
        return unread("not-reported")
    features = core.__cpu_features__
    return sorted(name for name in core.__cpu_dispatch__ if features.get(name))


def build_flags(config: Any) -> Any:
    """Return compilers, BLAS, LAPACK and the instruction sets taken for granted; the builder's folders are left out."""
    told = getattr(config, "CONFIG", None)
    if isinstance(told, dict):
        flags = {**_compilers(told.get("Compilers", {})), **_dependencies(told.get("Build Dependencies", {}))}
        baseline = told.get("SIMD Extensions", {}).get("baseline")
        if baseline:
            flags["simd_baseline"] = " ".join(baseline)
        return flags
    older = {name: _older(config, sources) for name, sources in _OLDER.items()}
    return {name: value for name, value in older.items() if value} or unread("not-reported")


def _compilers(told: dict[str, Any]) -> dict[str, str]:
    """Return each language with its compiler and version, and flags where the builder gave any."""
    flags = {}
    for language, compiler in told.items():
        words = (compiler.get("name"), compiler.get("version"), compiler.get("args"))
        flags[language] = " ".join(str(word) for word in words if word)
    return flags


def _dependencies(told: dict[str, Any]) -> dict[str, str]:
    """Return BLAS and LAPACK, each as it describes itself, else by name and version."""
    flags = {}
    for name in ("blas", "lapack"):
        library = told.get(name)
        if library:
            words = (library.get("name"), library.get("openblas configuration") or library.get("version"))
            flags[name] = " ".join(" ".join(str(word) for word in words if word).split())
    return flags


def _older(config: Any, sources: tuple[str, ...]) -> str | None:
    """Return the names of the libraries that a build of before 2023 was linked to."""
    for source in sources:
        libraries = (getattr(config, source, None) or {}).get("libraries")
        if libraries:
            return " ".join(dict.fromkeys(libraries))
    return None


def loop_threads(system: System, modules: Any, seen: Seen) -> Any:
    """Return the threads of scikit-learn's own loops, ``None`` where none of them has run.

    Where no variable gives the number, it counts the cores, which starts a program, and notes them for the next time.
    So it is asked only once it has counted; versions that count anew each time are not.
    """
    helpers = modules.get(_OPENMP)
    counted = getattr(helpers, "_CPU_COUNTS", {True: None})
    if helpers is None or not counted:
        if not (helpers and system.environ.get("OMP_NUM_THREADS")):
            return None if seen.settled else unread("too-early")
    elif not counted.get(True) and not system.environ.get("OMP_NUM_THREADS"):
        return unread("not-reported")
    return int(helpers._openmp_effective_n_threads())
