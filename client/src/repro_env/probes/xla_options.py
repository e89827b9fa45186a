"""What XLA was told, as it understood it: the options that a new compilation starts from.

They are the program's environment as XLA parsed it once, so a variable that was set later, or mistyped, does not count.
The library hands them out only in its own wire format, which is read here as far as two switches need it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

#: numbers of the fields on the way (xla/pjrt/proto/compile_options.proto), and of the switches (xla/xla.proto).
_BUILD_OPTIONS, _DEBUG_OPTIONS = 3, 3
_SWITCHES = (148, 297)
#: the same switches as XLA_FLAGS spells them: deterministic kernels only; the same without slower ones where avoidable.
FLAGS = ("--xla_gpu_deterministic_ops", "--xla_gpu_exclude_nondeterministic_ops")
_VARINT, _EIGHT_BYTES, _LENGTH, _FOUR_BYTES = 0, 1, 2, 5


def deterministic(options: bytes) -> bool:
    """Tell whether serialised compile options demand deterministic kernels; raise ``ValueError`` for other bytes."""
    debug = _message(_message(options, _BUILD_OPTIONS), _DEBUG_OPTIONS)
    return any(bool(value) for number, value in _fields(debug) if number in _SWITCHES)


def demanded(flags: str) -> bool:
    """Tell whether the words of XLA_FLAGS demand deterministic kernels; of one flag the last word counts."""
    last = {}
    for word in flags.split():
        name, _, value = word.partition("=")
        last[name] = value.lower() in ("", "true", "1")
    return any(last.get(flag, False) for flag in FLAGS)


def _message(content: bytes, number: int) -> bytes:
    """Return the nested message in field ``number``; ``ValueError`` where there is none."""
    for found, value in _fields(content):
        if found == number and isinstance(value, bytes):
            return value
    raise ValueError(f"expected a message in field {number}")


def _fields(content: bytes) -> Iterator[tuple[int, Any]]:
    """Yield number and value of each field: an integer, or bytes."""
    at = 0
    while at < len(content):
        key, at = _varint(content, at)
        kind = key & 7
        if kind == _VARINT:
            value, at = _varint(content, at)
            yield key >> 3, value
            continue
        if kind == _LENGTH:
            size, at = _varint(content, at)
        else:
            size = {_EIGHT_BYTES: 8, _FOUR_BYTES: 4}.get(kind, len(content) + 1)
        if at + size > len(content):
            raise ValueError("expected the wire format of a message")
        yield key >> 3, content[at:at + size]
        at += size


def _varint(content: bytes, at: int) -> tuple[int, int]:
    """Return an integer of seven bits a byte, and where the next field starts."""
    value = shift = 0
    while at < len(content):
        byte = content[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at
    raise ValueError("expected an integer in the wire format of a message")
