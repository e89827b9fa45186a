"""What every importer takes and gives: a pasted text in two forms, and the facts that one format states.

An importer is a module with ``NAME``, ``MADE_BY`` (how one makes such a text) and ``read``. It owns one format, reads
nothing but the text, and leaves unread what the text does not state.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any


@dataclass(frozen=True)
class Text:
    """A pasted text."""

    raw: str  #: as it came, for formats that are JSON or YAML
    lines: tuple[str, ...]  #: ``plain.lines`` of it: without escapes, quotes, markup, time stamps and indentation

    @cached_property
    def joined(self) -> str:
        """The lines in one: a format whose words do not stand in it is not looked for line by line."""
        return "\n".join(self.lines)


@dataclass(frozen=True)
class Reading:
    """What one dump states.

    ``sections`` maps a section's path (``program.`` before those of the program) to the facts stated, in part or in
    whole: what is left out is not recorded. ``notes`` say what was not believed, and oddities.
    """

    format: str
    sections: dict[str, dict[str, Any]]
    notes: tuple[str, ...] = ()
    first_line: int = 0  #: where in ``Text.lines`` the dump begins
    cut: bool = False  #: the text ends before the tool had printed everything
    keys: int = field(default=0)  #: how many lines or keys of the format were recognised: the surest format leads
    capture: dict[str, Any] = field(default_factory=dict)  #: facts of the circumstances: a container's id, evidence
    leads: bool = True  #: may be the document's format; otherwise it only adds to another
