"""What the interpreter itself tells: hash seed, flush-to-zero of the calling thread, frameworks that were imported."""

from __future__ import annotations

import sys

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
    readings.attempt("frameworks.backend", "torch", lambda: backend(modules))


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
    value = "" if sys.flags.ignore_environment else _initial_variable(system, "PYTHONHASHSEED")
    return str(int(value)) if value.isascii() and value.isdigit() and int(value) else "random"


def _initial_variable(system: System, name: str) -> str:
    """Return a variable as this process was started with it; empty when it was unset."""
    try:
        entries = system.read_bytes("/proc/self/environ", 1 << 20).split(b"\0")
    except OSError:
        return system.environ.get(name, "")
    prefix = name.encode("ascii") + b"="
    return next((entry[len(prefix):].decode("utf-8", "replace") for entry in entries if entry.startswith(prefix)), "")


def backend(modules: Any) -> str:
    """Return where the process computed: an accelerator only when its runtime was started, else the processor."""
    torch = modules.get("torch")
    for name, started in (("cuda", "is_initialized"), ("xpu", "is_initialized")):
        runtime = getattr(torch, name, None)
        if runtime is not None and getattr(runtime, started)():
            return "rocm" if name == "cuda" and torch.version.hip else name
    if torch is not None and getattr(torch, "_C", None) is not None and _mps_started(modules, torch):
        return "mps"
    return _jax_backend(modules) or "cpu"


def _mps_started(modules: Any, torch: Any) -> bool:
    """Whether Apple's runtime holds memory; asked only where the build has it."""
    mps = modules.get("torch.mps")
    return bool(mps is not None and getattr(torch._C, "_has_mps", False) and mps.current_allocated_memory() > 0)


def _jax_backend(modules: Any) -> str | None:
    """Return the platform of JAX's default backend when one was started, without starting it."""
    bridge = modules.get("jax._src.xla_bridge")
    started = getattr(bridge, "_default_backend", None)
    platform = getattr(started, "platform", None)
    return {"gpu": "cuda"}.get(platform, platform) if isinstance(platform, str) else None


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
