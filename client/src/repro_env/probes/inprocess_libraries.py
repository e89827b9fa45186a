"""Which numeric libraries are loaded in this process: version as each says itself, where its file lies, which build.

Only files already mapped are asked, by handles that load nothing and are given back; no device is started for asking.
A library that is not mapped is not loaded: ``null``, once the program has computed.
"""

from __future__ import annotations

import re

from ..fingerprint.facts import unread
from . import elf
from .keys import LIBRARIES
from .library_files import (
    SEVERAL_ARE_USUAL,
    by_library,
    distributions_of,
    stem_of,
    version_in_name,
)
from .library_questions import FRONTS, QUESTIONS
from .owners import Owners
from .places import Places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..system import System
    from .inprocess import Readings, Seen
    from .owners import Owner


class Environment:
    """The files mapped at one look, the folders this process imports from, and who owns what lies in them."""

    def __init__(self, system: System) -> None:
        self.mapped = system.mapped_files()
        self.files, self.parts = by_library(self.mapped)
        groups = [*self.files.values(), *self.parts.values()]
        self.described = {path for paths in groups for path in paths}  #: files with facts of their own
        own = system.interpreter()
        path = [folder for folder in own["search_path"] if folder and system.is_dir(folder)]
        self.system = system
        self.owners = Owners(system, path)
        self.places = Places(system, (own["prefix"], own["base_prefix"]), path)

        self.own = tuple(f"{system.realpath(prefix)}/lib/{start}" for prefix in (own["prefix"], own["base_prefix"])
                         for start in ("python", "libpython")) + tuple(f"{prefix}/lib/" for prefix in self.places.conda)

    def to_own(self) -> list[str]:
        """Return the files whose owners this look asks for, so that each list of files is read once."""
        sites = tuple(folder + "/" for folder in self.owners.folders if folder.endswith("-packages"))
        libraries = [path for paths in self.files.values() for path in paths]
        return libraries + [path for path in self.mapped if path.startswith(sites) and ".so" in path]

    def place(self, path: str, owner: Owner | None) -> str:
        """Return the class of a mapped file; one that nobody put into a site folder is the user's own."""
        place = self.places.of(path)
        if place == "wheel":
            return "user" if owner is None else owner.way if owner.way in ("conda", "system") else place
        copied = owner is not None and owner.way in ("index", "local") and not path.startswith(self.places.user)
        return "wheel" if copied and place in ("user", "system") else place


#: the environment of the latest look, for the readers of that look to share.
_LATEST: list[tuple[System, Environment]] = []


def environment_of(system: System) -> Environment:
    """Return the environment that this look is about."""
    if not _LATEST or _LATEST[0][0] is not system:
        _LATEST[:] = [(system, Environment(system))]
    return _LATEST[0][1]


def read(system: System, seen: Seen, readings: Readings) -> None:
    """Record what is known of every loaded library, and which are not loaded."""
    torch = system.loaded_modules().get("torch")
    environment = environment_of(system)
    _compiled_against(torch, readings)
    owners = environment.owners.of(environment.to_own())
    begun = started(torch)
    for name in LIBRARIES:
        readings.attempt(f"libraries.{name}.loaded", "loaded-library",
                         lambda: loaded(environment, name, gpu_started=begun))  # noqa: B023 - called at once
    for name, paths in environment.files.items():
        _describe(environment, name, {path: owners[path] for path in paths}, readings)
    _within_torch(environment, torch, readings)
    runtimes = environment.files.get("openmp", [])
    if runtimes:
        readings.attempt("libraries.openmp.loaded", "loaded-library", lambda: openmp(system, runtimes))


def _compiled_against(torch: Any, readings: Readings) -> None:
    """Record the runtimes that torch was compiled against, from its version module."""
    version = getattr(torch, "version", None)
    for name, field in (("cuda_runtime", "cuda"), ("hip_runtime", "hip")):
        value = getattr(version, field, None)
        if isinstance(value, str) and f"libraries.{name}.compiled_against" not in readings.facts:
            readings.put(f"libraries.{name}.compiled_against", "torch", value.partition("-")[0])


def _describe(environment: Environment, name: str, files: dict[str, Owner | None], readings: Readings) -> None:
    """Record place, build and distribution of the mapped files of one library; what differs stands side by side."""
    base = f"libraries.{name}"
    readings.attempt(f"{base}.found", "loaded-library", lambda: joined(
        environment.place(path, owner) for path, owner in files.items()))
    readings.attempt(f"{base}.build_id", "loaded-library", lambda: joined(
        elf.identity(environment.system, path) for path in files))
    bringing = distributions_of(name)
    versions = [owner.version for owner in files.values() if owner is not None and owner.name in bringing]
    told = joined(versions)
    if not versions and environment.owners.version_of(bringing) is None \
            and "conda" not in str(readings.facts[f"{base}.found"]) and name not in SEVERAL_ARE_USUAL:
        told = joined(map(version_in_name, files))
    if told:
        readings.put(f"{base}.installed", "distribution-metadata" if versions else "files", told)
    if name == "triton" and versions:
        readings.put(f"{base}.loaded", "distribution-metadata", joined(versions) or unread("not-reported"))


def loaded(environment: Environment, name: str, *, gpu_started: bool) -> Any:
    """Return the version the mapped files report, several in order where copies differ; ``None`` without any.

    Unread ``not-loaded`` where only the front of a library is mapped: nothing of it can have computed.
    """
    if name not in environment.files:
        return None
    asked = askable(name, environment.files[name], environment.parts.get(name, []))
    if not asked or (not gpu_started and any(_starts_when_asked(name, path) for path in asked)):
        return unread("not-loaded")
    question = QUESTIONS.get(name)
    answers = [environment.system.ask_library(path, question) for path in asked if question]
    return joined(answers) or unread("not-reported")


def askable(name: str, paths: list[str], parts: list[str]) -> list[str]:
    """Return the files that answer without loading others: the parts behind a front, else the main files."""
    if name not in FRONTS:
        return paths
    behind = [path for path in [*paths, *parts] if stem_of(path) in FRONTS[name]]
    return behind or [path for path in paths if ".so.7" in path]  # cuDNN 7 is one file


def _starts_when_asked(name: str, path: str) -> bool:
    """Tell whether the question itself starts the driver: any call of HIP, and the CUDA runtime before 12."""
    return name == "hip_runtime" or (name == "cuda_runtime" and (".so.11" in path or ".so.10" in path))


def started(torch: Any) -> bool:
    """Tell whether the program has started its accelerator, as torch says it."""
    asked = getattr(getattr(torch, "cuda", None), "is_initialized", None)
    return bool(asked()) if asked is not None else False


def joined(values: Any) -> str:
    """Return the distinct values in order, as one text."""
    return ", ".join(sorted({str(value) for value in values if value}))


def torch_reports(torch: Any) -> str:
    """Return torch's own words on what is linked into it; empty where it was not imported.

    Not its report on the whole build: where that has devices it counts them, which starts the driver.
    """
    config = getattr(torch, "__config__", None)
    if config is None or not hasattr(config, "parallel_info"):
        return ""
    return str(config.parallel_info())


def found(pattern: str, text: str) -> str | None:
    """Return the first group of the first match."""
    match = re.search(pattern, text)
    return match.group(1) if match else None


def openmp(system: System, paths: list[str]) -> str:
    """Return kind and build id of each OpenMP runtime, sorted: these libraries report no version of their own."""
    return joined(f"{stem_of(path)[3:]} {elf.build_id(system, path)[:19]}" for path in paths)


def _within_torch(environment: Environment, torch: Any, readings: Readings) -> None:
    """Record the libraries that torch carries inside, from its own words: they lie in its file."""
    reports = torch_reports(torch)
    holder = next((path for path in environment.mapped if stem_of(path) == "libtorch_cpu"), None)
    for name, pattern in WITHIN_TORCH.items():
        version = found(pattern, reports)
        if not version:
            continue
        asked = readings.facts.get(f"libraries.{name}.loaded")
        readings.put(f"libraries.{name}.loaded", "torch", joined((version, asked if isinstance(asked, str) else None)))
        if holder is not None and f"libraries.{name}.found" not in readings.facts:
            _describe(environment, name, environment.owners.of([holder]), readings)


#: libraries that torch carries inside, and its words on them.
WITHIN_TORCH = {"mkl": r"Math Kernel Library Version (\S+?)-Product", "onednn": r"MKL-DNN v(\S+)"}
