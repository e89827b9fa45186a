"""What ``pip freeze`` prints, and requirements files that pin: one distribution a line.

The two cannot be told apart, and pip leaves itself out, so a list of this form is never the whole environment.
"""

from __future__ import annotations

import re

from . import inventory
from .format import Reading, Text
from .plain import FENCE
from .rows import Row

NAME = "pip-freeze"
MADE_BY = "pip freeze"

_NAME = r"([A-Za-z0-9](?:[\w.-]{0,120}[A-Za-z0-9])?)(?:\[[\w.,\s-]{0,120}\])?"
_PINNED = re.compile(_NAME + r"\s{0,4}={2,3}\s{0,4}(\d[\w.+!-]{0,120})")
_ADDRESS = re.compile(_NAME + r"\s{1,4}@\s{1,4}(\S{1,600})")
_EDITABLE = re.compile(r"(?:-e|--editable)[\s=]+(\S{1,600})")
_EGG = re.compile(r"[#&]egg=([A-Za-z0-9][\w.-]{0,120})")
#: pip's comment on an editable install of which it knows no repository.
_EDITABLE_COMMENT = re.compile(
    r"#+ *(?:!! )?Editable (?:Git )?install .{0,200}\(" + _NAME + r"={2,3}(\d[\w.+!-]{0,120})\)")
_BOUND = re.compile(_NAME + r"(?:\s{0,4}(?:[<>!~=]=?|===)\s{0,4}[\w.*+!,<>=~ -]{1,120})?")
_OPTION = re.compile(r"(?:-[cefir]\s|--[a-z-]{2,40}(?:[\s=]|$))")
#: rows that make a text a list when something else stands beside them.
_FEWEST = 3
MOST_ROWS = 20_000


def read(text: Text) -> Reading | None:
    """Return what the first block of pinned rows states."""
    if not any(mark in text.joined for mark in ("==", " @ ", "egg=")):
        return None
    first, block, cut = _block(text.lines)
    found, bounds = _rows(block)
    if not found or (len(found) < _FEWEST and _others(text.lines, first, len(block) + cut)):
        return None
    notes = ["a list of this form may be a selection, and leaves pip out"]
    if bounds:
        notes.append(f"{bounds} of the lines pin no version: not imported")
    return Reading(NAME, inventory.sections(found, notes), tuple(notes), first, cut, len(found))


def row_of(line: str) -> Row | None:
    """Return the distribution that a line pins, ``None`` for any other line."""
    line = _requirement(line)
    pinned = _PINNED.fullmatch(line)
    if pinned:
        return inventory.pip_row(pinned[1], pinned[2])
    address = _ADDRESS.fullmatch(line)
    return inventory.from_address(address[1], address[2]) if address else _editable(line)


def _block(lines: tuple[str, ...]) -> tuple[int, list[str], bool]:
    """Return where the first run of rows begins, its lines, and whether the end of the text may break its last."""
    start = next((number for number, line in enumerate(lines) if row_of(line) and _begins(lines, number)), len(lines))
    end = start
    while end < len(lines) and end - start < MOST_ROWS and _belongs(lines[end]):
        end += 1
    block = list(lines[start:end])
    while block and not block[-1]:
        block.pop()
    at_end = bool(block) and start + len(block) == len(lines)
    return start, block[:-1] if at_end else block, at_end


def _begins(lines: tuple[str, ...], number: int) -> bool:
    """Tell whether the row is one of several, or the only thing the text says."""
    following = [line for line in lines[number + 1:number + 6] if line and line != FENCE][:2]
    return not following or any(_belongs(line) for line in following)


def _belongs(line: str) -> bool:
    return not line or row_of(line) is not None or (line != FENCE and _is_aside(line))


def _is_aside(line: str) -> bool:
    """Tell whether a line may stand between rows: a comment, an option, a row that pins nothing."""
    return line.startswith("#") or _OPTION.match(line) is not None or _BOUND.fullmatch(_requirement(line)) is not None


def _requirement(line: str) -> str:
    """Return a line of requirements without marker, hashes, continuation and comment."""
    line = line[:1000].partition(" #")[0].partition(" --hash")[0].partition(" ;")[0]
    if not line.startswith(("-", "#")) and "@" not in line:
        line = line.partition(";")[0]
    return line.rstrip("\\ ,")


def _editable(line: str) -> Row | None:
    comment = _EDITABLE_COMMENT.match(line)
    if comment:
        return inventory.pip_row(comment[1], comment[2], editable=True)
    match = _EDITABLE.match(line)
    egg = _EGG.search(match[1]) if match else None
    if match is None or egg is None:
        return None
    row = inventory.from_address(egg[1].partition("[")[0], match[1].partition("#")[0])
    return inventory.pip_row(row.name, row.version, **{**row.source, "editable": True})


def _rows(block: list[str]) -> tuple[list[Row], int]:
    found = [row for row in map(row_of, block) if row]
    bounds = sum(1 for line in block if line and not line.startswith(("#", "-")) and row_of(line) is None)
    return found, bounds


def _others(lines: tuple[str, ...], first: int, length: int) -> bool:
    """Tell whether the text says anything beside the rows."""
    return any(line and line != FENCE and not line.startswith("#")
               for line in (*lines[:first], *lines[first + length:]))
