"""Differences that do not act: listed with why, never judged."""

from __future__ import annotations

from typing import Any

from ..fingerprint.facts import is_unread
from .reading import Facts
from .rule import show_value
from .verdict import Ignored

#: path or path prefix -> why a difference there does not act by itself.
INERT: dict[str, str] = {}


def ignored_differences(expected: Facts, observed: Facts) -> tuple[Ignored, ...]:
    """Return the differing facts at the paths of ``INERT``, each with its reason."""
    rows = []
    for path, why in INERT.items():
        left, right = expected.look(path), observed.look(path)
        if not (is_unread(left) or is_unread(right)) and left != right:
            rows.append(Ignored(path, _short(left), _short(right), why))
    return tuple(rows)


def _short(value: Any) -> str:
    text = show_value(value)
    return text if len(text) <= 80 else text[:77] + "..."
