"""What ``pip list`` prints: a table under a header, the lines of old pips, or JSON."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from . import inventory, open_json
from .format import Reading, Text
from .rows import Row, normalised

NAME = "pip-list"
MADE_BY = "pip list"

_HEADER = re.compile(r"Package\s+Version(?:\s+(?:Editable project location|Location|Installer|Latest|Type|Build))*",
                     re.IGNORECASE)
_HEAD = re.compile(r"^Package +Version", re.IGNORECASE | re.MULTILINE)
_RULE = re.compile(r"-{3,}(?:\s+-{3,})*")
_ROW = re.compile(r"([A-Za-z0-9][\w.-]{0,120})\s{1,200}(\d[\w.+!-]{0,120})(?:\s{1,200}(\S.*))?")
_OLD_ROW = re.compile(r"([A-Za-z0-9][\w.-]{0,120}) \((\d[\w.+!-]{0,120})(?:, (\S[^()]{0,300}))?\)")
#: rows that make a text a list of the form without a header.
_FEWEST = 3
_FEWEST_HEADLESS = 6
#: distributions of which any list of some length has a few.
_COMMON = frozenset(("numpy", "pip", "setuptools", "wheel", "six", "requests", "urllib3", "certifi", "packaging",
                     "torch", "torchvision", "tensorflow", "jax", "pandas", "scipy", "matplotlib", "pillow", "pyyaml",
                     "tqdm", "typing-extensions", "jinja2", "markupsafe", "networkx", "sympy", "filelock", "idna",
                     "click", "protobuf", "psutil", "regex", "transformers", "opencv-python", "scikit-learn"))
_COLUMNS = re.compile(r"^([A-Za-z0-9][\w.-]{0,120}) {1,120}(\d[\w.+!-]{0,120})"
                      r"(?: {1,120}(?:[/\\]|[A-Za-z]:\\)\S.*)?$", re.MULTILINE)
MOST_ROWS = 20_000


def read(text: Text) -> Reading | None:
    """Return what the first list states; it is whole where something stands below it."""
    reading = _table(text.lines) if _HEAD.search(text.joined) else None
    reading = reading or (_old(text.lines) if " (" in text.joined else None)
    reading = reading or (_headless(text.lines) if _COLUMNS.search(text.joined) else None)
    return reading or (_json(text.lines) if '"version"' in text.joined else None)


def row_of(line: str) -> Row | None:
    """Return the distribution that a line of the table names."""
    match = _ROW.fullmatch(line[:600])
    return _row(match[1], match[2], match[3]) if match else None


def _table(lines: tuple[str, ...]) -> Reading | None:
    header = next((number for number, line in enumerate(lines)
                   if line[:1] in "Pp" and _HEADER.fullmatch(line[:200])), None)
    if header is None:
        return None
    below = lines[header + 1:header + 3]
    start = header + 2 if below and _RULE.fullmatch(below[0][:2000]) else header + 1
    return _reading(lines, header, start, row_of, headed=True)


def _old(lines: tuple[str, ...]) -> Reading | None:
    start = next((number for number, line in enumerate(lines)
                  if all(map(old_row_of, lines[number:number + _FEWEST]))), None)
    if start is None or len(lines) - start < _FEWEST:
        return None
    return _reading(lines, start, start, old_row_of, headed=False)


def _headless(lines: tuple[str, ...]) -> Reading | None:
    """Return what a table without its header states: packages that nearly every list has, versions in one column."""
    start = 0
    while start < len(lines):
        end = start
        while end < len(lines) and _column(lines[end]) is not None:
            end += 1
        rows = lines[start:end]
        if len(rows) >= _FEWEST_HEADLESS and _is_table(rows):
            return _reading(lines, start, start, row_of, headed=False)
        start = end + 1
    return None


def _column(line: str) -> int | None:
    """Return where the version of a row begins."""
    match = _COLUMNS.match(line[:600])
    return match.start(2) if match else None


def _is_table(rows: tuple[str, ...]) -> bool:
    columns = [_column(row) for row in rows]
    column = max(set(columns), key=columns.count)
    aligned = columns.count(column) * 10 >= len(columns) * 9
    return aligned and sum(normalised(row.split()[0]) in _COMMON for row in rows) >= _FEWEST


def old_row_of(line: str) -> Row | None:
    """Return the distribution that a line of pips before 10 names."""
    match = _OLD_ROW.fullmatch(line[:600])
    return _row(match[1], match[2], match[3]) if match else None


def _row(name: str, version: str, location: Any) -> Row:
    """Return a row; only an editable install has a folder of its own."""
    editable = isinstance(location, str) and re.search(r"[/\\]", location) is not None
    return inventory.pip_row(name, version, **({"editable": True} if editable else {}))


def _reading(lines: tuple[str, ...], first: int, start: int, parse: Callable[[str], Row | None], *,
             headed: bool) -> Reading | None:
    """Return what the rows from ``start`` on state; without a header they may be a selection."""
    found: list[Row] = []
    end = start
    while end < len(lines) and len(found) < MOST_ROWS:
        row = parse(lines[end])
        if row is None:
            break
        found.append(row)
        end += 1
    if end == len(lines) and found:
        found.pop()  # the end of the text may have broken it
    notes: list[str] = []
    cut = not inventory.is_followed(lines, end)
    if not found:
        return None
    sections = inventory.sections(found, notes, whole=headed and (not cut or None))
    return Reading(NAME, sections, tuple(notes), first, cut, end - first)


def _json(lines: tuple[str, ...]) -> Reading | None:
    opened = open_json.find(lines, lambda value: isinstance(value, list) and any(map(_is_item, value)))
    if opened is None:
        return None
    found = [_row(item["name"], item["version"], item.get("editable_project_location"))
             for item in opened.value[:MOST_ROWS] if _is_item(item)]
    notes: list[str] = []
    sections = inventory.sections(found, notes, whole=not opened.cut or None)
    return Reading(NAME, sections, tuple(notes), opened.first_line, opened.cut, opened.length)


def _is_item(item: Any) -> bool:
    """Tell whether a value is one distribution; conda's have a build beside name and version."""
    return (isinstance(item, dict) and isinstance(item.get("name"), str) and isinstance(item.get("version"), str)
            and _ROW.fullmatch(f"{item['name']} {item['version']}") is not None and "build_string" not in item)
