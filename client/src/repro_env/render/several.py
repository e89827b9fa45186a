"""Several sides for a terminal or a page: the matrix, the classes, and what separates them."""

from __future__ import annotations

from collections.abc import Iterable

from ..comparability.levels import Answer, Level, Scope
from ..comparability.several import Separation, Several
from ..comparability.wording import brief
from .markdown import escape
from .markdown import section_of as markdown_section
from .outline import Point, Section
from .phrases import grouped, listed, rest
from .text import Paint, section_of, wrapped

#: most groups that a matrix is drawn for.
MAX_DRAWN = 12
MAX_NAMES, MAX_SEPARATIONS, MAX_VALUES, MAX_FACTS = 6, 12, 6, 3

_ANSWERS = {
    Answer.YES: "Yes, every two of them, guaranteed",
    Answer.NO: "No, not every two of them",
    Answer.LIKELY: "Likely: expected of ordinary programs for every two, but not guaranteed for all",
    Answer.UNKNOWN: "Unknown: nothing that was read stands against it, but for at least one pair facts are unread",
}
_CLASSES = {
    Level.BITWISE: "Guaranteed the same bits",
    Level.CURVE: "Guaranteed the same curves",
    Level.STATISTICAL: "Guaranteed the same within seed-to-seed variance",
}


def several_text(found: Several, *, columns: int = 88, bold: Paint = str, dim: Paint = str) -> str:
    """Return the answer in lines of at most ``columns``, but for a matrix that needs more."""
    blocks = ["\n".join(bold(line) for line in wrapped(_headline(found), columns))]
    blocks += [section_of(section, columns, bold) for section in _sections(found, *_legend(found))]
    if _is_drawn(found):
        blocks.insert(2, "\n".join(_drawn(found)))
    blocks.append("\n".join(dim(line) for line in wrapped(_foot(found), columns)))
    return "\n\n".join(blocks) + "\n"


def several_markdown(found: Several) -> str:
    """Return the answer as Markdown; names and values are escaped."""
    lines = [f"## {escape(_headline(found))}", ""]
    for number, section in enumerate(_sections(found, *_legend(found))):
        lines += [*markdown_section(section), ""]
        if number == 0 and _is_drawn(found):
            lines += [*_table(found), ""]
    return "\n".join([*lines, f"*{escape(_foot(found))}*"]) + "\n"


def _is_drawn(found: Several) -> bool:
    """Tell whether the matrix is small enough to be drawn, and there."""
    return bool(found.expected) and len(found.groups) <= MAX_DRAWN


def _headline(found: Several) -> str:
    number = sum(map(len, found.groups))
    alike = f"{number} sides, {len(found.groups)} environments" if len(found.groups) < number else f"{number} sides"
    return f"{alike}. Comparable at level {found.level.word}? {_ANSWERS[found.answer]}{_first(found)}."


def _first(found: Several) -> str:
    """Return the first separation where one stands against the answer yes."""
    roots = [item for item in found.separates if item.implied_by is None and not item.varies
             and item.guaranteed < found.level]
    if found.answer not in (Answer.NO, Answer.LIKELY) or not roots:
        return ""
    return ": " + brief(f"{roots[0].rule}, {listed([value for value, _ in roots[0].values], 3, ' against ')}", "", "")


def _foot(found: Several) -> str:
    scope = "" if found.scope is Scope.PROCESS else ", so whether the programs repeat was not observed"
    return (f"question {found.question.value}, rule set {found.ruleset}, scope {found.scope.value}{scope}; "
            "`repro-env explain RULE` explains a rule")


def _legend(found: Several) -> tuple[dict[str, str], list[Point]]:
    """Return the mark of each side, and what the marks stand for."""
    marks = {name: _mark(number) for number, names in enumerate(found.groups) for name in names}
    points = [Point(f"{_mark(number)}: {listed(names, MAX_NAMES)}") for number, names in enumerate(found.groups)]
    return marks, points


def _mark(number: int) -> str:
    letters = ""
    number += 1
    while number:
        number, digit = divmod(number - 1, 26)
        letters = chr(ord("A") + digit) + letters
    return letters


def _sections(found: Several, marks: dict[str, str], legend: list[Point]) -> list[Section]:
    told = [Section("Environments", tuple(legend[:MAX_DRAWN * 2]), rest=rest(len(legend) - MAX_DRAWN * 2)),
            *_classes(found, marks),
            _separations("What separates them", [item for item in found.separates if not item.varies], marks),
            _separations("Different on purpose", [item for item in found.separates if item.varies], marks),
            _confounds(found)]
    return [section for section in told if section.points]


def _classes(found: Several, marks: dict[str, str]) -> Iterable[Section]:
    for level, title in _CLASSES.items():
        points = [Point(_marked(item.members, marks)) for item in found.classes if item.level is level]
        left = [item for item in found.outside if item.level is level]
        for why, items in grouped(left, lambda item: (item.lacking, item.failing)):
            names = [name for item in items for name in item.members]
            points.append(Point(f"in no class: {_marked(names, marks)} ({_why_outside(*why)})"))
        yield Section(title, tuple(points[:MAX_DRAWN]), rest=rest(len(points) - MAX_DRAWN))


def _why_outside(lacking: tuple[str, ...], failing: tuple[str, ...]) -> str:
    return "; ".join([*([f"lacks {listed(lacking, MAX_FACTS)}"] if lacking else []),
                      *([f"fails {listed(failing, MAX_FACTS)}"] if failing else [])])


def _separations(title: str, items: list[Separation], marks: dict[str, str]) -> Section:
    roots = [item for item in items if item.implied_by is None and (item.guaranteed < Level.BITWISE or item.varies)]
    points = tuple(_separation(item, items, marks) for item in roots[:MAX_SEPARATIONS])
    return Section(title, points, numbered=True, rest=rest(len(roots) - MAX_SEPARATIONS))


def _separation(item: Separation, items: list[Separation], marks: dict[str, str]) -> Point:
    values = [f"{value} ({_marked(names, marks)})" for value, names in item.values]
    also = [other.rule for other in items if other.implied_by == item.rule]
    unread = [("unread on", _marked(item.unread, marks))] if item.unread else []
    details = [] if item.varies else [("remedy", item.remedy)]
    return Point(brief(f"{item.rule}: {listed(values, MAX_VALUES, ' against ')}", "", ""),
                 (*unread, *details, *([("so also", listed(also, MAX_NAMES))] if also else []),
                  *(() if item.varies else (("leaves", item.expected.word),))))


def _confounds(found: Several) -> Section:
    points = tuple(Point(f"{item.rule} differs where {item.varied} does: {item.together} of {item.pairs} pairs agree, "
                         "so their effects cannot be told apart") for item in found.confounds)
    return Section("Moves together with what differs on purpose", points)


def _cell(found: Several, row: int, column: int) -> str:
    expected, guaranteed = found.expected[row][column], found.guaranteed[row][column]
    return expected.word if expected is guaranteed else f"{expected.word} ({guaranteed.word})"


def _cells(found: Several) -> list[list[str]]:
    """Return the rows of the matrix: a head, then for each group its cells from the diagonal on."""
    size = range(len(found.groups))
    return [["", *map(_mark, size)], *[[_mark(row), *("" if column < row else _cell(found, row, column)
                                                      for column in size)] for row in size]]


def _drawn(found: Several) -> list[str]:
    rows = _cells(found)
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows))]
    lines = ["Expected (guaranteed where less); the diagonal: a repetition in one environment"]
    return lines + ["  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]


def _table(found: Several) -> list[str]:
    head, *rows = _cells(found)
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *["| " + " | ".join(row) + " |" for row in rows]]


def _marked(names: Iterable[str], marks: dict[str, str]) -> str:
    return ", ".join(dict.fromkeys(marks[name] for name in names))
