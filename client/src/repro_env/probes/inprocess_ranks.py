"""How many processes compute together by JAX or TensorFlow, or without a framework, and by what they exchange numbers.

A process group of torch is told by torch. Where there is none, the runtimes of the other two know of their own: what
they were joined to, and how many devices they hold.
"""

from __future__ import annotations

from .. import ids
from ..fingerprint.facts import unread
from . import inprocess_jax, inprocess_tensorflow
from .inprocess_distributed import DEGREES, OTHER_MEANS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..system import System
    from .inprocess import Readings, Seen

#: means of exchange that neither of the two knows of.
_FOREIGN_MEANS = tuple(name for name in OTHER_MEANS if name not in ("jax", "tensorflow"))
_DDP = ("ddp_bucket_mb", "static_graph", "ddp_buckets")
#: the layout of a program of one process that exchanges with nobody.
_UNDIVIDED: dict[str, Any] = {"world_size": 1, **dict.fromkeys(DEGREES, 1), "sharding": "none", **dict.fromkeys(_DDP)}


def read(system: System, seen: Seen, readings: Readings) -> None:
    """Record layout and exchange where torch has no process group: by JAX or TensorFlow, else that nothing is split."""
    modules = system.loaded_modules()
    jax, tensorflow = inprocess_jax.imported(modules) is not None, inprocess_tensorflow.imported(modules)
    if seen.group is not None or not (jax or tensorflow):
        if "torch" not in modules and _alone(system, modules, seen):
            for name, value in _UNDIVIDED.items():
                readings.put(f"program.layout.{name}", "interpreter", value)
        return
    readings.attempt("collectives.backend", "jax" if jax else "tensorflow", lambda: exchange(modules, seen))
    for name, value in layout(system, modules, seen).items():
        readings.put(f"program.layout.{name}", "jax" if jax else "tensorflow", value)


def exchange(modules: Any, seen: Seen) -> Any:
    """Return by what processes or devices exchange numbers, ``None`` where there is one of each."""
    if not seen.settled:
        return unread("too-early")
    if inprocess_jax.missed(modules, seen):
        return unread("not-reported")
    if inprocess_tensorflow.processes(modules) > 1 or inprocess_tensorflow.accelerators(modules) > 1:
        return unread("not-reported")  # each strategy may choose its own
    several = inprocess_jax.processes(modules, seen) > 1
    if not several and seen.jax.get("devices", 1) == 1:
        return None
    platform = seen.jax.get("backend")
    if platform == "cpu" and several:
        chosen = getattr(inprocess_jax.imported(modules).config, "jax_cpu_collectives_implementation", None)
        return str(chosen) if chosen else unread("not-reported")
    return {"cuda": "nccl", "rocm": "rccl"}.get(str(platform), unread("not-reported"))


def layout(system: System, modules: Any, seen: Seen) -> dict[str, Any]:
    """Return the number of processes where the runtimes know it, and for one device by itself that nothing is split."""
    count = max(inprocess_jax.processes(modules, seen), inprocess_tensorflow.processes(modules))
    if count > 1:
        return {"world_size": count}
    if inprocess_jax.missed(modules, seen) or not _alone(system, modules, seen):
        return {}
    if inprocess_tensorflow.accelerators(modules) > 1 or seen.jax.get("devices", 1) > 1:
        return {"world_size": 1}
    if _torch_has_devices(modules):
        return {}
    return {name: value for name, value in _UNDIVIDED.items() if name not in _DDP or "torch" not in modules}


def _alone(system: System, modules: Any, seen: Seen) -> bool:
    """Tell whether a program that is over was announced no other ranks, and imported no other means of reaching any."""
    _, _, announced = ids.ranks(system.environ)
    return seen.settled and announced in (None, 1) and not any(name in modules for name in _FOREIGN_MEANS)


def _torch_has_devices(modules: Any) -> bool:
    """Tell whether torch has started a runtime of several devices beside."""
    runtime = getattr(modules.get("torch"), "cuda", None)
    return bool(runtime is not None and runtime.is_initialized() and runtime.device_count() > 1)
