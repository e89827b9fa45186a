"""What the interpreter itself tells: hash seed, flush-to-zero of the calling thread, frameworks that were imported."""

from __future__ import annotations

import sys

from ..fingerprint.facts import unread
from . import inprocess_jax, inprocess_tensorflow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..system import System
    from .inprocess import Readings, Seen

SMALLEST = "4.9406564584124654e-324"
FRAMEWORKS = {"torch": "torch", "numpy": "numpy", "scipy": "scipy", "jax": "jax", "tensorflow": "tensorflow",
              "scikit_learn": "sklearn"}


def read(system: System, seen: Seen, readings: Readings) -> None:
    """Record the interpreter's facts."""
    modules = system.loaded_modules()
    readings.attempt("precision.flush_to_zero", "interpreter", flushes_to_zero)
    readings.attempt("program.random.hash_seed", "interpreter", lambda: hash_seed(system))
    for name, module_name in FRAMEWORKS.items():
        _framework(name, modules.get(module_name), readings)
    readings.attempt("frameworks.backend", "torch", lambda: backend(system, modules, seen))


def flushes_to_zero() -> bool:
    """Tell whether the processor flushes denormals in this thread, by multiplying the smallest one.

    The number is parsed at run time: a constant would be folded by the compiler.
    """
    return float(SMALLEST) * 1.0 == 0.0


def hash_seed(system: System) -> str:
    """Return the hash seed in force: a number, or ``random``.

    The variable is read as it was when the process started: setting it in the program changes nothing any more.
    """
    if not sys.flags.hash_randomization:
        return "0"
    value = "" if sys.flags.ignore_environment else system.initial_variable("PYTHONHASHSEED") or ""
    return str(int(value)) if value.isascii() and value.isdigit() and int(value) else "random"


def backend(system: System, modules: Any, seen: Seen) -> Any:
    """Return where the process computed: an accelerator only when its runtime was started, else the processor."""
    torch = modules.get("torch")
    for name, started in (("cuda", "is_initialized"), ("xpu", "is_initialized")):
        runtime = getattr(torch, name, None)
        if runtime is not None and getattr(runtime, started)():
            return "rocm" if name == "cuda" and torch.version.hip else name
    if torch is not None and getattr(torch, "_C", None) is not None and _mps_started(modules, torch):
        return "mps"
    inprocess_jax.note(system, modules, seen)
    found = (seen.jax.get("backend") or "cpu", inprocess_tensorflow.backend(modules) or "cpu")
    surely = unread("not-reported") if inprocess_jax.missed(modules, seen) else "cpu"
    return next((name for name in found if name != "cpu"), surely)


def _mps_started(modules: Any, torch: Any) -> bool:
    """Whether Apple's runtime holds memory; asked only where the build has it."""
    mps = modules.get("torch.mps")
    return bool(mps is not None and getattr(torch._C, "_has_mps", False) and mps.current_allocated_memory() > 0)


def _framework(name: str, module: Any, readings: Readings) -> None:
    """Record version and revision of a framework as imported, or that it was not imported."""
    path = f"frameworks.{name}"
    readings.put(f"{path}.imported", "interpreter", module is not None)
    if module is None:
        return
    source = name if name in ("torch", "numpy") else "interpreter"
    readings.attempt(f"{path}.version", source, lambda: str(module.__version__))
    versions = getattr(module, "version", None)
    revision = getattr(versions, "git_version", None) or getattr(versions, "git_revision", None)
    if isinstance(revision, str) and revision and revision != "Unknown":
        readings.put(f"{path}.revision", source, revision)
