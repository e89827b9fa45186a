"""Lines of a pasted text as far as they are surely whole, and rows of a label with a value."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .format import Text

_ROW = re.compile(r"(?:[-*\u2022#]\s{0,4}){0,3}[`*_]{0,3}([^\s`*:\uff1a-][^`:\uff1a]{0,80}?)[`*_]{0,3}"
                  r"([^`:\uff1a]{0,60}?)\s{0,40}[:\uff1a]\s{0,40}(.{0,4000})")
_BLANKS = re.compile(r"\s+")


def whole_lines(text: Text) -> Sequence[str]:
    """Return the lines without the last one where no line break ends it: the end of the text may have broken it."""
    return text.lines[:-1]


def is_last(text: Text, number: int) -> bool:
    """Tell whether nothing stands below the line of that number."""
    return not any(text.lines[number + 1:])


def row(line: str) -> tuple[str, str] | None:
    """Return label and value of ``label: value``, whatever list mark and emphasis stand around the label."""
    match = _ROW.fullmatch(line[:5000])
    return (_BLANKS.sub(" ", match[1] + match[2]).strip(), match[3].strip()) if match else None
