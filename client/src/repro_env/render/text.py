"""A verdict as plain text for a terminal or a job's log."""

from __future__ import annotations

import textwrap
from collections.abc import Callable

from ..comparability.verdict import Verdict
from .outline import Outline, Section, outline, visible

Paint = Callable[[str], str]


def render_text(verdict: Verdict, expected: str = "", observed: str = "", *, columns: int = 88,
                bold: Paint = str, dim: Paint = str) -> str:
    """Return the verdict in lines of at most ``columns``; ``bold`` and ``dim`` colour for a terminal."""
    parts = outline(verdict, expected, observed)
    blocks = ["\n".join(bold(line) for line in wrapped(parts.headline, columns)), _head(parts, columns)]
    blocks += [section_of(section, columns, bold) for section in parts.sections]
    blocks.append("\n".join(dim(line) for line in wrapped(parts.foot, columns)))
    return "\n\n".join(blocks) + "\n"


def _head(parts: Outline, columns: int) -> str:
    lines = wrapped(parts.answer, columns)
    rows = [(name, f"{level:<12}{meaning}") for name, level, meaning in parts.ends] + list(parts.sides)
    for name, text in rows:
        lines += wrapped(text, columns, f"  {name:<12}", " " * 26 if (name, text) not in parts.sides else " " * 14)
    return "\n".join(lines)


def section_of(section: Section, columns: int, bold: Paint) -> str:
    """Return a titled list as a terminal shows it."""
    lines = [bold(line) for line in wrapped(section.title, columns)]
    for number, point in enumerate(section.points, 1):
        mark = f"  {number}. " if section.numbered else "  - "
        lines += wrapped(point.text, columns, mark, " " * len(mark))
        for name, text in point.details:
            head = " " * len(mark) + f"{name}: "
            lines += wrapped(text, columns, head, " " * (len(mark) + 2))
    if section.rest:
        lines += wrapped(section.rest, columns, "  ", "  ")
    return "\n".join(lines)


def wrapped(text: str, columns: int, first: str = "", further: str = "") -> list[str]:
    """Return ``text`` in lines of at most ``columns``, without control characters."""
    return textwrap.wrap(visible(text), columns, initial_indent=first, subsequent_indent=further, break_on_hyphens=False
                         ) or [first.rstrip()]
