"""What is wrong with a loaded library: a second copy, another one than installed or built against, a forced one.

Codes, in the order of the document: two-copies, shadowed, preloaded, not-installed, not-compiled-against.
"""

from __future__ import annotations

import os
import re

from .library_files import SEVERAL_ARE_USUAL, distributions_of, library_of, stem_of, wheel_folders

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .inprocess_libraries import Environment

#: libraries whose vendor promises that a program runs with a newer minor version than it was built with, not an older.
_BUILT_AGAINST = ("cuda_runtime", "cudnn", "nccl")


class Loader:
    """What steered the loader in this process: the two variables as they were when it started.

    Setting them later, as many programs do for themselves, reaches children only.
    """

    def __init__(self, environment: Environment) -> None:
        system = self.system = environment.system
        self.environment = environment
        preload = re.split(r"[:\s]+", system.initial_variable("LD_PRELOAD") or "")
        self.preload = [entry for entry in preload if entry]
        folders = re.split(r"[:;]", system.initial_variable("LD_LIBRARY_PATH") or "")
        self.folders = {system.realpath(entry) for entry in folders if entry}

    def preloaded(self, paths: list[str]) -> bool:
        """Tell whether LD_PRELOAD brought one of the mapped files; an entry may be a path or a bare name."""
        return any(self.system.realpath(entry) in paths if "/" in entry else
                   any(path.rpartition("/")[2].startswith(entry) for path in paths) for entry in self.preload)

    def shadowed(self, name: str, folders: set[str]) -> bool:
        """Tell whether LD_LIBRARY_PATH supplied a library that the environment brings itself."""
        if not folders & self.folders:
            return False
        own = {folder for folder in self._own_folders(name) if self._holds(folder, name)}
        return bool(own) and not own & folders

    def _own_folders(self, name: str) -> list[str]:
        environment = self.environment
        below = [f"{folder}/{part}" for folder in environment.owners.folders for part in wheel_folders(name)]
        return [self.system.realpath(folder) for folder in below if self.system.is_dir(folder)] + [
            f"{prefix}/lib" for prefix in environment.places.conda]

    def _holds(self, folder: str, name: str) -> bool:
        try:
            return any(library_of(f"{folder}/{entry}") == name for entry in self.system.list_dir(folder))
        except OSError:
            return False


def conflicts(loader: Loader, name: str, paths: list[str], parts: list[str], facts: dict[str, Any]) -> list[str]:
    """Return the codes for a library with the mapped main files ``paths`` and further ``parts``."""
    version, compiled = (facts.get(f"libraries.{name}.{fact}") for fact in ("loaded", "compiled_against"))
    installed = loader.environment.owners.version_of(distributions_of(name))
    codes = (
        ("two-copies", several(name, paths, parts)),
        ("shadowed", loader.shadowed(name, set(map(os.path.dirname, paths)))),
        ("preloaded", loader.preloaded([*paths, *parts])),
        ("not-installed", any(differs(each, installed) for each in _each(version))),
        ("not-compiled-against", name in _BUILT_AGAINST and any(misses(each, compiled) for each in _each(version))),
    )
    return [code for code, holds in codes if holds]


def several(name: str, paths: list[str], parts: list[str]) -> bool:
    """Tell whether a file of the library is mapped twice, or its parts come from different folders."""
    if name in SEVERAL_ARE_USUAL:
        return False
    files = {*paths, *parts}
    return len({stem_of(path) for path in files}) < len(files) or len(set(map(os.path.dirname, files))) > 1


def differs(version: str, other: Any) -> bool:
    """Tell whether two versions disagree in the parts that both state: ``9.1.0`` and ``9.1.0.70`` do not."""
    left, right = release(version), release(other)
    shared = min(len(left), len(right))
    return bool(shared) and left[:shared] != right[:shared]


def misses(version: str, compiled: Any) -> bool:
    """Tell whether a loaded library is of another major version, or older, than the one that was built against."""
    have, want = release(version)[:2], release(compiled)[:2]
    return len(have) == len(want) == 2 and (have[0] != want[0] or have < want)


def release(version: Any) -> tuple[int, ...]:
    """Return the numbers at the start of a version; empty for what is none."""
    match = re.match(r"\d+(\.\d+)*", version) if isinstance(version, str) else None
    return tuple(map(int, match.group().split("."))) if match else ()


def _each(version: Any) -> list[str]:
    """Return the versions in a text in which those of several copies stand side by side."""
    return version.split(", ") if isinstance(version, str) else []
