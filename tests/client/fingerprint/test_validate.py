"""Validation: every bad document is refused by the name of its field, with what was expected, what came, what to do."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from documents import Document, change, complete_document
from hypothesis import given
from hypothesis import strategies as st
from strategies import ANY_JSON, documents, erase, fact_paths

from repro_env.canonical import canonical_bytes, digest, parse
from repro_env.errors import InvalidDocument, UnknownSchema
from repro_env.fingerprint import validate as validation
from repro_env.fingerprint.facts import SCHEMA_VERSION, UNREAD_CODES
from repro_env.fingerprint.validate import part_digests, validate

#: documents as clients of older schemas wrote them.
RECORDED = Path(__file__).parents[2] / "golden" / "documents"


def planted(path: str, value: Any) -> Document:
    """A complete document with ``value`` at ``path``, which starts at the top."""
    document = complete_document()
    *steps, last = path.split(".")
    holder: Any = document
    for step in steps:
        holder = holder[int(step) if isinstance(holder, list) else step]
    holder[int(last) if isinstance(holder, list) else last] = value
    return document


def without(path: str) -> Document:
    document = complete_document()
    *steps, last = path.split(".")
    holder: Any = document
    for step in steps:
        holder = holder[step]
    del holder[last]
    return document


def refusal_of(document: Any) -> InvalidDocument:
    with pytest.raises(InvalidDocument) as refused:
        validate(document)
    return refused.value


@pytest.mark.parametrize("machine", ["cpu", "h100"])
def test_a_complete_document_is_valid_and_comes_back_as_it_is(machine: str) -> None:
    document = complete_document(machine=machine)
    assert validate(document) == document


@given(documents(1))
def test_documents_with_erased_facts_are_valid_and_survive_validation_and_bytes(only: list[Document]) -> None:
    document = {**only[0]}
    assert validate(document) == document
    assert validate(parse(canonical_bytes(document))) == document


def test_validation_does_not_change_what_it_is_given() -> None:
    document = complete_document()
    before = copy.deepcopy(document)
    validate(document)
    assert document == before


WRONG: dict[str, tuple[str, Any, str, str]] = {
    "number for text": ("stack.python.version", 3, "stack.python.version", "expected text, got 3"),
    "text for integer": ("stack.threads.openmp", "8", "stack.threads.openmp", 'expected an integer, got "8"'),
    "boolean for integer": ("stack.threads.openmp", True, "stack.threads.openmp", "expected an integer, got true"),
    "integer for boolean": ("stack.determinism.warn_only", 0, "stack.determinism.warn_only",
                            "expected true or false, got 0"),
    "list for object": ("stack.cpu", [], "stack.cpu", "expected an object, got []"),
    "object for list": ("stack.cpu.instruction_sets", {}, "stack.cpu.instruction_sets", "expected a list, got {}"),
    "text for list": ("stack.cpu.instruction_sets", "avx", "stack.cpu.instruction_sets", "expected a list, got"),
    "null in a list": ("stack.cpu.instruction_sets", ["avx", None], "stack.cpu.instruction_sets[1]",
                       "expected text, got null"),
    "null for what is always known": ("capture.observation_id", None, "capture.observation_id",
                                      "expected text, got null"),
    "null for a part": ("stack", None, "stack", "expected an object, got null"),
    "wrong item of a list of objects": ("stack.distributions.installed.1.version", 7,
                                        "stack.distributions.installed[1].version", "expected text, got 7"),
    "wrong value in a mapping": ("stack.variables.values.PYTHONHASHSEED", 0, "stack.variables.values.PYTHONHASHSEED",
                                 "expected text, got 0"),
    "wrong label": ("capture.labels", {"owner": 1}, "capture.labels.owner", "expected text, got 1"),
    "fraction in stack": ("stack.threads.openmp", 1.5, "stack.threads.openmp", 'send it as the string "1.5"'),
    "fraction in program": ("program.layout.ddp_bucket_mb", 25.0, "program.layout.ddp_bucket_mb",
                            'send it as the string "25.0"'),
    "fraction in capture": ("capture.durations_us", {"cpu": 0.5}, "capture.durations_us.cpu", "expected no fraction"),
    "NaN": ("stack.threads.openmp", float("nan"), "stack.threads.openmp", "expected no fraction or exponent, got nan"),
    "integer beyond 2^53": ("stack.accelerators.devices", [{"memory_bytes": 2**53}],
                            "stack.accelerators.devices[0].memory_bytes", "expected an integer within 2^53-1"),
    "lone surrogate": ("capture.process.user", "\udc80", "capture.process.user", "lone surrogate"),
    "NUL": ("program.declared.values", {"a": "x\0"}, "program.declared.values.a", "expected text without NUL"),
    "key beyond ASCII": ("program.declared.values", {"é": "x"}, "program.declared.values", "expected ASCII keys"),
    "unknown section": ("stack.weather", {}, "stack.weather", "unknown field in schema 1.1; remove it"),
    "unknown fact": ("stack.cpu.turbo", True, "stack.cpu.turbo", "unknown field"),
    "unknown part": ("notes", "x", "notes", "unknown field"),
    "unknown code": ("stack.cpu.vendor", {"unread": "lost"}, "stack.cpu.vendor",
                     "expected an unread code of timeout, denied, failed"),
    "code that is no text": ("stack.cpu.vendor", {"unread": ["timeout"]}, "stack.cpu.vendor", 'got ["timeout"]'),
    "code and more": ("stack.cpu.vendor", {"unread": "timeout", "why": "x"}, "stack.cpu.vendor",
                      "expected text, got {"),
    "unread section": ("stack.cpu", {"unread": "timeout"}, "stack.cpu.architecture", "missing; send null"),
    "unread without leave": ("capture.sequence", {"unread": "timeout"}, "capture.sequence", "expected an integer"),
    "unknown vantage": ("capture.vantage", "orbit", "capture.vantage",
                        'expected one of prologue, process, exit, import, image, got "orbit"'),
    "unknown subject": ("capture.subject", "", "capture.subject", 'got ""'),
    "claimed digest": ("digests.stack", "sha256:" + "0" * 64, "digests.stack", "computed from the part), got"),
    "claimed digest of the program": ("digests.program", "x", "digests.program", 'got "x"'),
    "digests that are none": ("digests", [], "digests", "expected an object"),
}


@pytest.mark.parametrize(("path", "value", "field", "problem"), WRONG.values(), ids=WRONG)
def test_a_bad_value_is_refused_by_its_field(path: str, value: Any, field: str, problem: str) -> None:
    refused = refusal_of(planted(path, value))
    assert refused.field == field
    assert problem in refused.problem
    assert len(str(refused)) < 400


@pytest.mark.parametrize("path", ["stack", "program", "capture", "digests", "stack.cpu", "stack.cpu.vendor",
                                  "program.random.seeds", "capture.process", "capture.sequence", "digests.stack"])
def test_a_missing_key_is_refused(path: str) -> None:
    refused = refusal_of(without(path))
    assert refused.field == path or refused.field.startswith(path)
    assert "expected" in refused.problem or "missing" in refused.problem


def test_a_missing_fact_is_refused_with_the_two_ways_out() -> None:
    assert refusal_of(without("stack.cpu.vendor")).problem == (
        'missing; send null for surely absent or {"unread": code} for not read')


@pytest.mark.parametrize("value", [None, [], "text", 7, True, 1.5], ids=repr)
def test_what_is_no_object_is_no_document(value: Any) -> None:
    assert refusal_of(value).field == "$"


@pytest.mark.parametrize("schema", [None, 1, 1.0, "", "1", "1.", ".0", "1.0.0", "v1.0", "1.00", "01.0", "1.²", "1.-1",
                                    " 1.0", "1.0\n", "1." + "9" * 5000, ["1.0"]], ids=lambda value: ascii(value)[:12])
def test_a_version_that_is_none_is_refused(schema: Any) -> None:
    refused = refusal_of(planted("schema", schema))
    assert refused.field == "schema"
    assert f"expected a version like {SCHEMA_VERSION}, got" in refused.problem
    assert not isinstance(refused, UnknownSchema)
    assert len(refused.problem) < 300


def test_a_document_without_a_version_is_refused() -> None:
    assert refusal_of(without("schema")).field == "schema"


@pytest.mark.parametrize("schema", ["0.9", "2.0", "10.0"])
def test_another_major_version_is_told_apart(schema: str) -> None:
    with pytest.raises(UnknownSchema, match="expected major version 1, got"):
        validate(planted("schema", schema))


def test_another_major_version_is_told_before_anything_else_is_looked_at() -> None:
    with pytest.raises(UnknownSchema):
        validate({"schema": "2.0", "all": "else", "is": 0.5})


def test_fields_of_a_newer_minor_version_are_kept() -> None:
    document = planted("schema", "1.7")
    document["stack"]["weather"] = {"wind": [1, None]}
    document["stack"]["cpu"]["turbo"] = True
    document["notes"] = "x"
    assert validate(document) == document


def test_fields_that_a_newer_minor_version_does_not_have_are_refused_all_the_same() -> None:
    document = planted("schema", "1.7")
    del document["stack"]["cpu"]["vendor"]
    assert refusal_of(document).field == "stack.cpu.vendor"


@pytest.mark.parametrize(("value", "problem"), [(0.5, "no fraction"), ("\ud800", "surrogate"), (2**60, "2^53"),
                                                ({"é": 1}, "ASCII")], ids=["fraction", "surrogate", "integer", "key"])
@pytest.mark.parametrize("part", ["stack", "program", "capture"])
def test_unknown_fields_have_canonical_bytes_too(part: str, value: Any, problem: str) -> None:
    document = planted("schema", "1.7")
    document[part]["weather"] = value
    refused = refusal_of(document)
    assert refused.field == f"{part}.weather"
    assert problem in refused.problem


class TestOlderMinorVersions:
    """The definition has grown: a document of an older minor version is brought up to it."""

    @pytest.fixture(autouse=True)
    def _grown(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(validation, "SCHEMA_VERSION", "1.9")

    @pytest.mark.parametrize("path", sorted(RECORDED.glob("schema-*.json")), ids=lambda path: path.stem)
    def test_a_document_that_an_older_client_wrote_is_read(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(validation, "SCHEMA_VERSION", SCHEMA_VERSION)
        document = json.loads(path.read_text())
        upgraded = validate(document)
        assert upgraded["schema"] == SCHEMA_VERSION != document["schema"]
        assert upgraded["stack"]["accelerators"]["devices"] == document["stack"]["accelerators"]["devices"]
        assert upgraded["stack"]["accelerators"]["links"] == {"unread": "not-recorded"}
        assert upgraded["capture"]["job"]["pod"] == {"unread": "not-recorded"}

    def test_missing_facts_become_not_recorded(self) -> None:
        document = without("stack.cpu.vendor")
        upgraded = validate(document)
        assert upgraded["schema"] == "1.9"
        assert upgraded["stack"]["cpu"]["vendor"] == {"unread": "not-recorded"}
        assert upgraded["stack"]["cpu"]["model"] == document["stack"]["cpu"]["model"]

    def test_missing_sections_become_not_recorded(self) -> None:
        section = validate(without("stack.numerics"))["stack"]["numerics"]
        assert section == {"probes": {"unread": "not-recorded"}}

    def test_upgrading_is_done_once(self) -> None:
        upgraded = validate(without("stack.numerics"))
        assert validate(upgraded) == upgraded

    def test_claims_are_held_against_the_document_as_it_was_sent(self) -> None:
        document = without("stack.numerics")
        document["digests"]["stack"] = digest(document["stack"])
        upgraded = validate(document)
        assert upgraded["digests"]["stack"] == digest(upgraded["stack"]) != document["digests"]["stack"]
        assert validate(upgraded) == upgraded

    def test_unknown_fields_are_refused(self) -> None:
        assert refusal_of(planted("stack.weather", 1)).field == "stack.weather"

    def test_what_is_always_known_cannot_be_filled(self) -> None:
        assert refusal_of(without("capture.observation_id")).field == "capture.observation_id"


def test_right_claims_are_taken() -> None:
    document = complete_document()
    document["digests"] = part_digests(document)
    assert validate(document) == document
    reordered = {**document, "stack": dict(reversed(document["stack"].items()))}
    assert validate(reordered) == document


@pytest.mark.parametrize("code", UNREAD_CODES)
def test_every_unread_code_is_taken(code: str) -> None:
    document = change(complete_document(), **{"cpu.vendor": {"unread": code}})
    assert validate(document) == document


def test_every_fact_may_be_unread_or_absent() -> None:
    document = complete_document(machine="h100")
    for path in fact_paths(document):
        validate(erase(document, {path: "denied"}))
        validate(change(document, **{path: None}))


@given(ANY_JSON)
def test_arbitrary_json_is_refused_in_words(value: Any) -> None:
    with pytest.raises(InvalidDocument) as refused:
        validate(value)
    str(refused.value).encode("utf-8")


PLACES = sorted({*("schema", "stack", "program", "capture", "digests", "digests.stack"),
                 *(f"{part}.{section}" for part in ("stack", "program", "capture")
                   for section in complete_document()[part]),
                 *(f"stack.{path}" for path in fact_paths(complete_document())
                   if path.split(".")[0] in complete_document()["stack"])})


@given(st.sampled_from(PLACES), ANY_JSON)
def test_arbitrary_json_anywhere_is_refused_in_words_or_survives(path: str, value: Any) -> None:
    document = planted(path, value)
    try:
        checked = validate(document)
    except InvalidDocument as error:
        str(error).encode("utf-8")
    else:
        assert checked == document
        assert validate(parse(canonical_bytes(checked))) == checked


CIRCUMSTANCES: dict[str, Any] = {
    "capture.process.rank": 7, "capture.process.local_rank": 7, "capture.process.pid": 99,
    "capture.process.node": "node-2", "capture.process.device_masks": {"CUDA_VISIBLE_DEVICES": "7"},
    "capture.process.device_ids": ["GPU-7"], "capture.observation_id": "1b0f3c1e-6c1a-5d7e-9f5a-3c1d2e4f5a6b",
    "capture.captured_at": "2026-02-01T00:00:00Z", "capture.run_id": None, "capture.sequence": 1,
    "capture.results": {"weights": "sha256:" + "0" * 64}, "capture.vantage": "exit",
}


def test_eight_ranks_have_one_stack_digest() -> None:
    ranks = [change(complete_document(machine="h100"), **{
        "capture.process.rank": rank, "capture.process.local_rank": rank, "capture.process.pid": 4711 + rank,
        "capture.process.device_masks": {"CUDA_VISIBLE_DEVICES": str(rank)}}) for rank in range(8)]
    assert len({part_digests(validate(rank))["stack"] for rank in ranks}) == 1
    assert len({digest(rank) for rank in ranks}) == 8


@pytest.mark.parametrize("path", CIRCUMSTANCES)
def test_circumstances_are_in_no_digest(path: str) -> None:
    document = complete_document()
    assert part_digests(change(document, **{path: CIRCUMSTANCES[path]})) == part_digests(document)


@given(documents(1), st.data())
def test_every_judged_fact_is_in_a_digest(only: list[Document], data: st.DataObject) -> None:
    path = data.draw(st.sampled_from(fact_paths(only[0])))
    changed = change(only[0], **{path: {"unread": "denied"}})
    assert (part_digests(changed) == part_digests(only[0])) == (changed == only[0])


def test_the_version_of_complete_documents_is_the_current_one() -> None:
    assert complete_document()["schema"] == SCHEMA_VERSION
