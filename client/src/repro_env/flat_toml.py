"""Settings files on Pythons before 3.11, which bring no TOML reader: flat tables of texts, numbers and booleans.

Everything else TOML knows is refused with the line and what to write instead; on newer Pythons ``tomllib`` reads it.
"""

from __future__ import annotations

from .errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_ESCAPES = {'"': '"', "\\": "\\", "n": "\n", "t": "\t"}


def parse(text: str, within: str, path: str) -> dict[str, Any]:
    """Return the table named ``within`` (empty: the whole file) with its sub-tables; raise ``UsageError``."""
    result: dict[str, Any] = {}
    table: dict[str, Any] | None = None if within else result
    for number, line in enumerate(text.splitlines(), 1):
        content = line.strip()
        if not content or content.startswith("#"):
            continue
        try:
            if content.startswith("["):
                table = _table(content, within, result)
            elif table is not None:
                _add(table, *_pair(content))
        except UsageError as error:
            raise UsageError(f"{path} line {number}: {error}") from error
    return result


def _table(header: str, within: str, result: dict[str, Any]) -> dict[str, Any] | None:
    """Return the table that a header opens, ``None`` for a table of somebody else."""
    name = _without_comment(header)[1:-1].strip().replace('"', "").replace(" ", "")
    if within:
        if name == within:
            return result
        if not name.startswith(within + "."):
            return None
        name = name[len(within) + 1:]
    if not name or not _BARE.issuperset(name):
        raise UsageError(f"expected a table like [labels], got {header[:60]}")
    opened: dict[str, Any] = result.setdefault(name, {})
    return opened


def _add(table: dict[str, Any], name: str, value: Any) -> None:
    if name in table:
        raise UsageError(f"{name} is set twice")
    table[name] = value


def _pair(line: str) -> tuple[str, Any]:
    name, equals, rest = line.partition("=")
    name = name.strip().strip('"')
    if not equals or not name or not _BARE.issuperset(name):
        raise UsageError(f'expected key = "value", got {line[:60]}')
    return name, _value(rest.strip(), name)


def _value(text: str, name: str) -> Any:
    if text[:3] in ('"""', "'''") or text[:1] in ("[", "{", ""):
        raise UsageError(f"{name}: expected a text in quotes, a number, true or false, on one line; a table of texts "
                         f'is written as [{name}] with key = "value" lines')
    if text[0] in "\"'":
        value, rest = _quoted(text, name)
        if _without_comment(rest):
            raise UsageError(f"{name}: expected the line to end after the text, got {rest.strip()[:40]}")
        return value
    word = _without_comment(text)
    if word in ("true", "false"):
        return word == "true"
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    raise UsageError(f"{name}: expected a text in quotes, a number, true or false, got {word[:40]}")


def _quoted(text: str, name: str) -> tuple[str, str]:
    """Return a quoted text and what follows it."""
    quote, position = text[0], 1
    parts: list[str] = []
    while position < len(text):
        character = text[position]
        if character == quote:
            return "".join(parts), text[position + 1:]
        if character == "\\" and quote == '"':
            position += 1
            escape = text[position:position + 1]
            if escape not in _ESCAPES:
                raise UsageError(f"{name}: the escape \\{escape} is not read before Python 3.11")
            character = _ESCAPES[escape]
        parts.append(character)
        position += 1
    raise UsageError(f"{name}: expected a closing {quote}")


def _without_comment(text: str) -> str:
    return text.partition("#")[0].strip()
