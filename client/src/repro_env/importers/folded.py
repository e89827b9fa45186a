"""Lines of a collect_env text that a copy put into one: each printed line on its own again.

A terminal that pads its lines gives the first ones as one; a page, a search engine or a chat drops every line break.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .dump import KEYS

_KEY = re.compile(r"(?:^|(?<=\s))(" + "|".join(sorted(map(re.escape, KEYS), key=len, reverse=True)) + r") ?:(?=\s|$)")
_START = "collecting environment information"
_FIRST = "PyTorch version"
#: rows that stand below a key: GPUs, their slices, files of cuDNN, packages.
_BELOW = re.compile(r"\s(?=GPU \d{1,3}: |MIG \S{1,20} +Device|/\S{0,300}cudnn|[A-Z]:\\\S{0,300}cudnn"
                    r"|\[(?:pip\d?|conda)\] )")
_FEWEST = 3
_SHORTEST = 50


def unfolded(lines: Sequence[str]) -> tuple[Sequence[str], Sequence[int]]:
    """Return the lines as they were printed, and for each of them the number of the line it stands in."""
    if not any(map(_is_folded, lines)):
        return lines, range(len(lines))
    result: list[str] = []
    places: list[int] = []
    for number, line in enumerate(lines):
        pieces = _pieces(line) if _is_folded(line) else [line]
        result += pieces
        places += [number] * len(pieces)
    return result, places


def _is_folded(line: str) -> bool:
    place = line.find(_FIRST + ":")
    if place < 0 or len(line) < _SHORTEST:
        return False
    return _START in line[:place].lower() or len(_keys(line)) >= _FEWEST


def _keys(line: str) -> list[re.Match[str]]:
    """Return where known keys stand, as far as they come in the order in which they are printed."""
    found: list[re.Match[str]] = []
    order = -1
    for match in _KEY.finditer(line):
        place = KEYS.index(match[1])
        if place > order and (found or match[1] == _FIRST):
            found.append(match)
            order = place
    return found


def _pieces(line: str) -> list[str]:
    keys = _keys(line)
    ends = [match.start() for match in keys[1:]] + [len(line)]
    pieces = [line[:keys[0].start()].strip()] if keys[0].start() else []
    for match, end in zip(keys, ends):
        piece = line[match.start():end].strip()
        if match[1] == "CPU":
            pieces.append("CPU:")  # its rows cannot be told apart
        elif len(_BELOW.findall(piece)) > 1 or match[1] in ("cuDNN version", "Versions of relevant libraries"):
            pieces += [part.strip() for part in _BELOW.split(piece)]
        else:
            pieces.append(piece)
    return pieces
