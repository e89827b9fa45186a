"""The form of short facts: ``key=value`` pairs separated by commas, or a flat TOML table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from ..errors import UsageError

#: what a key looks like: the word before the first ``=`` of a text that is no file.
KEY = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
_PIECE = re.compile(r"(?:\"[^\"]*\"|'[^']*'|[^,\"']|[\"'])+")
#: another pair within a value: the comma between them was forgotten.
_RUN_ON = re.compile(r"\s[A-Za-z][\w.-]*=")
#: longest text taken; a longer one is no statement that a person wrote.
MAX_TEXT = 16_384


def is_facts(word: str) -> bool:
    """Tell whether a word has the form of facts: a key, an equals sign, a value."""
    name, equals, _ = word.partition("=")
    return bool(equals) and KEY.fullmatch(name.strip()) is not None


def pairs(text: str) -> list[tuple[str, str]]:
    """Return key and value of each pair; raise ``UsageError`` naming the piece that is none."""
    if len(text) > MAX_TEXT:
        raise UsageError(f"facts: expected at most {MAX_TEXT} characters; write them into a TOML file")
    found = [_pair(piece.strip()) for piece in _PIECE.findall(text) if piece.strip()]
    if not found:
        raise UsageError("facts: expected key=value pairs, as in gpu=A100,torch=2.3.1+cu121, got nothing")
    return found


def _pair(piece: str) -> tuple[str, str]:
    name, equals, value = piece.partition("=")
    name, value = name.strip(), value.lstrip("=").strip()
    if not equals or not KEY.fullmatch(name):
        raise UsageError(f"facts: expected key=value, got {piece[:60]!r}; a value with a comma in it is written in "
                         "quotes, as in KMP_AFFINITY='granularity=fine,compact'")
    if _RUN_ON.search(value) and value[:1] not in ("'", '"'):
        raise UsageError(f"facts: pairs are separated by commas, got {piece[:60]!r}")
    if value[:1] in ("'", '"') and value[-1:] == value[:1] and len(value) > 1:
        value = value[1:-1]
    if not value:
        raise UsageError(f"facts: {name} has no value; expected {name}=VALUE")
    return name, value


def pairs_of_table(table: Mapping[str, Any], path: str) -> list[tuple[str, str]]:
    """Return the pairs of a TOML table, where tables within are written as dotted keys."""
    found = list(_flat(table, "", path))
    if not found:
        raise UsageError(f'{path}: expected facts, as in gpu = "A100", got an empty file')
    return found


def _flat(table: Mapping[str, Any], before: str, path: str) -> Iterator[tuple[str, str]]:
    for name, value in table.items():
        key = f"{before}{name}"
        if isinstance(value, Mapping):
            yield from _flat(value, f"{key}.", path)
        else:
            yield key, _text(value, key, path)


def _text(value: Any, key: str, path: str) -> str:
    """Return a value as the short form writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (str, int)):
        return str(value)
    if isinstance(value, list) and all(isinstance(item, (str, int)) and not isinstance(item, bool) for item in value):
        return "+".join(map(str, value))
    raise UsageError(f"{path}: {key}: expected text in quotes, a whole number, true or false, got {value!r}; a version "
                     'is written in quotes, as in python = "3.10"')
