"""What one look at a process leaves for the next: facts that cannot change while the process lives.

A second look then costs what changes only. Nothing that failed is kept, and nothing outlives a change of the folders
that imports come from.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .probes.look import Look
    from .system import System

#: sections that are fixed once a process runs; the code is what it was when the program began.
LASTING = frozenset(("python", "system", "cpu", "container", "distributions", "accelerators", "driver", "frameworks",
                     "libraries", "program.source"))

#: how the names of metadata end.
METADATA = (".dist-info", ".egg-info", ".egg-link")


class Memory:
    """Sections by path, with the sources and circumstances noted beside them, and states of working trees."""

    def __init__(self) -> None:
        self._sections: dict[str, tuple[dict[str, Any], _Noted]] = {}
        self._place: tuple[Any, ...] | None = None
        self.differences: dict[str, dict[str, Any]] = {}  #: ``dirty`` and ``diff_digest`` by working tree

    def open(self, system: System) -> None:
        """Forget the sections where a folder of the path was added or taken away, or what is installed in one."""
        place = tuple((folder, _installed(system, folder)) for folder in system.interpreter()["search_path"])
        if place != self._place:
            self._sections.clear()
            self._place = place

    def recall(self, path: str, look: Look) -> dict[str, Any] | None:
        """Return a section from an earlier look and note beside ``look`` what was noted there; ``None`` without one."""
        if path not in self._sections:
            return None
        facts, noted = self._sections[path]
        look.sources.update(noted.sources)
        look.circumstances.update(noted.circumstances)
        look.device_ids = noted.device_ids if look.device_ids is None else look.device_ids
        return dict(facts)

    def keep(self, path: str, facts: dict[str, Any], noted: _Noted) -> None:
        """Keep a section that was read without a fault."""
        if path in LASTING and not noted.failed:
            self._sections[path] = (dict(facts), noted)


def _installed(system: System, folder: str) -> tuple[str, ...]:
    try:
        return tuple(name for name in system.list_dir(folder) if name.endswith(METADATA))
    except OSError:
        return ()


class _Noted:
    """What a probe noted beside its facts: the difference between ``look`` before and after it."""

    __slots__ = ("circumstances", "device_ids", "failed", "sources")

    def __init__(self, look: Look, before: Noting) -> None:
        self.sources = _added(before.sources, look.sources)
        self.circumstances = _added(before.circumstances, look.circumstances)
        self.device_ids = look.device_ids
        self.failed = len(look.errors) > before.errors


class Noting:
    """Marks where a probe begins, to tell afterwards what it noted."""

    __slots__ = ("circumstances", "errors", "sources")

    def __init__(self, look: Look) -> None:
        self.sources = dict(look.sources)
        self.circumstances = dict(look.circumstances)
        self.errors = len(look.errors)

    def done(self, look: Look) -> _Noted:
        """Return what was noted since."""
        return _Noted(look, self)


def _added(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in after.items() if before.get(name, _MISSING) != value}


_MISSING = object()
