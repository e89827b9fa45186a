"""The plain part of YAML that environment and model files use, without a YAML library.

Block mappings and lists of scalars, quoted or not; empty and one-line lists in brackets. Whatever else stands there
(anchors, tags, block texts, mappings in braces) is left out and its line told. Scalars stay texts: ``3.10`` is no
number here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .plain import FENCE

_KEY = re.compile(r"""("[^"]{0,200}"|'[^']{0,200}'|[A-Za-z0-9_./][\w ./+-]{0,200}?)\s{0,20}:(?:\s+(.*))?""")
_LIST = re.compile(r"\[([^\[\]{}\"']*)\]")
_COMMENT = re.compile(r"\s+#.*")
_ESCAPE = re.compile(r'\\(["\\/])')
_MOST_DEPTH = 20
MOST_LINES = 10_000
#: stands for a value that was not understood.
REFUSED = object()


@dataclass(frozen=True)
class _Line:
    number: int
    indent: int
    content: str


@dataclass
class Document:
    """What was read: the value, and the numbers of the lines that were left out."""

    value: Any
    refused: list[int] = field(default_factory=list)
    last_line: int = 0  #: of the lines that belong to it
    cut: bool = False  #: the text ends with it


def parse(lines: Sequence[str], start: int) -> Document:
    """Return the mapping that begins at line ``start`` and ends where a line stands further left or no key follows.

    The last line is left out when nothing, not even an empty line, follows: the end of the text may have broken it.
    """
    base = len(lines[start]) - len(lines[start].lstrip())
    kept: list[_Line] = []
    end = start
    for number, line in enumerate(lines[start:start + MOST_LINES], start):
        content = line.strip()
        indent = len(line) - len(line.lstrip())
        outside = content and (indent < base or (indent == base and not _KEY.fullmatch(content)
                                                 and not content.startswith(("#", "- "))))
        if content in (FENCE, "---", "...") or outside:
            break
        if content and not content.startswith("#"):
            kept.append(_Line(number, indent, content))
            end = number
    cut = end == len(lines) - 1
    if cut:
        kept = kept[:-1]
    reader = _Reader(kept)
    value = reader.block(0) if kept else {}
    return Document(value, reader.refused, end, cut)


class _Reader:
    """Walks over lines without blanks and comments."""

    def __init__(self, lines: list[_Line]) -> None:
        self.lines = lines
        self.at = 0
        self.refused: list[int] = []

    def peek(self) -> _Line | None:
        """Return the next line."""
        return self.lines[self.at] if self.at < len(self.lines) else None

    def block(self, depth: int) -> Any:
        """Return the list or mapping that begins at the next line."""
        line = self.lines[self.at]
        if depth > _MOST_DEPTH:
            return self.refuse(line.indent - 1)
        if _is_item(line.content):
            return self.sequence(line.indent, depth)
        return self.mapping(line.indent, depth) if _KEY.fullmatch(line.content) else self.refuse(line.indent - 1)

    def mapping(self, indent: int, depth: int) -> dict[str, Any]:
        """Return the keys that stand at ``indent``; of a key that comes twice the first."""
        result: dict[str, Any] = {}
        while True:
            line = self.peek()
            if line is None or line.indent < indent or (line.indent == indent and _is_item(line.content)):
                return result
            match = _KEY.fullmatch(line.content) if line.indent == indent else None
            if match is None:
                self.refuse(line.indent - 1)
                continue
            self.at += 1
            result.setdefault(match[1].strip("\"'"), self.value((match[2] or "").strip(), line, depth, same=True))

    def sequence(self, indent: int, depth: int) -> list[Any]:
        """Return the items that stand at ``indent``."""
        result: list[Any] = []
        while True:
            line = self.peek()
            if line is None or line.indent != indent or not _is_item(line.content):
                return result
            rest = line.content[1:].lstrip()
            if _KEY.fullmatch(rest) or _is_item(rest):
                self.lines[self.at] = _Line(line.number, indent + len(line.content) - len(rest), rest)
                result.append(self.block(depth + 1))
                continue
            self.at += 1
            result.append(self.value(rest, line, depth, same=False))

    def value(self, rest: str, line: _Line, depth: int, *, same: bool) -> Any:
        """Return what follows a key or dash. ``same``: a list may stand at the key's own indentation."""
        if rest.startswith("#"):
            rest = ""
        if rest:
            return self.scalar(rest, line)
        below = self.peek()
        if below is not None and (below.indent > line.indent
                                  or (same and below.indent == line.indent and _is_item(below.content))):
            return self.block(depth + 1)
        return None

    def scalar(self, rest: str, line: _Line) -> Any:
        """Return a scalar of one or, when it is quoted or plain, several lines."""
        if rest[0] in "\"'":
            return self.quoted(rest, line)
        rest = _COMMENT.sub("", rest)
        flow = _LIST.fullmatch(rest)
        if rest[0] in "[{|>&*!%@`":
            below = self.refuse(line.indent) if flow is None and rest != "{}" else None
            if below is REFUSED:
                self.refused.append(line.number)
                return REFUSED
            return {} if flow is None else [item.strip() for item in flow[1].split(",") if item.strip()]
        words = [rest]
        while (below_line := self.peek()) is not None and below_line.indent > line.indent:
            words.append(below_line.content)
            self.at += 1
        return None if words in (["null"], ["~"]) else " ".join(words)

    def quoted(self, rest: str, line: _Line) -> Any:
        """Return a quoted scalar; it may go on over lines further right."""
        mark = rest[0]
        words = [rest]
        while not _closes(words[-1], mark, first=len(words) == 1):
            below = self.peek()
            if below is None or below.indent <= line.indent:
                self.refused.append(line.number)
                return REFUSED
            words.append(below.content)
            self.at += 1
        text = _COMMENT.sub("", " ".join(words)) if len(words) == 1 and not rest.endswith(mark) else " ".join(words)
        inner = text[1:text.rindex(mark)]
        return inner.replace("''", "'") if mark == "'" else _ESCAPE.sub(r"\1", inner)

    def refuse(self, indent: int) -> Any:
        """Leave out every line further right than ``indent``."""
        while (line := self.peek()) is not None and line.indent > indent:
            self.refused.append(line.number)
            self.at += 1
        return REFUSED


def _is_item(content: str) -> bool:
    return content == "-" or content.startswith("- ")


def _closes(word: str, mark: str, *, first: bool) -> bool:
    """Tell whether a line ends a quoted scalar: an odd number of marks after the opening one."""
    inner = word[1:] if first else word
    if mark == '"':
        inner = inner.replace("\\\\", "").replace('\\"', "")
    return inner.count(mark) % 2 == 1
