"""What if: a document from short facts, so that one can ask before spending GPU hours.

``document("gpu=A100,torch=2.3.1+cu121,tf32=on")`` states what the text states and what surely follows from it, and
leaves everything else unread. Reading files is left to ``cli``, judging to ``comparability``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..importers import document_of
from ..importers.merging import Joined
from . import keys, short
from .stated import Stated

#: how such a document says where it comes from.
FORMAT = "what-if"


def _silent(words: str) -> None:
    pass


def document(text: str, tell: Callable[[str], None] = _silent) -> dict[str, Any]:
    """Return the document that short facts state: ``key=value`` pairs separated by commas.

    ``tell`` gets in words what was only partly understood; the document notes it too. Raise ``UsageError`` for a key
    that is not known or a text that is not of this form, ``InvalidDocument`` naming the key for a value that it does
    not take.
    """
    return _document(short.pairs(text), tell)


def document_of_table(table: Mapping[str, Any], path: str, tell: Callable[[str], None] = _silent) -> dict[str, Any]:
    """Return the document that a TOML table states; ``path`` stands for the file in errors, which are the same."""
    return _document(short.pairs_of_table(table, path), tell)


def _document(pairs: list[tuple[str, str]], tell: Callable[[str], None]) -> dict[str, Any]:
    stated = Stated()
    for name, value in pairs:
        keys.read(stated, name, value)
    keys.follow(stated)
    for words in stated.doubts:
        tell(words)
    found = Joined(FORMAT, stated.sections(), {}, stated.notes())
    return document_of(found, "\n".join(f"{name}={value}" for name, value in pairs))
