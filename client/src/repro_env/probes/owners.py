"""Which distribution a file belongs to, by the lists of files that installers leave (RECORD), and by editable installs.

A file that lies in a package's folder without standing in its list belongs to nobody: somebody put it there.
"""

from __future__ import annotations

import os

from . import distributions, known_distributions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from ..system import System
    from .distributions import Found

_RECORD_BYTES = 16 << 20
_FILE = "file://"
_SUFFIXES = (b".so", b".dylib", b".pyd")
#: answers of this process, by the path and the stamps of what decided them.
_KNOWN: dict[str, tuple[Any, Owner | None]] = {}
#: the distributions in each folder, by its stamp.
_FOLDERS: dict[str, tuple[Any, dict[str, Found]]] = {}


class Owner:
    """A distribution that owns a file, and how it was installed: index, conda, system, local, editable."""

    __slots__ = ("name", "version", "way")

    def __init__(self, name: str, version: str | None, way: str) -> None:
        self.name = name
        self.version = version
        self.way = way

    def __str__(self) -> str:
        return f"{self.name} {self.version}" if self.version else self.name


class Owners:
    """The distributions in the folders of one search path."""

    def __init__(self, system: System, folders: Iterable[str]) -> None:
        self.system = system
        self.folders: dict[str, dict[str, Found]] = {}
        self._stamps: list[Any] = []
        self._sources: list[tuple[str, Found]] | None = None
        for folder in folders:
            real = system.realpath(folder)
            if real not in self.folders:
                self._add(real)

    def _add(self, folder: str) -> None:
        try:
            stamp = self.system.stamp(folder)
            if _FOLDERS.get(folder, (None,))[0] != stamp:
                names = self.system.list_dir(folder)
                _FOLDERS[folder] = (stamp, distributions.in_folder(self.system, folder, names))
        except OSError:
            return
        self._stamps.append((folder, stamp))
        self.folders[folder] = _FOLDERS[folder][1]

    def version_of(self, names: Iterable[str]) -> str | None:
        """Return the version of the first of ``names`` that an import would find."""
        for name in names:
            for found in self.folders.values():
                if name in found:
                    return found[name].version
        return None

    def folder_of(self, path: str) -> str | None:
        """Return the folder of the search path that holds ``path``, the innermost where they lie in each other."""
        return max((folder for folder in self.folders if path.startswith(folder + "/")), key=len, default=None)

    def _beside(self, path: str) -> str | None:
        """Return the site folder of the environment whose ``lib`` folder holds ``path``: wheels put libraries there."""
        return next((folder for folder in self.folders if folder.endswith("/site-packages")
                     and path.startswith(os.path.dirname(os.path.dirname(folder)) + "/")), None)

    def of(self, paths: Iterable[str]) -> dict[str, Owner | None]:
        """Return the owner of each file, ``None`` for a file of nobody's. Each list of files is read once."""
        answers: dict[str, Owner | None] = {}
        pending: dict[str, list[str]] = {}
        for path in paths:
            known = _KNOWN.get(path)
            if known is not None and known[0] == self._stamps:
                answers[path] = known[1]
            else:
                pending.setdefault(self.folder_of(path) or self._beside(path) or "", []).append(path)
        for folder, files in pending.items():
            found = self._in_folder(folder, files) if folder else dict.fromkeys(files)
            found = {path: owner or self._editable(path) for path, owner in found.items()}
            _KNOWN.update({path: (self._stamps, owner) for path, owner in found.items()})
            answers.update(found)
        return answers

    def _in_folder(self, folder: str, paths: list[str]) -> dict[str, Owner | None]:
        """Look into the lists of the likely owners of each file first, then into all others of the folder."""
        left = {path[len(folder) + 1:] if path.startswith(folder + "/") else os.path.relpath(path, folder): path
                for path in paths}
        answers: dict[str, Owner | None] = dict.fromkeys(paths)
        found = self.folders[folder]
        likely: dict[str, list[str]] = {}
        for relative in left:
            for guess in _guesses(relative, found):
                likely.setdefault(guess, []).append(relative)
        for name in [*likely, *(name for name in found if name not in likely)]:
            files = [relative for relative in likely.get(name, left) if relative in left]
            listed = self._listed(found[name], files, sure=name in likely) if files else []
            if listed:
                owner = Owner(name, found[name].version, _way(self.system, found[name]))
                answers.update({left.pop(relative): owner for relative in listed})
        return answers

    def _listed(self, item: Found, files: Iterable[str], *, sure: bool) -> list[str]:
        """Return those of ``files`` that the distribution lists; without a list, those that its name stands for."""
        try:
            record = self.system.read_bytes(f"{item.metadata}/RECORD", _RECORD_BYTES)
        except OSError:
            return [name for name in files if sure and item.name in _guesses(name, {item.name: item})]
        return _in_record(record, files)

    def _editable(self, path: str) -> Owner | None:
        """Return the distribution that is installed from a source folder around ``path``."""
        if self._sources is None:
            self._sources = [(source, item) for found in self.folders.values() for item in found.values()
                             for source in self._source(item)]
        return next((Owner(item.name, item.version, "editable") for source, item in self._sources
                     if path.startswith(source)), None)

    def _source(self, item: Found) -> list[str]:
        """Return the folder that a distribution is installed from in place; empty for one that was copied."""
        if item.metadata.endswith(".egg-link"):
            return [self.system.realpath(item.folder) + "/"]
        try:
            record = distributions.direct_url(self.system, item)
            url, editable = str(record["url"]), record["dir_info"]["editable"] is True
        except (OSError, ValueError, KeyError, TypeError):
            return []
        from urllib.parse import unquote

        return [self.system.realpath(unquote(url[len(_FILE):])).rstrip("/") + "/"] if editable else []


def _in_record(record: bytes, files: Iterable[str]) -> list[str]:
    """Return those of ``files`` that have a line in a RECORD.

    The list of a framework has megabytes, nearly all of them headers: only lines with such a suffix are looked at.
    """
    wanted = {name: name.encode("utf-8", "surrogateescape") for name in files}
    listed: set[bytes] = set()
    for suffix in _SUFFIXES:
        if any(suffix in line for line in wanted.values()):
            listed.update(_lines_with(suffix, record))
    return [name for name, line in wanted.items() if line in listed]


def _lines_with(suffix: bytes, record: bytes) -> Iterator[bytes]:
    """Yield the first field of each line that ``suffix`` occurs in."""
    at = record.find(suffix)
    while at >= 0:
        end = record.find(b"\n", at)
        end = len(record) if end < 0 else end
        yield record[record.rfind(b"\n", 0, at) + 1:end].partition(b",")[0]
        at = record.find(suffix, end)


def _way(system: System, item: Found) -> str:
    """Return how a distribution was installed. Packages of conda carry the record of the folder they were built in."""
    try:
        if system.read_text(f"{item.metadata}/INSTALLER", 64).strip() == "conda":
            return "conda"
    except OSError:
        if item.folder.startswith("/usr/lib/"):
            return "system"
        if system.is_dir(f"{item.folder}/../../../conda-meta"):
            return "conda"
    origin = distributions.origin(system, item)
    if origin["editable"] is True:
        return "editable"
    local = isinstance(origin["origin"], str) and not origin["origin"].endswith(".whl")
    return "local" if local or item.metadata.endswith(".egg-info") else "index"


def _guesses(relative: str, found: dict[str, Found]) -> list[str]:
    """Return the distributions that a file likely belongs to, by the folder or module that it lies in."""
    top = relative.partition("/")[0]
    if top == "nvidia":
        return [name for name in found if name.startswith("nvidia-")]
    module = top.removesuffix(".libs") if "/" in relative else top.partition(".")[0]
    name = distributions.normalised(module)
    return [guess for guess in (name, *known_distributions.OF_MODULE.get(module, ())) if guess in found]
