"""Small pieces of sentences that every layout shares: enumerations, counts, capitals, what was cut."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from ..comparability.verdict import Reason
from ..comparability.wording import brief

Item = TypeVar("Item")
Key = TypeVar("Key")


def grouped(items: Iterable[Item], key: Callable[[Item], Key]) -> list[tuple[Key, list[Item]]]:
    """Return items by key, in the order in which the keys first come."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return list(groups.items())


def said(reason: Reason) -> str:
    """Return what a reason says as a sentence of its own, without its full stop."""
    return sentence(brief(reason.why, reason.expected, reason.observed))


def sentence(text: str) -> str:
    """Return ``text`` with a capital at its start, but for names that are written otherwise (cuBLAS, flash-attn)."""
    text = text.strip().rstrip(".")
    first = text.partition(" ")[0].rstrip(":,")
    return text[:1].upper() + text[1:] if first.isalpha() and first.islower() else text


def listed(items: Iterable[str], limit: int, separator: str = ", ") -> str:
    """Return the first ``limit`` items and how many more there are."""
    told = list(items)
    more = len(told) - limit
    return separator.join(told[:limit]) + (f" and {more} more" if more > 0 else "")


def conjoined(items: list[str]) -> str:
    """Return items as an enumeration that ends: 1, 2 and 3."""
    return " and ".join(filter(None, (", ".join(items[:-1]), items[-1])))


def count(number: int, noun: str) -> str:
    """Return a number of things."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def rest(number: int) -> str:
    """Return how many were cut and where they stand; nothing where none was."""
    return f"and {number} more, listed in the JSON form (--json)" if number > 0 else ""
