"""What the mapped files of this process tell beyond versions: conflicts between copies, extensions nobody vetted.

And the driver's library as it is loaded, and what a process surely does not do, from what it never imported.
"""

from __future__ import annotations

from ..fingerprint.facts import unread
from . import inprocess_tensorflow
from .inprocess_conflicts import Loader, conflicts
from .inprocess_libraries import WITHIN_TORCH, environment_of
from .inprocess_unvetted import unvetted
from .libcuda import described
from .library_files import stem_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..system import System
    from .inprocess import Readings, Seen

#: modules with kernels that add in any order unless a switch forbids it.
_FRAMEWORKS = ("torch", "jax", "tensorflow", "sklearn", "numba", "cupy")
#: modules whose kernels do not follow torch's deterministic mode.
_OUTSIDE_TORCH = ("jax", "tensorflow", "sklearn", "numba", "cupy", "flash_attn", "flash_attn_interface", "xformers",
                  "apex", "transformer_engine", "deepspeed", "mamba_ssm", "torch_scatter", "torch_sparse",
                  "torch_cluster", "fla", "liger_kernel", "causal_conv1d", "bitsandbytes", "vllm", "flashinfer")
#: modules by which ranks exchange numbers beside what torch, JAX and TensorFlow have of their own.
_EXCHANGING = ("mpi4py.MPI", "horovod", "oneccl_bindings_for_pytorch")

#: modules -> what only they set.
_SET_BY = (
    (("jax",), ("precision.jax_x64", "precision.jax_matmul", "determinism.jax_prng", "program.layout.jax_devices")),
    (("tensorflow",), ("precision.tensorflow_tf32", "determinism.tensorflow_op_determinism",
                       "determinism.tensorflow_jit", "determinism.tensorflow_onednn", "threads.tensorflow_intraop",
                       "threads.tensorflow_interop")),
    (("tensorflow", "keras"), ("precision.tensorflow_policy",)),
    (("sklearn",), ("threads.scikit_learn",)),
)


def read(system: System, seen: Seen, readings: Readings) -> None:
    """Record conflicts of every mapped library, unvetted extensions, and what surely does not happen here."""
    environment = environment_of(system)
    loader = Loader(environment)
    for name, paths in environment.files.items():
        readings.attempt(f"libraries.{name}.conflicts", "loaded-library", lambda: conflicts(
            loader, name, paths, environment.parts.get(name, []), readings.facts))  # noqa: B023 - called at once
    for name in WITHIN_TORCH:
        path = f"libraries.{name}.conflicts"
        if isinstance(readings.facts.get(f"libraries.{name}.loaded"), str) and path not in readings.facts:
            readings.put(path, "torch", [])
    readings.attempt("libraries.unvetted_kernels", "loaded-library", lambda: unvetted(environment))
    _driver(environment.mapped, readings)
    _absent(system.loaded_modules(), seen, readings)


def _driver(mapped: list[str], readings: Readings) -> None:
    """Record the driver's library that is loaded; without one, what files tell stays."""
    paths = [path for path in mapped if stem_of(path) == "libcuda"]
    if len(paths) == 1:
        version, compat = described(paths[0])
        readings.put("driver.user_libcuda", "loaded-library", version)
        readings.put("driver.compat", "loaded-library", compat)


def _absent(modules: Any, seen: Seen, readings: Readings) -> None:
    """Record what a process surely does not do, from what it never imported. Only once it has computed."""
    if not seen.settled:
        return
    exchange = seen.group or readings.facts.get("collectives.backend")
    if exchange is None and not any(name in modules for name in _EXCHANGING):
        for name in ("backend", "topology", "nvls"):
            readings.put(f"collectives.{name}", "interpreter", None)
    if not any(name in modules for name in ("torch", "jax", "tensorflow")):
        readings.put("precision.autocast", "interpreter", None)
    for names, paths in _SET_BY:
        if not any(name in modules for name in names):
            for path in paths:
                if path not in readings.facts:
                    readings.put(path, "interpreter", None)
    readings.put("determinism.nondeterministic_kernels", "interpreter", kernels(modules, readings))


def kernels(modules: Any, readings: Readings) -> Any:
    """Return kernels without a deterministic form that may have run: none, or unread where nobody can tell.

    None where no framework with such kernels was imported, or where each that was is strict about them (it raises), has
    one thread to add with, or was not put to work.
    """
    if readings.facts.get("libraries.unvetted_kernels") != []:
        return unread("not-reported")
    if not any(name in modules for name in _FRAMEWORKS):
        return None
    harmless = _harmless(modules, readings.facts)
    torch = "torch" not in modules or "torch" in harmless
    outside = any(name in modules and name not in harmless for name in _OUTSIDE_TORCH)
    return [] if torch and not outside else unread("not-reported")


def _harmless(modules: Any, facts: dict[str, Any]) -> set[str]:
    """Return the frameworks that surely ran no kernel which adds in any order.

    TensorFlow before 2.8 took deterministic kernels where it had them, and the others all the same.
    """
    backend = facts.get("frameworks.backend")
    strict = facts.get("determinism.deterministic_algorithms") is True and facts.get("determinism.warn_only") is False
    alone = facts.get("threads.torch_intraop") == 1 and backend == "cpu"
    excluded = facts.get("determinism.xla_deterministic") is True and backend in ("cuda", "rocm")
    found = {"torch"} if strict or alone else set()
    if excluded or facts.get("program.layout.jax_devices", 0) is None:
        found.add("jax")
    if facts.get("determinism.tensorflow_op_determinism") is True and inprocess_tensorflow.strict(modules):
        found.add("tensorflow")
    if facts.get("threads.scikit_learn", 0) in (None, 1):
        found.add("sklearn")
    return found
