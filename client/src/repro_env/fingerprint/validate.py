"""Check a JSON value against the definition, and bring documents of older minor versions up to it.

One validator serves the client offline and the service, so a document is refused with the same words everywhere.
"""

from __future__ import annotations

import dataclasses
import json
import re
import typing
from functools import cache
from typing import Any, Union

from ..canonical import check_canonical, digest
from ..errors import InvalidDocument, UnknownSchema
from .document import Fingerprint
from .facts import SCHEMA_VERSION, UNREAD_CODES
from .field import Unread

VANTAGES = ("prologue", "process", "exit", "import", "image")
SUBJECTS = ("node", "environment", "process", "document")
_TYPE_NAMES = {str: "text", int: "an integer", bool: "true or false"}
_VERSION = re.compile(r"(0|[1-9][0-9]{0,5})\.(0|[1-9][0-9]{0,5})", re.ASCII)


def validate(document: Any) -> dict[str, Any]:
    """Return ``document`` as the current schema has it, or raise ``InvalidDocument`` naming the first bad field.

    A newer minor version is accepted with its unknown fields kept; in the current version an unknown field is an
    error. A fact missing in an older minor version becomes unread ``not-recorded``. Claimed digests are held against
    the computed ones; those of an upgraded document are its own. The whole document has canonical bytes, ``capture``
    and unknown fields too, so that a repeated observation can be told from another one.
    """
    if not isinstance(document, dict):
        raise InvalidDocument("$", f"expected an object with schema, stack, program, capture, got {_name(document)}")
    newer = _check_version(document.get("schema"))
    older = document["schema"] != SCHEMA_VERSION and not newer
    check_canonical(document, "")
    claimed = document.get("digests")
    _check_claims(document, claimed)
    checked = _Checker(lenient=newer, fill=older).object(Fingerprint, document, "")
    _check_vocabulary(checked["capture"])
    if not older:
        return checked
    current = part_digests(checked)
    digests = {part: current[part] if isinstance(claim, str) else claim for part, claim in checked["digests"].items()}
    return {**checked, "schema": SCHEMA_VERSION, "digests": digests}


def part_digests(document: dict[str, Any]) -> dict[str, str]:
    """Return the digests of the two judged parts."""
    return {part: digest(document[part], part) for part in ("stack", "program")}


def _check_version(schema: Any) -> bool:
    """Tell whether ``schema`` is a newer minor version; refuse another major one."""
    match = _VERSION.fullmatch(schema) if isinstance(schema, str) else None
    if match is None:
        raise InvalidDocument("schema", f"expected a version like {SCHEMA_VERSION}, got {_name(schema)}; send the "
                                        "version of the definition the document was written for")
    ours_major, _, ours_minor = SCHEMA_VERSION.partition(".")
    major, minor = match.groups()
    if major != ours_major:
        raise UnknownSchema("schema", f"expected major version {ours_major}, got {schema}; upgrade the side that is "
                                      "older and send the document again")
    return int(minor) > int(ours_minor)


def _check_claims(document: dict[str, Any], claimed: Any) -> None:
    if not isinstance(claimed, dict):
        return
    for part in ("stack", "program"):
        claim = claimed.get(part)
        if isinstance(claim, str):
            actual = digest(document.get(part), part)
            if claim != actual:
                raise InvalidDocument(
                    f"digests.{part}", f"expected {actual} (computed from the part), got {_name(claim)}; send the "
                                       'digest of the canonical bytes, or {"unread": "not-recorded"}')


def _check_vocabulary(capture: dict[str, Any]) -> None:
    for field, allowed in (("vantage", VANTAGES), ("subject", SUBJECTS)):
        if capture[field] not in allowed:
            got = _name(capture[field])
            raise InvalidDocument(f"capture.{field}", f"expected one of {', '.join(allowed)}, got {got}")


class _Checker:
    """Walks a value along the types of the definition and returns a checked copy."""

    def __init__(self, *, lenient: bool, fill: bool) -> None:
        self.lenient = lenient
        self.fill = fill

    def object(self, kind: type, value: Any, field: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise InvalidDocument(field or "$", f"expected an object, got {_name(value)}")
        hints = _hints(kind)
        result: dict[str, Any] = {}
        for name, hint in hints.items():
            path = f"{field}.{name}" if field else name
            if name in value:
                result[name] = self.value(hint, value[name], path)
            elif self.fill and _shape(hint)[0] is Union:
                result[name] = {"unread": "not-recorded"}
            elif self.fill and dataclasses.is_dataclass(hint):
                result[name] = self.object(typing.cast("type", hint), {}, path)
            else:
                raise InvalidDocument(path, _missing(hint))
        extra = [name for name in value if name not in hints]
        if extra and not self.lenient:
            raise InvalidDocument((f"{field}." if field else "") + ascii(extra[0])[1:-1][:80],
                                  f"unknown field in schema {SCHEMA_VERSION}; remove it, or send the newer schema "
                                  "version that has it")
        result.update((name, value[name]) for name in extra)
        return result

    def value(self, hint: Any, value: Any, field: str) -> Any:
        origin, arguments = _shape(hint)
        if origin is Union:
            return self._fact(arguments, value, field)
        if origin is tuple:
            if not isinstance(value, (list, tuple)):
                raise InvalidDocument(field, f"expected a list, got {_name(value)}")
            return [self.value(arguments[0], item, f"{field}[{index}]") for index, item in enumerate(value)]
        if origin is dict:
            return self._mapping(arguments[1], value, field)
        if origin in (str, int, bool):
            return _scalar(origin, value, field)
        return self.object(origin, value, field)

    def _fact(self, arguments: tuple[Any, ...], value: Any, field: str) -> Any:
        if value is None:
            return None
        if isinstance(value, dict) and "unread" in value and len(value) == 1:
            code = value["unread"]
            if not isinstance(code, str) or code not in UNREAD_CODES:
                raise InvalidDocument(field, f"expected an unread code of {', '.join(UNREAD_CODES)}, got {_name(code)}")
            return value
        (inner,) = [item for item in arguments if item is not type(None) and item is not Unread]
        return self.value(inner, value, field)

    def _mapping(self, inner: Any, value: Any, field: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise InvalidDocument(field, f"expected an object, got {_name(value)}")
        return {key: self.value(inner, item, f"{field}.{key}") for key, item in value.items()}


def _missing(hint: Any) -> str:
    if _shape(hint)[0] is Union:
        return 'missing; send null for surely absent or {"unread": code} for not read'
    return "missing; this field is always known, send its value"


def _scalar(kind: type, value: Any, field: str) -> Any:
    if type(value) is not kind:
        raise InvalidDocument(field, f"expected {_TYPE_NAMES[kind]}, got {_name(value)}")
    return value


def _name(value: Any) -> str:
    """Return a value as its sender wrote it, in JSON, cut to a length that fits a message."""
    shown = json.dumps(value, default=lambda item: type(item).__name__)
    return shown if len(shown) <= 80 else shown[:77] + "..."


@cache
def _hints(kind: type) -> dict[str, Any]:
    hints = typing.get_type_hints(kind)
    return {item.name: hints[item.name] for item in dataclasses.fields(kind)}


@cache
def _shape(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    origin = typing.get_origin(hint)
    return (origin, typing.get_args(hint)) if origin is not None else (hint, ())
