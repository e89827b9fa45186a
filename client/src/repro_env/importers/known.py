"""Texts that are recognised and cannot be imported yet: an error that names them helps more than "unknown"."""

from __future__ import annotations

import re
from collections.abc import Sequence

#: name -> pattern on the beginning of the text. The first that is found names the text.
_KNOWN = (
    ("a document of repro-env (compare it as it is)", r'"schema"\s*:\s*"\d+\.\d+"'),
    ("the output of lscpu", r"^Architecture:\s"),
)
_PATTERNS = tuple((name, re.compile(pattern, re.MULTILINE)) for name, pattern in _KNOWN)
_SAMPLE = 20_000


def name_of(lines: Sequence[str]) -> str | None:
    """Return in words what the text is, ``None`` when it is nothing known."""
    sample = "\n".join(line[:400] for line in lines[:1000])[:_SAMPLE]
    return next((name for name, pattern in _PATTERNS if pattern.search(sample)), None)
