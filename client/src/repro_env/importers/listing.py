"""Lines of a pasted text as far as they are surely whole, and rows of a label with a value."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .format import Text

_COLON = re.compile("[:\uff1a]")
_LIST_MARKS = "-*\u2022# "
_EMPHASIS = "`*_"
_LONGEST_LABEL = 120


def whole_lines(text: Text) -> Sequence[str]:
    """Return the lines without the last one where no line break ends it: the end of the text may have broken it."""
    return text.lines[:-1]


def row(line: str) -> tuple[str, str] | None:
    """Return label and value of ``label: value``, whatever list mark and emphasis stand around the label."""
    colon = _COLON.search(line, 0, _LONGEST_LABEL)
    if colon is None:
        return None
    label = " ".join(line[:colon.start()].lstrip(_LIST_MARKS).replace("`", "").split()).strip(_EMPHASIS + " ")
    return (label, line[colon.end():5000].strip(_EMPHASIS[1:] + " ")) if label else None
