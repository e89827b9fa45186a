"""Canonical bytes and digests of JSON values, and the strict reading of JSON text.

RFC 8785 kept simple by rule (``docs/architecture.md``): no fractions or exponents, ASCII keys, integers within
2^53-1, no lone surrogates, no NUL. Under these rules sorted compact JSON *is* the RFC 8785 form: ASCII keys sort
alike by code point and by UTF-16 unit, and Python writes string escapes as ECMAScript does.
"""

from __future__ import annotations

import hashlib
import json

from .errors import InvalidDocument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_INTEGER = 2**53 - 1
MAX_DEPTH = 32
MAX_BYTES = 1 << 20


def canonical_bytes(value: Any, field: str = "$") -> bytes:
    """Return the canonical bytes of ``value``; raise ``InvalidDocument`` naming the field that has none."""
    check_canonical(value, field)
    return encode(value)


def encode(value: Any) -> bytes:
    """Return sorted compact JSON of a value already known to be canonical."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode("utf-8")


def digest(value: Any, field: str = "$") -> str:
    """Return ``sha256:<hex>`` over the canonical bytes of ``value``."""
    return digest_bytes(canonical_bytes(value, field))


def digest_bytes(data: bytes) -> str:
    """Return ``sha256:<hex>`` over ``data``."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def check_canonical(value: Any, field: str, depth: int = 0) -> None:
    """Raise ``InvalidDocument`` at the first place where ``value`` has no canonical form."""
    if value is None or value is True or value is False:
        return
    if depth > MAX_DEPTH:
        raise InvalidDocument(field, f"nested deeper than {MAX_DEPTH} levels")
    kind = type(value)
    if kind is str:
        check_string(value, field)
    elif kind is int:
        check_integer(value, field)
    elif kind is dict:
        for key, item in value.items():
            check_key(key, field)
            check_canonical(item, f"{field}.{key}", depth + 1)
    elif kind is list or kind is tuple:
        for index, item in enumerate(value):
            check_canonical(item, f"{field}[{index}]", depth + 1)
    elif kind is float:
        raise InvalidDocument(field, f"expected no fraction or exponent, got {value!r}; send it as the string "
                                     f"\"{value!r}\"")
    else:
        raise InvalidDocument(field, f"expected a JSON value, got {kind.__name__}")


def check_string(value: str, field: str) -> None:
    """Refuse NUL and lone surrogates: neither survives every store and transport."""
    if "\x00" in value:
        raise InvalidDocument(field, "expected text without NUL characters")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidDocument(field, "expected Unicode text, got a lone surrogate") from error


def check_integer(value: int, field: str) -> None:
    """Refuse integers that a double cannot hold exactly."""
    if not -MAX_INTEGER <= value <= MAX_INTEGER:
        raise InvalidDocument(field, f"expected an integer within 2^53-1, got {str(value)[:40]}; send it as a string")


def check_key(key: Any, field: str) -> None:
    """Refuse keys that are not ASCII text."""
    if not isinstance(key, str) or not key.isascii() or "\x00" in key:
        raise InvalidDocument(field, f"expected ASCII keys, got {ascii(key)[:60]}")


def parse(data: bytes, *, max_bytes: int = MAX_BYTES) -> Any:
    """Read JSON strictly: UTF-8, no duplicate keys, no NaN or infinity, bounded size and depth.

    Raise ``InvalidDocument`` with the place where the text breaks a rule.
    """
    if len(data) > max_bytes:
        raise InvalidDocument("$", f"expected at most {max_bytes} bytes, got {len(data)}")
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidDocument("$", f"expected UTF-8, got another encoding at byte {error.start}") from error
    _check_depth(text)
    try:
        return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_int=_bounded_integer)
    except json.JSONDecodeError as error:
        raise InvalidDocument("$", f"expected JSON, got a syntax error at line {error.lineno} column {error.colno}: "
                                   f"{error.msg}") from error
    except RecursionError as error:
        raise InvalidDocument("$", f"nested deeper than {MAX_DEPTH} levels") from error


def _check_depth(text: str) -> None:
    """Refuse deep nesting before the recursive parser sees it; brackets inside strings are skipped."""
    depth = 0
    in_string = escaped = False
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    for character in text:
        if in_string:
            if escaped:
                escaped = False
            elif character == "\\":
                escaped = True
            elif character == '"':
                in_string = False
        elif character == '"':
            in_string = True
        elif character in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise InvalidDocument("$", f"nested deeper than {MAX_DEPTH} levels")
        elif character in "]}":
            depth -= 1


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for key, value in pairs:
        if key in result:
            raise InvalidDocument(key, "expected each key once, got it twice in one object")
        result[key] = value
    return result


def _refuse_constant(name: str) -> Any:
    raise InvalidDocument("$", f"expected finite numbers, got {name}")


def _bounded_integer(text: str) -> int:
    if len(text) > 17:
        raise InvalidDocument("$", f"expected an integer within 2^53-1, got {text[:40]}; send it as a string")
    return int(text)
