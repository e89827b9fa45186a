"""What ``conda list`` prints, and mamba's and micromamba's twins: a table, ``--export``, ``--explicit`` or JSON."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, Optional

from . import inventory, open_json, rows
from .format import Reading, Text
from .rows import Row

NAME = "conda-list"
MADE_BY = "conda list"

_TITLE = re.compile(r"(?:# packages in environment at |List of packages in environment:).{0,500}")
_HEADER = re.compile(r"#?\s*Name\s+Version\s+Build(?:\s+Channel)?", re.IGNORECASE)
_RULE = re.compile(r"[-\u2500\u2014=_ ]{5,}")
_EXPORT = re.compile(r"# This file may be used to create an environment using.{0,20}")
_PLATFORM = re.compile(r"# platform: *([a-z]+-[a-z0-9]+)")
_ROW = re.compile(r"([A-Za-z0-9_][\w.-]{0,120})\s{1,200}(\d[\w.+!-]{0,120})(?:\s{1,200}(\S{1,200}))?"
                  r"(?:\s{1,200}(\S{1,200}))?")
_EXPORT_ROW = re.compile(r"([A-Za-z0-9_][\w.-]{0,120})=(\d[\w.+!-]{0,120})=(\S{1,200})")
_ADDRESS = re.compile(r"(?:https?|file):/{2,3}(?:[^\s/]{1,200}/)+([a-z0-9-]{3,20})/([^\s/]{3,250}?)"
                      r"(?:\.conda|\.tar\.bz2)(?:#\w{0,130})?")
_CHANNEL = re.compile(r".*?/((?:pkgs/)?[\w.-]+)/[a-z0-9-]{3,20}/[^/]+$")
#: channels of the defaults, as conda prints them in its table.
_DEFAULTS = frozenset(("pkgs/main", "pkgs/r", "pkgs/msys2", "pkgs/free", "anaconda/pkgs/main"))
_HEAD = re.compile(r"^(?:# packages in env|List of packages|# This file may|@EXPLICIT|#? *Name +Version +Build)",
                   re.IGNORECASE | re.MULTILINE)
_MOST_BEGINNINGS = 5
#: builds that only conda writes, and how builds look at all.
_SURE = re.compile(r"[ \t](?:\S{0,60}_)?(?:h[0-9a-f]{7,8}|py\d{1,4}\S{0,60}|pyh[0-9a-z]{1,12}|pypi|cuda\S{0,60})"
                   r"_\d{1,4}(?=[ \t]|$)", re.MULTILINE)
_BUILD = re.compile(r"\S{0,100}_\d{1,4}|\d{1,5}|pypi|<pip>|main|mkl|cpu|cuda|py\d{2,3}\w{0,40}|py_\d")
#: rows that make a text a list without a header.
_FEWEST = 3
_Read = Callable[[tuple[str, ...], int], Optional[Reading]]
MOST_ROWS = 20_000


def read(text: Text) -> Reading | None:
    """Return what the first list states; it is whole where something stands below it."""
    lines = text.lines
    for number, kind in _beginnings(lines) if _HEAD.search(text.joined) else ():
        found = kind(lines, number)
        if found is not None:
            return found
    selected = _selected(lines) if _SURE.search(text.joined) else None
    return selected or (_json(lines) if '"build_string"' in text.joined else None)


def _beginnings(lines: tuple[str, ...]) -> list[tuple[int, _Read]]:
    """Return the first places at which a list may begin, and how it is read there."""
    found: list[tuple[int, _Read]] = []
    for number, line in enumerate(lines):
        if line.startswith(("#", "L", "N", "n")) and (_TITLE.fullmatch(line[:600]) or _HEADER.fullmatch(line[:300])):
            found.append((number, _table))
        elif _EXPORT.fullmatch(line):
            found.append((number, _exported))
        elif line == "@EXPLICIT":
            found.append((number, _explicit))
        if len(found) == _MOST_BEGINNINGS:
            break
    return found


def _selected(lines: tuple[str, ...]) -> Reading | None:
    """Return what rows without a header state: what ``grep`` or a person took out of a list."""
    first = None
    for number, line in enumerate(lines):
        row = _selected_row(line) if line[:1].isalnum() or line[:1] == "_" else None
        first = (number if first is None else first) if row else None
        if first is not None and number - first + 1 == _FEWEST and _is_sure(lines[first:number + 1]):
            return _reading(lines, first - 1, _selected_row, selected=True)
    return None


def _is_sure(lines: Sequence[str]) -> bool:
    """Tell whether enough of the builds can only be conda's."""
    return sum(_SURE.search(line) is not None for line in lines) * 2 > len(lines)


def _selected_row(line: str) -> Row | None:
    """Return the row of a line that has every column, or all but the channel."""
    match = _ROW.fullmatch(line[:600])
    if match is None or match[3] is None or not _BUILD.fullmatch(match[3]):
        return None
    return _row(line)


def _table(lines: tuple[str, ...], first: int) -> Reading | None:
    """Return what the table states."""
    return _reading(lines, first, _row)


def _reading(lines: tuple[str, ...], first: int, parse: Any, *, pip_too: bool = True,
             selected: bool = False) -> Reading | None:
    """Return what the rows below ``first`` state."""
    found: list[Row] = []
    end = first + 1
    while end < len(lines) and len(found) < MOST_ROWS:
        row = parse(lines[end])
        if row is None and (lines[end] or found) and not _is_aside(lines[end]):
            break
        found += [row] if row else []
        end += 1
    if end == len(lines) and found and parse(lines[-1]) is not None:
        found.pop()  # the end of the text may have broken it
    if not found:
        return None
    notes = [] if pip_too else ["the list holds conda's packages only: what pip installed is not told"]
    cut = not inventory.is_followed(lines, end)
    whole = pip_too and not selected and (not cut or None)
    return Reading(NAME, inventory.sections(found, notes, whole=whole), tuple(notes), max(0, first), cut, end - first)


def _is_aside(line: str) -> bool:
    return line.startswith("#") or _HEADER.fullmatch(line[:300]) is not None or _RULE.fullmatch(line[:1000]) is not None


def _row(line: str) -> Row | None:
    match = None if line.startswith("#") else _ROW.fullmatch(line[:600])
    if match is None:
        return None
    build, channel = match[3] or "", match[4] or ""
    if build in ("pypi", "<pip>"):
        build, channel = "<pip>", "pypi"
    return rows.of_conda(match[1], match[2], build, channel)


def _exported(lines: tuple[str, ...], first: int) -> Reading | None:
    """Return what ``conda list --export`` states: channels are not in it."""
    reading = _reading(lines, first, _export_row)
    platform = next((match[1] for match in map(_PLATFORM.fullmatch, lines[first:first + 6]) if match), None)
    return _on(reading, platform)


def _export_row(line: str) -> Row | None:
    match = _EXPORT_ROW.fullmatch(line[:600])
    if match is None:
        return None
    return rows.of_conda(match[1], match[2], match[3], "pypi" if match[3].startswith("pypi") else rows.BROKEN)


def _explicit(lines: tuple[str, ...], first: int) -> Reading | None:
    """Return what a list of addresses states; pip's packages are not in it."""
    reading = _reading(lines, first, _address_row, pip_too=False)
    rows_below = lines[first:first + reading.keys] if reading else ()
    platforms = {match[1] for match in (_ADDRESS.match(line[:1000]) for line in rows_below)
                 if match and match[1] != "noarch"}
    return _on(reading, platforms.pop() if len(platforms) == 1 else None)


def _address_row(line: str) -> Row | None:
    match = _ADDRESS.fullmatch(line[:1000])
    parts = match[2].rsplit("-", 2) if match else []
    if len(parts) != 3 or not parts[1][:1].isdigit():
        return None
    channel = _CHANNEL.match(line[:1000].partition("#")[0])
    name = channel[1] if channel else rows.BROKEN
    return rows.of_conda(parts[0], parts[1], parts[2], "" if name in _DEFAULTS else name)


def _on(reading: Reading | None, name: str | None) -> Reading | None:
    """Return a reading with the platform that the list names."""
    platform = inventory.platform(name) if name else None
    if reading is not None and platform is not None:
        reading.sections.update(inventory.of_platform(*platform))
    return reading


def _json(lines: tuple[str, ...]) -> Reading | None:
    opened = open_json.find(lines, lambda value: isinstance(value, list) and any(map(_item_row, value)))
    if opened is None:
        return None
    items = opened.value[:MOST_ROWS]
    notes: list[str] = []
    sections = inventory.sections([row for row in map(_item_row, items) if row], notes, whole=not opened.cut or None)
    platforms = {str(item.get("platform")) for item in items if isinstance(item, dict)} - {"noarch", "pypi", "None"}
    return _on(Reading(NAME, sections, tuple(notes), opened.first_line, opened.cut, opened.length),
               platforms.pop() if len(platforms) == 1 else None)


def _item_row(item: Any) -> Row | None:
    """Return the row of one object; one that the end of the text broke has no build yet."""
    if not isinstance(item, dict):
        return None
    told = [item.get(key) for key in ("name", "version", "build_string", "channel")]
    if not all(isinstance(value, str) for value in told) or not str(told[1])[:1].isdigit():
        return None
    name, version, build, channel = map(str, told)
    return rows.of_conda(name[:120], version[:120], build, "" if channel in _DEFAULTS else channel)
