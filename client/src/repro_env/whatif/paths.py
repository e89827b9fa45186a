"""Facts of the document by dotted path, as its definition has them: which there are, and values of their types."""

from __future__ import annotations

import dataclasses
import typing
from functools import lru_cache
from typing import Any, Union

from ..errors import InvalidDocument
from ..fingerprint.document import Program, Stack
from ..fingerprint.field import Unread

#: words for a switch, for what is surely absent, and for what is left open.
ON, OFF = ("on", "true", "yes", "1", "enabled"), ("off", "false", "no", "0", "disabled")
ABSENT, OPEN = ("null", "absent"), ("?", "unknown", "unread")


@lru_cache(maxsize=1)
def catalogue() -> dict[str, Any]:
    """Return the type of each fact by its path without the part; a map's path ends in ``.*``."""
    found: dict[str, Any] = {}
    for part in (Stack, Program):
        _walk(part, "", found)
    return found


def _walk(kind: Any, before: str, found: dict[str, Any]) -> None:
    hints = typing.get_type_hints(kind)
    for item in dataclasses.fields(kind):
        hint, path = _inner(hints[item.name]), f"{before}{item.name}"
        origin = typing.get_origin(hint)
        if dataclasses.is_dataclass(hint):
            _walk(hint, f"{path}.", found)
        elif origin is dict:
            value = _inner(typing.get_args(hint)[1])
            if not dataclasses.is_dataclass(value):
                found[f"{path}.*"] = value
        elif origin is not tuple or not dataclasses.is_dataclass(typing.get_args(hint)[0]):
            found[path] = tuple if origin is tuple else hint


def _inner(hint: Any) -> Any:
    """Return the type of a fact's value: neither absent nor unread."""
    if typing.get_origin(hint) is not Union:
        return hint
    (inner,) = [item for item in typing.get_args(hint) if item is not type(None) and item is not Unread]
    return inner


def kind_of(path: str) -> Any:
    """Return the type of the fact at ``path``, ``None`` where the definition has none."""
    known = catalogue()
    if path in known:
        return known[path]
    parents = [path[:index] for index, char in enumerate(path) if char == "."]
    return next((known[f"{parent}.*"] for parent in parents if f"{parent}.*" in known), None)


def read(path: str, text: str) -> Any:
    """Return the value of the fact at ``path``; raise ``InvalidDocument`` where the text has not its type."""
    if text.lower() in ABSENT:
        return None
    kind = kind_of(path)
    if kind is bool:
        return switch(path, text)
    if kind is int:
        return number(path, text)
    if kind is tuple:
        return sorted({item.strip() for item in text.split("+") if item.strip()})
    return text


def switch(name: str, text: str) -> bool:
    """Return a switch; raise ``InvalidDocument`` for anything but on and off."""
    word = text.lower()
    if word not in (*ON, *OFF):
        raise InvalidDocument(name, f"expected on or off, got {text!r}")
    return word in ON


def number(name: str, text: str) -> int:
    """Return a whole number; raise ``InvalidDocument`` for anything else."""
    if not (text.isascii() and text.isdigit() and len(text) < 16):
        raise InvalidDocument(name, f"expected a whole number, got {text!r}")
    return int(text)
