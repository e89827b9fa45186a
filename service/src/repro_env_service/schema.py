"""The JSON Schema of the document, made from the client's dataclasses; published, and held by a golden file."""

from __future__ import annotations

import dataclasses
from functools import lru_cache
from types import ModuleType
from typing import Any

from pydantic import TypeAdapter
from repro_env.canonical import MAX_INTEGER
from repro_env.fingerprint import document, hardware, modes, program, record, software
from repro_env.fingerprint.document import Fingerprint
from repro_env.fingerprint.facts import SCHEMA_VERSION
from repro_env.fingerprint.validate import SUBJECTS, VANTAGES

MODULES: tuple[ModuleType, ...] = (document, hardware, modes, program, record, software)


@lru_cache(maxsize=1)
def document_schema() -> dict[str, Any]:
    """Return the JSON Schema of the current document version (draft 2020-12)."""
    schema = TypeAdapter(Fingerprint).json_schema(ref_template="#/$defs/{model}")
    definitions = schema["$defs"]
    for name, kind in _definitions().items():
        target = schema if kind is Fingerprint else definitions.get(name)
        if target is not None:
            _describe(target, kind)
    _strengthen(schema)
    schema["properties"]["schema"]["const"] = SCHEMA_VERSION
    for field, words in (("vantage", VANTAGES), ("subject", SUBJECTS)):
        definitions["Capture"]["properties"][field]["enum"] = list(words)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "/v1/schema/document", **schema}


def _definitions() -> dict[str, type]:
    """Return every dataclass of the definition by its name."""
    return {name: kind for module in MODULES for name, kind in vars(module).items()
            if isinstance(kind, type) and dataclasses.is_dataclass(kind) and kind.__module__ == module.__name__}


def _describe(target: dict[str, Any], kind: type) -> None:
    """Add meaning, source and example of each field, and close the object."""
    target["additionalProperties"] = False
    target["description"] = (kind.__doc__ or "").strip()
    for field in dataclasses.fields(kind):
        row = target["properties"][field.name]
        row["description"] = f"{field.metadata['meaning']} (source: {field.metadata['source']})"
        row.pop("title", None)
        if field.metadata["example"] is not None:
            row["examples"] = [field.metadata["example"]]


def _strengthen(value: Any) -> None:
    """Say what the validator says everywhere: integers a double holds, text without NUL, ASCII keys."""
    if isinstance(value, list):
        for item in value:
            _strengthen(item)
    if not isinstance(value, dict):
        return
    value.update(_bounds(value))
    if value.get("title") == "Unread":
        value["additionalProperties"] = False
    if {"$ref": "#/$defs/Unread"} in value.get("anyOf", ()):
        _keep_unread_out_of_maps(value["anyOf"])
    for key, item in list(value.items()):
        if key not in ("examples", "description"):
            _strengthen(item)


def _bounds(schema: dict[str, Any]) -> dict[str, Any]:
    """Return what the validator demands of every value of a schema's type."""
    kind = schema.get("type")
    if kind == "integer":
        return {"minimum": -MAX_INTEGER, "maximum": MAX_INTEGER}
    if kind == "string" and "enum" not in schema:
        return {"pattern": "^[^\\u0000]*$"}
    if kind == "object" and "properties" not in schema:
        return {"propertyNames": {"pattern": "^[\\u0001-\\u007f]*$"}}
    return {}


def _keep_unread_out_of_maps(options: list[dict[str, Any]]) -> None:
    """Say that ``{"unread": ...}`` is the unread fact even where a map of names could stand."""
    for option in options:
        if option.get("type") == "object":
            option["not"] = {"required": ["unread"], "maxProperties": 1}
