"""A document as rules read it: values by dotted path, and a clear signal when a fact was not read."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Callable, TypeVar

from ..fingerprint.facts import is_unread
from .levels import Scope

#: vantages from which program-set facts can be seen.
PROCESS_VANTAGES = frozenset({"process", "exit"})
#: sections of the program part; every other first step of a path is a section of the stack.
PROGRAM_SECTIONS = frozenset({"source", "random", "data", "layout", "model", "declared"})


Kept = TypeVar("Kept")


class Missing(Exception):
    """A rule needs a fact that was not read; ``facts`` maps each such path to its unread code."""

    def __init__(self, facts: dict[str, str]) -> None:
        super().__init__(", ".join(facts))
        self.facts = facts


class Facts:
    """One side of a verdict. Reading never changes it; a document without a key reads as ``not-recorded``."""

    __slots__ = ("_found", "_installed", "_kept", "program", "scope", "stack", "vantage")

    def __init__(self, stack: dict[str, Any], program: dict[str, Any], vantage: str) -> None:
        self.stack = stack
        self.program = program
        self.vantage = vantage
        #: the scope this side allows.
        self.scope = Scope.PROCESS if vantage in PROCESS_VANTAGES else Scope.STACK
        self._installed: dict[str, list[dict[str, Any]]] | None = None
        self._kept: dict[str, Any] = {}
        self._found: dict[str, Any] = {}  #: facts looked at before: a projection asks for some of them often

    @classmethod
    def of(cls, document: dict[str, Any]) -> Facts:
        """Return the view on a validated document, or on a sparse one: what it does not say is unread."""
        capture = document.get("capture") or {}
        return cls(document.get("stack") or {}, document.get("program") or {}, capture.get("vantage", "import"))

    def look(self, path: str) -> Any:
        """Return the fact at ``path`` as it stands: a value, ``None``, or the unread object.

        Below an absent or unread value everything is absent or unread in the same way.
        """
        try:
            return self._found[path]
        except KeyError:
            value = self._found[path] = self._look(path)
            return value

    def _look(self, path: str) -> Any:
        part, section, *steps = _steps(path)
        value: Any = (self.program if part == "program" else self.stack).get(section, _NOT_RECORDED)
        for step in steps:
            if value is None or (len(value) == 1 and "unread" in value):
                return value
            value = value.get(step, _NOT_RECORDED)
        return value

    def read(self, path: str) -> Any:
        """Return the captured value at ``path`` or ``None`` for surely absent; raise ``Missing`` when unread."""
        value = self._found[path] if path in self._found else self.look(path)
        if value.__class__ is dict and is_unread(value):
            raise Missing({path: value["unread"]})
        return value

    def read_all(self, *paths: str) -> tuple[Any, ...]:
        """Return several facts; raise one ``Missing`` naming all that are unread."""
        values = [self.look(path) for path in paths]
        lacking = {path: value["unread"] for path, value in zip(paths, values) if is_unread(value)}
        if lacking:
            raise Missing(lacking)
        return tuple(values)

    def known(self, path: str) -> bool:
        """Tell whether the fact was read (absent counts as read)."""
        return not is_unread(self.look(path))

    def once(self, name: str, read: Callable[[Facts], Kept]) -> Kept:
        """Return what ``read`` makes of this side, made once; what it lacks is raised each time."""
        if name not in self._kept:
            self._kept[name] = read(self)
        kept: Kept = self._kept[name]
        return kept

    def get(self, path: str, default: Any = None) -> Any:
        """Return the fact, or ``default`` where it is unread. Only for choices that need no certainty."""
        value = self.look(path)
        return default if is_unread(value) else value

    def distribution(self, name: str) -> dict[str, Any] | None:
        """Return the distribution ``name`` that comes first on the path, ``None`` when it is not listed.

        Raise ``Missing`` where the list is unread, or where several are listed and it is unread which comes first.
        """
        found = (self._list_installed() if self._installed is None else self._installed).get(name)
        if found is None:
            return None
        if len(found) == 1:
            return found[0]
        hidden = [item.get("shadowed", _NOT_RECORDED) for item in found]
        unread = [value["unread"] for value in hidden if is_unread(value)]
        if unread:
            raise Missing({"distributions.installed.shadowed": unread[0]})
        return next((item for item, shadowed in zip(found, hidden) if not shadowed), None)

    def _list_installed(self) -> dict[str, list[dict[str, Any]]]:
        listed: dict[str, list[dict[str, Any]]] = {}
        for item in self.read("distributions.installed") or ():
            listed.setdefault(item["name"], []).append(item)
        self._installed = listed
        return listed

    def variable(self, name: str) -> str | None:
        """Return the environment variable ``name`` or ``None`` when surely unset; raise ``Missing`` when unread."""
        values = self.read("variables.values")
        value: Any = _NOT_RECORDED if values is None else values.get(name, _NOT_RECORDED)
        if is_unread(value):
            raise Missing({f"variables.values.{name}": value["unread"]})
        text: str | None = value
        return text


_NOT_RECORDED = {"unread": "not-recorded"}


@lru_cache(maxsize=4096)
def _steps(path: str) -> tuple[str, ...]:
    """Split a path into its part and its steps."""
    section, *steps = path.split(".")
    return ("program" if section in PROGRAM_SECTIONS else "stack", section, *steps)
