"""Canonical bytes and digests of JSON values, and the strict reading of JSON text.

RFC 8785 kept simple by rule (``docs/architecture.md``): no fractions or exponents, ASCII keys, integers within
2^53-1, no lone surrogates, no NUL. Under these rules sorted compact JSON *is* the RFC 8785 form: ASCII keys sort
alike by code point and by UTF-16 unit, and Python writes string escapes as ECMAScript does.
"""

from __future__ import annotations

import json

from .errors import InvalidDocument

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from hashlib import sha256
    from typing import Any
else:
    try:  # the interpreter's own hash: loading OpenSSL's costs a capture a quarter of a bare interpreter start
        from _sha2 import sha256
    except ImportError:
        try:
            from _sha256 import sha256
        except ImportError:
            from hashlib import sha256

MAX_INTEGER = 2**53 - 1
MAX_DEPTH = 32
MAX_BYTES = 1 << 20
#: more digits than any double needs; reading longer ones takes time that grows with their square.
MAX_FLOAT_DIGITS = 1100


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
    return "sha256:" + sha256(data).hexdigest()


def check_canonical(value: Any, field: str = "$", depth: int = 0) -> None:
    """Raise ``InvalidDocument`` at the first place where ``value`` has no canonical form.

    ``field`` names the value in the message; ``depth`` is how deep in its document it stands.
    """
    found = _first_fault(value, depth)
    if found is not None:
        steps, problem = found
        raise InvalidDocument(field + steps if field else steps.removeprefix(".") or "$", problem)


def _first_fault(value: Any, depth: int) -> tuple[str, str] | None:
    """Return the first fault as the steps that lead to it and what is wrong there; paths are only built for faults."""
    kind = type(value)
    if kind is str:
        return None if value.isascii() and "\x00" not in value else _at_value(_string_fault(value))
    if kind is dict or kind is list or kind is tuple:
        if depth >= MAX_DEPTH:
            return "", f"expected at most {MAX_DEPTH} levels of nesting; flatten it"
        return _fault_in_object(value, depth + 1) if kind is dict else _fault_in_list(value, depth + 1)
    if kind is int:
        return None if -MAX_INTEGER <= value <= MAX_INTEGER else _at_value(_integer_fault(value))
    if value is None or kind is bool:
        return None
    if kind is float:
        return "", f'expected no fraction or exponent, got {value!r}; send it as the string "{value!r}"'
    return "", f"expected a JSON value, got {kind.__name__}"


def _fault_in_object(value: dict[Any, Any], depth: int) -> tuple[str, str] | None:
    for key, item in value.items():
        if type(key) is not str or not key.isascii() or "\x00" in key:
            return "", f"expected ASCII keys, got {ascii(key)[:60]}"
        found = _first_fault(item, depth)
        if found is not None:
            return f".{key[:80]}{found[0]}", found[1]
    return None


def _fault_in_list(value: list[Any] | tuple[Any, ...], depth: int) -> tuple[str, str] | None:
    for index, item in enumerate(value):
        found = _first_fault(item, depth)
        if found is not None:
            return f"[{index}]{found[0]}", found[1]
    return None


def _at_value(problem: str | None) -> tuple[str, str] | None:
    return None if problem is None else ("", problem)


def _string_fault(value: str) -> str | None:
    """NUL and lone surrogates: neither survives every store and transport."""
    if "\x00" in value:
        return "expected text without NUL characters; remove them"
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        return (f"expected Unicode text, got the lone surrogate {value[error.start]!a} at character "
                f"{error.start}; decode the text with errors='replace' before sending")
    return None


def _integer_fault(value: int) -> str:
    """Integers that a double cannot hold exactly."""
    shown = hex(value)[:40] if value.bit_length() > 128 else str(value)
    return f"expected an integer within 2^53-1, got {shown}; send it as a string"


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
    faults: list[_Fault] = []

    def fault(problem: str) -> _Fault:
        faults.append(_Fault(problem))
        return faults[-1]

    try:
        value = json.loads(
            text, object_pairs_hook=lambda pairs: _unique(pairs, fault),
            parse_constant=lambda name: fault(f"expected finite numbers, got {name}"),
            parse_int=lambda digits: _bounded_integer(digits, fault),
            parse_float=lambda digits: _finite_float(digits, fault))
    except json.JSONDecodeError as error:
        raise InvalidDocument("$", f"expected JSON, got a syntax error at line {error.lineno} column {error.colno}: "
                                   f"{error.msg}") from error
    except RecursionError as error:
        raise InvalidDocument("$", _TOO_DEEP) from error
    if faults:
        path, first = _find_fault(value) or ("", faults[0])
        raise InvalidDocument(path.removeprefix(".") or "$", first.problem)
    return value


_TOO_DEEP = f"expected at most {MAX_DEPTH} levels of nesting; flatten it"


class _Fault:
    """Stands in the parsed value where the text broke a rule, so that the message can name the place."""

    def __init__(self, problem: str) -> None:
        self.problem = problem


def _find_fault(value: Any) -> tuple[str, _Fault] | None:
    """Return the first fault in a parsed value, and the steps that lead to it."""
    if isinstance(value, _Fault):
        return "", value
    if isinstance(value, dict):
        rows = [(f".{ascii(key)[1:-1][:80]}", item) for key, item in value.items()]
    else:
        rows = [(f"[{index}]", item) for index, item in enumerate(value)] if isinstance(value, list) else []
    for step, item in rows:
        found = _find_fault(item)
        if found is not None:
            return step + found[0], found[1]
    return None


def _check_depth(text: str) -> None:
    """Refuse deep nesting before the recursive parser sees it; brackets inside strings are skipped.

    Backslashes stand only inside strings, so without escape pairs every second piece between quotes lies outside.
    """
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return
    outside = "".join(text.replace("\\\\", "").replace('\\"', "").split('"')[::2])
    depth = 0
    for character in outside:
        if character in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise InvalidDocument("$", _TOO_DEEP)
        elif character in "]}":
            depth -= 1


def _unique(pairs: list[tuple[str, Any]], fault: Callable[[str], _Fault]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                result[key] = fault("expected each key once, got it twice in one object; remove one")
            seen.add(key)
    return result


def _bounded_integer(digits: str, fault: Callable[[str], _Fault]) -> Any:
    if len(digits) > len(str(-MAX_INTEGER)):
        return fault(f"expected an integer within 2^53-1, got {digits[:40]}; send it as a string")
    return int(digits)


def _finite_float(digits: str, fault: Callable[[str], _Fault]) -> Any:
    """Return a fraction as a float, so that the definition can say where it stands; refuse one beyond a double."""
    value = float(digits) if len(digits) <= MAX_FLOAT_DIGITS else float("inf")
    if value in {float("inf"), float("-inf")}:
        return fault(f"expected a finite number, got {digits[:40]}; send it as a string")
    return value
