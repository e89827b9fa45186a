"""JSON somewhere in a pasted text, read as far as the text goes: what the end breaks off is left out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .plain import FENCE

#: places at which JSON is tried to begin.
_MOST_STARTS = 10
_MOST_DEPTH = 60
_TOKENS = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{},]|"', re.DOTALL)
_START = re.compile(r'\{|\[\s*(?:$|[\[{"\]])')
_CLOSING = {"[": "]", "{": "}"}


@dataclass(frozen=True)
class Opened:
    """A JSON value, where it begins, how many lines it has, and whether the text ends before it does."""

    value: Any
    first_line: int
    length: int
    cut: bool


def find(lines: Sequence[str], fits: Callable[[Any], bool]) -> Opened | None:
    """Return the first JSON value that ``fits``; never raises."""
    tried, after = 0, -1
    for start, line in enumerate(lines):
        if start < after or not _START.match(line):
            continue
        tried += 1
        if tried > _MOST_STARTS:
            return None
        opened = _open(lines, start)
        if opened is not None:
            after = start + opened.length
            if fits(opened.value):
                return opened
    return None


def _open(lines: Sequence[str], start: int) -> Opened | None:
    end = next((number for number in range(start, len(lines)) if lines[number] == FENCE), len(lines))
    text = "\n".join(lines[start:end])
    try:
        value, stop = json.JSONDecoder().raw_decode(text)
    except json.JSONDecodeError as error:
        return _broken(text[:error.pos], start)
    except (ValueError, RecursionError):
        return None
    return Opened(value, start, text.count("\n", 0, stop) + 1, cut=False)


def _broken(text: str, start: int) -> Opened | None:
    """Return what a text says that is JSON as far as it goes."""
    closed = close(text)
    try:
        return None if closed is None else Opened(json.loads(closed), start, text.count("\n") + 1, cut=True)
    except (ValueError, RecursionError):
        return None


def close(text: str) -> str | None:
    """Return ``text`` up to its last whole element with the brackets closed; ``None`` where none is open."""
    stack: list[str] = []
    whole: tuple[int, str] | None = None
    for token in _TOKENS.finditer(text):
        mark = token[0]
        if mark in "[{":
            stack.append(_CLOSING[mark])
            if len(stack) > _MOST_DEPTH:
                return None
            whole = (token.end(), "".join(reversed(stack)))
        elif mark in "]}":
            if not stack or stack.pop() != mark:
                return None
            whole = (token.end(), "".join(reversed(stack)))
        elif mark == "," and stack:
            whole = (token.start(), "".join(reversed(stack)))
        elif mark == '"':
            break
    return text[:whole[0]] + whole[1] if whole and stack else None
