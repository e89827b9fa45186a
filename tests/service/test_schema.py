"""The published JSON Schema is the one in the golden file, and refuses what the validator refuses."""

from __future__ import annotations

import copy
import json
import re
from pathlib import Path

import pytest
from documents import complete_document

from repro_env.errors import InvalidDocument
from repro_env.fingerprint.validate import validate
from repro_env_service.schema import document_schema

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "document.schema.json"


def test_schema_is_the_golden_one(request, api):
    text = json.dumps(document_schema(), indent=1, sort_keys=True) + "\n"
    if request.config.getoption("--regenerate", default=False):
        GOLDEN.write_text(text)
    assert GOLDEN.read_text() == text
    assert api.get("/v1/schema/document").json() == document_schema()


TYPES = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool, "null": type(None)}
#: the keywords that the schema may use, so that none is there which the reading below passes over.
KEYWORDS = {"type", "properties", "required", "additionalProperties", "items", "anyOf", "$ref", "enum", "const",
            "pattern", "minimum", "maximum", "propertyNames", "not", "title", "description",
            "examples", "$defs", "$schema", "$id"}


class Reading:
    """JSON Schema as far as the document's one uses it, read by the book and apart from our validator."""

    def __init__(self, root):
        self.root = root

    def is_valid(self, value, schema=None):
        schema = self.root if schema is None else schema
        assert schema.keys() <= KEYWORDS, schema.keys() - KEYWORDS
        if "$ref" in schema:
            return self.is_valid(value, self.root["$defs"][schema["$ref"].removeprefix("#/$defs/")])
        if "anyOf" in schema:
            return any(self.is_valid(value, option) for option in schema["anyOf"])
        kind = TYPES[schema["type"]]
        if type(value) is not kind or value not in schema.get("enum", [value]) or schema.get("const", value) != value:
            return False
        return {dict: self.is_object, list: self.is_list, str: self.is_text, int: self.is_integer}.get(
            kind, lambda _value, _schema: True)(value, schema)

    def is_object(self, value, schema):
        known = schema.get("properties", {})
        if "not" in schema:
            assert schema["not"] == {"required": ["unread"], "maxProperties": 1}
            if value.keys() == {"unread"}:
                return False
        if not all(re.search(schema.get("propertyNames", {}).get("pattern", ""), name) for name in value):
            return False
        if not set(schema.get("required", ())) <= value.keys():
            return False
        more = schema.get("additionalProperties", {})
        return all(self.is_valid(item, known[name]) if name in known
                   else more is not False and self.is_valid(item, more) for name, item in value.items())

    def is_list(self, value, schema):
        return all(self.is_valid(item, schema["items"]) for item in value)

    def is_text(self, value, schema):
        return re.search(schema.get("pattern", ""), value) is not None

    def is_integer(self, value, schema):
        return schema["minimum"] <= value <= schema["maximum"]


@pytest.fixture(scope="module")
def validator():
    return Reading(document_schema())


def leaves(value, path=()):
    """Every place of a document, parts and sections too."""
    yield path
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))


def changed(document, path, value):
    result = copy.deepcopy(document)
    holder = result
    for step in path[:-1]:
        holder = holder[step]
    if value is MISSING:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return result


MISSING = object()
#: free maps, where a missing or another key is no error.
FREE = {("stack", "variables", "values"), ("capture", "labels"), ("capture", "results"), ("capture", "sources"),
        ("program", "declared", "values"), ("program", "random", "seeds"), ("capture", "process", "device_masks")}


def accepted(document):
    try:
        validate(document)
    except InvalidDocument:
        return False
    return True


@pytest.mark.parametrize("machine", ["cpu", "h100"])
def test_complete_documents_are_valid_for_both(validator, machine):
    for vantage in ("process", "exit", "prologue", "import", "image"):
        document = complete_document(vantage, machine)
        assert accepted(document)
        assert validator.is_valid(document)


@pytest.mark.parametrize("value", [MISSING, None, 7, -(2**53), "text", "a\x00", True, [], {}, {"unread": "timeout"},
                                   {"unread": "lazy"}, {"unread": "timeout", "more": 1}, {"é": "x"}],
                         ids=["missing", "null", "integer", "large-integer", "text", "nul", "boolean", "list", "object",
                              "unread", "unknown-code", "unread-with-more", "key-beyond-ascii"])
def test_schema_and_validator_agree_on_every_field(validator, value):
    document = complete_document("process", "h100")
    disagreements = []
    for path in [path for path in leaves(document) if path and path[:-1] not in FREE and path[0] != "digests"]:
        mutated = changed(document, path, value)
        if accepted(mutated) != validator.is_valid(mutated):
            disagreements.append((".".join(path), accepted(mutated)))
    assert disagreements == []


@pytest.mark.parametrize("path", [("more",), ("stack", "more"), ("stack", "driver", "more"),
                                  ("capture", "job", "more")])
def test_unknown_field_is_refused_by_both(validator, path):
    mutated = changed(complete_document(), path, 1)
    assert not accepted(mutated)
    assert not validator.is_valid(mutated)


def test_every_field_has_its_meaning_and_source(api):
    for definition in (document_schema(), *document_schema()["$defs"].values()):
        for name, row in definition.get("properties", {}).items():
            assert definition.get("title") == "Unread" or "(source: " in row["description"], name
