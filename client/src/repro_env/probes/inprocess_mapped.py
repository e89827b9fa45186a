"""What the mapped files of this process tell beyond versions: conflicts between copies, extensions nobody vetted.

And what a process surely does not do, from what it never imported.
"""

from __future__ import annotations

import os
import re
import sys

from ..fingerprint.facts import unread
from .inprocess_libraries import LIBRARIES, WITHIN_TORCH, build_id, note

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..system import System
    from .inprocess import Readings, Seen

#: NumPy and SciPy each bring their own, torch a third: several copies are the rule, each with its pool in ``threads``.
_SEVERAL_ARE_USUAL = frozenset({"openblas", "openmp"})
LIBRARIES_BY_NAME = {name: pattern for name, pattern, _ in LIBRARIES}
#: folder of each library below ``nvidia`` in the wheels' layout, where it is not the section's key.
_WHEEL_FOLDER = {"nvrtc": "cuda_nvrtc"}
#: modules with kernels that add in any order unless a switch forbids it.
_FRAMEWORKS = ("torch", "jax", "tensorflow", "sklearn", "numba", "cupy")
#: modules whose kernels do not follow torch's deterministic mode.
_OUTSIDE_TORCH = ("jax", "tensorflow", "sklearn", "numba", "cupy", "flash_attn", "flash_attn_interface", "xformers",
                  "apex", "transformer_engine", "deepspeed", "mamba_ssm", "torch_scatter", "torch_sparse",
                  "torch_cluster")
#: modules by which ranks exchange numbers without torch.distributed.
_EXCHANGING = ("mpi4py.MPI", "horovod", "jax.distributed", "oneccl_bindings_for_pytorch")
_SYSTEM_FOLDERS = ("/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "/usr/lib32/", "/usr/local/lib/", "/usr/local/cuda")
_EXTENSION = re.compile(r"\.(so(\.[0-9.]+)?|dylib|pyd)$")
#: products of compilation at run time: whether and how a program compiles is a fact of its own.
_COMPILED = re.compile(r"/(torchinductor_[^/]*|\.triton|triton)/")


def read(system: System, seen: Seen, readings: Readings) -> None:
    """Record conflicts of every mapped library, unvetted extensions, and what surely does not happen here."""
    mapped = system.mapped_files()
    for name, pattern, _ in LIBRARIES:
        paths = [path for path in mapped if re.search(pattern, path)]
        if paths:
            readings.attempt(f"libraries.{name}.conflicts", "loaded-library",
                             lambda: conflicts(system, name, pattern, paths))  # noqa: B023 - called at once
    blas = [path for path in mapped if re.search(LIBRARIES_BY_NAME["openblas"], path)]
    if blas:
        readings.attempt("libraries.openblas.build_id", "loaded-library", lambda: file_identities(system, blas))
    for name in WITHIN_TORCH:
        path = f"libraries.{name}.conflicts"
        if isinstance(readings.facts.get(f"libraries.{name}.loaded"), str) and path not in readings.facts:
            readings.put(path, "torch", [])
    readings.attempt("libraries.unvetted_kernels", "loaded-library", lambda: unvetted(system, mapped))
    _absent(system.loaded_modules(), seen, readings)


def conflicts(system: System, name: str, pattern: str, paths: list[str]) -> list[str]:
    """Return codes for the mapped ``paths`` of one library: two-copies, preloaded, shadowed (in this order)."""
    codes = []
    folders = {os.path.dirname(path) for path in paths}
    if len(folders) > 1 and name not in _SEVERAL_ARE_USUAL:
        codes.append("two-copies")
    preload = re.split(r"[:\s]+", system.environ.get("LD_PRELOAD", ""))
    if any(re.search(pattern, "/" + entry.lstrip("/")) for entry in preload if entry):
        codes.append("preloaded")
    search_path = {system.realpath(entry) for entry in system.environ.get("LD_LIBRARY_PATH", "").split(":") if entry}
    wheel = f"/nvidia/{_WHEEL_FOLDER.get(name, name)}/lib"
    if folders & search_path and any(system.exists(entry + wheel) and system.realpath(entry + wheel) not in folders
                                     for entry in sys.path if entry):
        codes.append("shadowed")
    return codes


def file_identities(system: System, paths: list[str]) -> str:
    """Return build id, else file name and size in bytes, of each file, sorted.

    A BLAS of one version differs between builders. Wheels give the file a name that holds a digest of its content, so
    name and size stand in where the build id was dropped; a digest of 25 MB would cost more than all other looks.
    """
    return ", ".join(sorted({note(system, path) or f"{os.path.basename(path)} {system.size(path)}" for path in paths}))


def unvetted(system: System, mapped: list[str]) -> list[str]:
    """Return ``file@build-id`` of every mapped extension outside interpreter, system folders and site folders.

    Extensions within a site folder belong to a distribution, which has its own facts. What is left was built on the
    spot or put there by hand.
    """
    homes = tuple({system.realpath(prefix) + "/" for prefix in (sys.prefix, sys.base_prefix)})
    found = []
    for path in mapped:
        if not _EXTENSION.search(path) or "/site-packages/" in path or "/dist-packages/" in path:
            continue
        if path.startswith(_SYSTEM_FOLDERS) or path.startswith(homes) or _COMPILED.search(path):
            continue
        found.append(f"{os.path.basename(path)}@{build_id(system, path)}")
    return sorted(found)


def _absent(modules: Any, seen: Seen, readings: Readings) -> None:
    """Record what a process surely does not do, from what it never imported. Only once it has computed."""
    if not seen.settled:
        return
    if seen.group is None and not any(name in modules for name in _EXCHANGING):
        for name in ("backend", "topology", "nvls"):
            readings.put(f"collectives.{name}", "interpreter", None)
    if not any(name in modules for name in ("torch", "jax", "tensorflow")):
        readings.put("precision.autocast", "interpreter", None)
    readings.put("determinism.nondeterministic_kernels", "interpreter", kernels(modules, readings))


def kernels(modules: Any, readings: Readings) -> Any:
    """Return kernels without a deterministic form that may have run: none, or unread where nobody can tell.

    None where no framework with such kernels was imported, or where torch was strict about them (it raises) or had
    one thread to add with, and nothing beside torch brings its own.
    """
    if readings.facts.get("libraries.unvetted_kernels") != []:
        return unread("not-reported")
    if not any(name in modules for name in _FRAMEWORKS):
        return None
    strict = (readings.facts.get("determinism.deterministic_algorithms") is True
              and readings.facts.get("determinism.warn_only") is False)
    alone = readings.facts.get("threads.torch_intraop") == 1 and readings.facts.get("frameworks.backend") == "cpu"
    outside = any(name in modules for name in _OUTSIDE_TORCH)
    return [] if (strict or alone) and not outside else unread("not-reported")
