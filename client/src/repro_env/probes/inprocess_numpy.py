"""What an imported NumPy tells: the SIMD features it dispatches to."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..system import System
    from .inprocess import Readings, Seen

#: the extension module that holds the dispatch tables: NumPy 2 and later, NumPy 1.
_CORES = ("numpy._core._multiarray_umath", "numpy.core._multiarray_umath")


def read(system: System, seen: Seen, readings: Readings) -> None:
    """Record NumPy's own facts; nothing when it was not imported. Its legacy generator's seed cannot be read back."""
    modules = system.loaded_modules()
    if "numpy" not in modules:
        return
    core = next((modules[name] for name in _CORES if name in modules), None)
    readings.attempt("cpu.numpy_simd", "numpy", lambda: simd_found(core))


def simd_found(core: Any) -> list[str]:
    """Return the dispatch features this processor has, sorted: the list ``numpy.show_config()`` calls found."""
    features = core.__cpu_features__
    return sorted(name for name in core.__cpu_dispatch__ if features.get(name))
