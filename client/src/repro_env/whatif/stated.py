"""What short facts state so far: facts by path, devices, distributions. What is stated wins over what follows."""

from __future__ import annotations

from typing import Any

from ..comparability.reading import PROGRAM_SECTIONS
from ..errors import UsageError
from ..importers import inventory
from ..importers.devices import order
from ..importers.rows import Row
from ..probes.keys import ACCELERATOR, FRAMEWORK, FRAMEWORKS, LIBRARIES, LIBRARY, SECTIONS, blank_of

_DEVICE = "accelerators.devices."
_UNREAD_FRAMEWORK = dict.fromkeys(FRAMEWORKS, FRAMEWORK)
#: path of an object within a section -> its keys.
_OBJECTS = {**{f"libraries.{name}": LIBRARY for name in LIBRARIES},
            **{f"frameworks.{name}": keys for name, keys in _UNREAD_FRAMEWORK.items()}}


class Stated:
    """Collects facts by dotted path, as rules read them."""

    def __init__(self) -> None:
        self.facts: dict[str, Any] = {}
        self.derived: dict[str, Any] = {}
        self.names: list[str] = []  #: the devices as they were called
        self.no_device = False  #: there are surely none
        self.full = False  #: float32 is the arithmetic that is asked for
        self.count: int | None = None
        self.cuda: tuple[str | None] | None = None  #: CUDA version of a build, ``(None,)`` for a build without
        self.device: dict[str, Any] = {}  #: facts stated of every device
        self.rows: list[Row] = []
        self.doubts: list[str] = []  #: what was only partly understood
        self._by: dict[str, str] = {}
        self._notes: list[str] = []

    def put(self, key: str, path: str, value: Any) -> None:
        """State one fact; raise ``UsageError`` where another value of it was stated."""
        if path.startswith(_DEVICE):
            self._once(key, path, self.device.get(path[len(_DEVICE):], value), value)
            self.device[path[len(_DEVICE):]] = value
            return
        self._once(key, path, self.facts.get(path, value), value)
        self.facts[path] = value

    def claim(self, key: str, path: str) -> None:
        """Mark a path as stated by ``key``; raise ``UsageError`` where another statement has it already."""
        self._once(key, path, None, key)

    def _once(self, key: str, path: str, before: Any, value: Any) -> None:
        if path in self._by and before != value:
            other = self._by[path]
            twice = f"{key} is stated twice" if other == key else f"{other} and {key} state different values of {path}"
            raise UsageError(f"facts: {twice}; one of them has to go")
        self._by[path] = key

    def follows(self, path: str, value: Any) -> None:
        """Add a fact that surely follows from stated ones, where none stated it."""
        self.derived.setdefault(path, value)

    def note(self, words: str) -> None:
        """Keep in words what was taken for what."""
        self._notes.append(words)

    def doubt(self, words: str) -> None:
        """Keep what was only partly understood, to be said aloud."""
        self.doubts.append(words)
        self.note(words)

    def row(self, key: str, name: str, version: str | None) -> None:
        """State one installed distribution."""
        self._once(key, f"distributions.installed.{name}", self.version(name) or version, version)
        if self.version(name) is None:
            self.rows.append(inventory.pip_row(name, version))

    def version(self, name: str) -> str | None:
        """Return the version stated of a distribution."""
        return next((row.version for row in self.rows if row.name == name), None)

    def has(self, path: str) -> bool:
        """Tell whether a fact was stated."""
        return path in self.facts

    def notes(self) -> list[str]:
        """Return what was taken for what."""
        return list(dict.fromkeys(self._notes))

    def sections(self) -> dict[str, dict[str, Any]]:
        """Return everything stated and what follows, as an importer gives it."""
        sections: dict[str, dict[str, Any]] = inventory.sections(self.rows, []) if self.rows else {}
        for facts in (self.derived, self.facts):
            for path, value in facts.items():
                _set(sections, path, value)
        return sections

    def devices(self, made: list[dict[str, Any]]) -> None:
        """Set the devices, each with the facts stated of all, in canonical order."""
        full = [{**blank_of(ACCELERATOR, "not-recorded"), **device, **self.device} for device in made]
        self.facts["accelerators.devices"] = sorted(full, key=order)


def _set(sections: dict[str, dict[str, Any]], path: str, value: Any) -> None:
    """Set the fact at ``path``, within the object or the map that it belongs to."""
    section, _, rest = path.partition(".")
    place = sections.setdefault(f"program.{section}" if section in PROGRAM_SECTIONS else section, {})
    name, _, inner = rest.partition(".")
    if not inner:
        place[name] = value
        return
    keys = _OBJECTS.get(f"{section}.{name}")
    held = place.get(name)
    if not isinstance(held, dict) or "unread" in held:
        held = blank_of(keys, "not-recorded") if keys else {}
    field, _, item = inner.partition(".")
    if item and keys:
        within = held.get(field)
        value = {**(within if isinstance(within, dict) and "unread" not in within else {}), item: value}
        place[name] = {**held, field: value}
    else:
        place[name] = {**held, (field if keys else inner): value}


#: sections that can be named, without the part.
NAMES = frozenset(path.rpartition(".")[2] for path in SECTIONS)
