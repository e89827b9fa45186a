"""Rows that a report prints as one Python object: ``{'Python': '3.10'}``, ``OrderedDict([('Python', '3.10')])``.

Read by their form and never evaluated; what the end of the text breaks off is left out.
"""

from __future__ import annotations

import re

_PAIR = re.compile(r"['\"](?P<key>[A-Za-z][\w ,.]{1,60})['\"] ?[:,]\s{0,80}"
                   r"(?P<value>True|False|None|-?\d{1,20}|(?:(?:'(?:[^'\\\n]|\\.){0,8000}'|\"(?:[^\"\\\n]|\\.){0,8000}\")"
                   r"\s{0,120}){1,60})(?=[,)}\]])")
_PIECE = re.compile(r"'((?:[^'\\\n]|\\.)*)'|\"((?:[^\"\\\n]|\\.)*)\"")
_ESCAPE = re.compile(r"\\(.)")
_ESCAPES = {"n": "\n", "t": "\t"}


def lines(text: str) -> list[str]:
    """Return a line ``key: value`` for each pair; a value of several lines takes several, without their blanks."""
    return [line.strip() for pair in _PAIR.finditer(text)
            for line in f"{pair['key']}: {_words(pair['value'])}".split("\n")]


def _words(value: str) -> str:
    """Return a value in words: strings that stand side by side are one."""
    pieces = [first or second for first, second in _PIECE.findall(value)]
    if not pieces and value[:1] not in "'\"":
        return value
    return _ESCAPE.sub(lambda escape: _ESCAPES.get(escape[1], escape[1]), "".join(pieces))
