"""The files of numeric libraries that a loader could take, in the order in which it looks, without loading any.

Order: LD_LIBRARY_PATH, what the environment brings, conda's folder, the loader's cache. A framework whose file carries
the old RPATH has its own copies looked at first; one with a RUNPATH comes after LD_LIBRARY_PATH (ld.so(8)).
"""

from __future__ import annotations

import os

from . import distributions, elf
from .library_files import SEVERAL_ARE_USUAL, STEMS, distributions_of, library_of, version_in_name
from .places import Places

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from ..system import System
    from .look import Look

_CACHE = "/etc/ld.so.cache"
_CACHE_BYTES = 4 << 20
_MOST_FOLDERS = 32
_IN_CACHE = (*(f"/{stem}.so".encode() for stem in STEMS), b"openblas")
#: files of torch that need the libraries; the first that is there tells which interface versions it wants.
_OF_TORCH = ("libtorch_cuda.so", "libtorch_hip.so", "libtorch_cpu.so")
#: folders of wheels that tools for repairing wheels make.
_REPAIRED = ("numpy.libs", "scipy.libs", "scikit_learn.libs", "torch.libs")


class Candidate:
    """One file: where it lies, its version where one is known."""

    __slots__ = ("path", "place", "version", "wanted")

    def __init__(self, path: str, place: str, version: str | None, *, wanted: bool) -> None:
        self.path = path
        self.place = place
        self.version = version
        self.wanted = wanted

    def __str__(self) -> str:
        return f"{self.place} {self.version}" if self.version else self.place


class Candidates:
    """The candidates of every library in one environment."""

    def __init__(self, system: System, look: Look) -> None:
        self.system = system
        self.look = look
        interpreter = look.interpreter
        self.places = Places(system, (interpreter.prefix, interpreter.base_prefix), interpreter.path)
        self.needed, own_first = self._of_torch()
        self.found: dict[str, list[Candidate]] = {}
        self._seen: set[str] = set()
        given = list(self._given())
        own = list(self._own())
        for path in [*own, *given] if own_first else [*given, *own]:
            self._add(path)
        for path in [*self._conda(), *self._cached()]:
            self._add(path)

    def taken(self, name: str) -> Candidate | None:
        """Return the file that would be loaded: the first whose interface version is the one that is wanted."""
        return next((candidate for candidate in self.found.get(name, ()) if candidate.wanted), None)

    def build_id(self, name: str) -> str | None:
        """Return the build id of the file that would be loaded, where no other one comes into question."""
        wanted = [candidate for candidate in self.found.get(name, ()) if candidate.wanted]
        if len(wanted) != 1 or name in SEVERAL_ARE_USUAL:
            return None
        try:
            file = elf.read(self.system, wanted[0].path)
        except OSError:
            return None
        return file.build_id if file is not None else None

    def _add(self, path: str) -> None:
        name = library_of(path)
        real = self.system.realpath(path) if name is not None else ""
        if name is None or real in self._seen:
            return
        self._seen.add(real)
        place = self.places.of(real)
        wanted = self.needed.get(name)
        self.found.setdefault(name, []).append(Candidate(
            real, place, version_of_file(name, real) or self._installed(name, real),
            wanted=wanted is None or os.path.basename(path).startswith(wanted)))

    def _installed(self, name: str, path: str) -> str | None:
        """Return the version of the distribution that brings a file without one in its name."""
        if "/nvidia/" not in path and name != "triton":
            return None
        if not any(path.startswith(self.system.realpath(folder) + "/") for folder in self.look.interpreter.path):
            return None
        installed = distributions.first_by_name(self.system, self.look)
        return next((installed[key].version for key in distributions_of(name) if key in installed), None)

    def _listed(self, folder: str) -> Iterator[str]:
        try:
            names = self.system.list_dir(folder)
        except OSError:
            return
        yield from (f"{folder}/{entry}" for entry in names if entry.startswith("lib"))

    def _given(self) -> Iterator[str]:
        folders = self.system.environ.get("LD_LIBRARY_PATH", "").replace(";", ":").split(":")
        for folder in dict.fromkeys(filter(None, folders[:_MOST_FOLDERS])):
            if self.look.left_s() <= 0:
                return
            yield from self._listed(folder)

    def _own(self) -> Iterator[str]:
        for folder in self._wheel_folders():
            yield from self._listed(folder)
        triton = distributions.holding(self.system, self.look, "triton")
        if triton and self.system.exists(f"{triton}/triton/_C/libtriton.so"):
            yield f"{triton}/triton/_C/libtriton.so"

    def _wheel_folders(self) -> Iterator[str]:
        torch = distributions.holding(self.system, self.look, "torch")
        if torch:
            yield f"{torch}/torch/lib"
        nvidia = distributions.holding(self.system, self.look, "nvidia")
        if nvidia:
            try:
                entries = self.system.list_dir(f"{nvidia}/nvidia")
            except OSError:
                entries = []
            yield from (f"{nvidia}/nvidia/{entry}/lib" for entry in entries if entry[0] not in "._")
        for name in _REPAIRED:
            folder = distributions.holding(self.system, self.look, name)
            if folder:
                yield f"{folder}/{name}"

    def _conda(self) -> Iterator[str]:
        for prefix in self.places.conda:
            yield from self._listed(f"{prefix}/lib")

    def _cached(self) -> list[str]:
        """Return the files in the loader's cache: a table whose texts end with NUL, paths among them."""
        try:
            data = self.system.read_bytes(_CACHE, _CACHE_BYTES)
        except OSError:
            return []
        return paths_in_cache(data)

    def _of_torch(self) -> tuple[dict[str, str], bool]:
        """Return the file names that torch needs by library, and whether it looks beside itself first."""
        folder = distributions.holding(self.system, self.look, "torch")
        for name in _OF_TORCH if folder else ():
            try:
                file = elf.read(self.system, f"{folder}/torch/lib/{name}")
            except OSError:
                continue
            if file is not None:
                wanted = {library_of(needed): needed for needed in file.needed}
                return {key: value for key, value in wanted.items() if key}, bool(file.rpath)
        return {}, False


def version_of_file(name: str, path: str) -> str | None:
    """Return the version in a file's name; that of an OpenMP runtime or a BLAS is the interface's, not its own."""
    return None if name in SEVERAL_ARE_USUAL else version_in_name(path)


def paths_in_cache(data: bytes) -> list[str]:
    """Return the paths of numeric libraries in the loader's cache, in the order in which they stand there."""
    found: dict[int, str] = {}
    for stem in _IN_CACHE:
        at = data.find(stem)
        while at >= 0:
            start, end = data.rfind(b"\0", 0, at) + 1, data.find(b"\0", at)
            if data[start:start + 1] == b"/" and end > 0:
                found[start] = data[start:end].decode("utf-8", "replace")
            at = data.find(stem, at + 1)
    return [found[start] for start in sorted(found)]


def described(candidates: Candidates, name: str) -> dict[str, Any]:
    """Return the facts of a library that its candidates tell."""
    taken = candidates.taken(name)
    facts: dict[str, Any] = {"candidates": [str(candidate) for candidate in candidates.found.get(name, ())]}
    if taken is not None:
        facts["found"] = taken.place
        if taken.version is not None:
            facts["installed"] = taken.version
        build_id = candidates.build_id(name)
        if build_id is not None:
            facts["build_id"] = build_id
    return facts
