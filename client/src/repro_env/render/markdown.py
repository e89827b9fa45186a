"""A verdict as Markdown, for a pull request, an issue or a notebook."""

from __future__ import annotations

from ..comparability.verdict import Verdict
from .outline import Section, outline, visible

_SPECIAL = frozenset("\\`*_[]<>#|~")


def render_markdown(verdict: Verdict, expected: str = "", observed: str = "") -> str:
    """Return the verdict as Markdown; what documents say is escaped, so it cannot add markup or links."""
    parts = outline(verdict, expected, observed)
    lines = [f"## {escape(parts.headline)}", "", f"**{escape(parts.answer)}**", "", "| end | level | means |",
             "|---|---|---|"]
    lines += [f"| {name} | `{level}` | {escape(meaning)} |" for name, level, meaning in parts.ends]
    if parts.sides:
        lines += ["", *(f"- {name}: {escape(text)}" for name, text in parts.sides)]
    for section in parts.sections:
        lines += ["", *section_of(section)]
    return "\n".join([*lines, "", f"*{escape(parts.foot)}*"]) + "\n"


def section_of(section: Section) -> list[str]:
    """Return the lines of a titled list."""
    lines = [f"### {escape(section.title)}", ""]
    for number, point in enumerate(section.points, 1):
        mark = f"{number}. " if section.numbered else "- "
        lines.append(f"{mark}{escape(point.text)}")
        lines += [f"{' ' * len(mark)}- *{name}*: {escape(text)}" for name, text in point.details]
    return [*lines, "", escape(section.rest)] if section.rest else lines


def escape(text: str) -> str:
    """Return ``text`` so that Markdown shows it as it stands."""
    return "".join(f"\\{item}" if item in _SPECIAL else item for item in visible(text))
