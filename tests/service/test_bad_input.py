"""What is not a valid document is refused with a problem that names the field, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import json

import pytest

from repro_env.canonical import digest

PATH = "/v1/observations/o1"


def with_value(document, path, value):
    holder = document
    *steps, last = path.split(".")
    for step in steps:
        holder = holder[step]
    holder[last] = value
    return document


def raw(document, marker, text):
    """Return the JSON text with the value ``marker`` replaced by ``text``, which Python would not write."""
    return json.dumps(document).replace(json.dumps(marker), text).encode()


WRONG = [
    pytest.param("stack.threads.torch_intraop", "8", 422, "stack.threads.torch_intraop", id="text-for-an-integer"),
    pytest.param("stack.threads.torch_intraop", True, 422, "stack.threads.torch_intraop", id="boolean-for-an-integer"),
    pytest.param("stack.threads", [], 422, "stack.threads", id="list-for-an-object"),
    pytest.param("stack.threads", None, 422, "stack.threads", id="null-for-an-object"),
    pytest.param("stack.threads.torch_intraop", {"unread": "lazy"}, 422, "stack.threads.torch_intraop",
                 id="unknown-unread-code"),
    pytest.param("stack.threads.torch_intraop", {"unread": []}, 422, "stack.threads.torch_intraop",
                 id="unread-code-of-another-type"),
    pytest.param("stack.threads.colour", 1, 422, "stack.threads.colour", id="unknown-field"),
    pytest.param("schema", "2.0", 422, "schema", id="unknown-major-version"),
    pytest.param("schema", "1.²", 422, "schema", id="odd-digit-in-the-version"),
    pytest.param("schema", None, 422, "schema", id="no-version"),
    pytest.param("stack.threads.torch_intraop", 1.5, 422, "stack.threads.torch_intraop", id="fraction-in-stack"),
    pytest.param("program.layout.micro_batch", 1e3, 422, "program.layout.micro_batch", id="fraction-in-program"),
    pytest.param("stack.threads.torch_intraop", 2**53, 422, "stack.threads.torch_intraop", id="integer-beyond-2^53-1"),
    pytest.param("capture.process.rank", -(2**53), 422, "capture.process.rank", id="integer-below"),
    pytest.param("stack.cpu.model", "a\ud800b", 422, "stack.cpu.model", id="lone-surrogate"),
    pytest.param("capture.labels", {"a": "\udfff"}, 422, "capture.labels.a", id="lone-surrogate-in-capture"),
    pytest.param("stack.cpu.model", "a\x00b", 422, "stack.cpu.model", id="nul"),
    pytest.param("capture.labels", {"é": "x"}, 422, "capture.labels", id="key-beyond-ascii"),
    pytest.param("digests", {"stack": "sha256:" + "0" * 64, "program": None}, 422, "digests.stack",
                 id="wrong-claimed-digest"),
    pytest.param("capture.vantage", "moon", 422, "capture.vantage", id="unknown-vantage"),
    pytest.param("capture.observation_id", "o2", 422, "capture.observation_id", id="id-unlike-the-path"),
    pytest.param("capture.run_id", "a/b", 422, "capture.run_id", id="run-id-with-a-slash"),
    pytest.param("capture.run_id", "", 422, "capture.run_id", id="empty-run-id"),
    pytest.param("capture.run_id", "r\n", 422, "capture.run_id", id="run-id-with-a-line-end"),
    pytest.param("capture.run_id", "manifest:a", 422, "capture.run_id", id="run-id-that-names-a-manifest"),
    pytest.param("capture.project", "../x", 422, "capture.project", id="project-that-is-a-path"),
]


@pytest.mark.parametrize(("path", "value", "status", "field"), WRONG)
def test_invalid_document_is_refused_naming_the_field(api, observation, path, value, status, field):
    empty = api.rows()
    answer = api.put(PATH, with_value(observation(), path, value))
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["field"] == field
    assert api.rows() == empty


@pytest.mark.parametrize("section", ["stack", "program", "capture"])
def test_missing_part_is_refused(api, observation, section):
    document = observation()
    del document[section]
    answer = api.put(PATH, document)
    assert (answer.status_code, answer.json()["field"]) == (422, section)


BROKEN = [
    pytest.param(b"", id="empty"),
    pytest.param(b"{", id="cut-off"),
    pytest.param(b'{"a": 1, "a": 1}', id="duplicate-keys"),
    pytest.param(b'{"a": NaN}', id="nan"),
    pytest.param(b'{"a": -Infinity}', id="infinity"),
    pytest.param(b'{"a": ' + b"9" * 5000 + b"}", id="5000-digits"),
    pytest.param(b"[" * 40 + b"]" * 40, id="depth-40"),
    pytest.param(b"[" * 100_000, id="depth-100000"),
    pytest.param(b"\xff\xfe{\x00}\x00", id="utf-16"),
    pytest.param(b'{"a": "\xed\xa0\x80"}', id="surrogate-bytes"),
    pytest.param(b"\xef\xbb\xbf{}", id="byte-order-mark"),
]


@pytest.mark.parametrize("body", BROKEN)
def test_text_that_is_not_strict_json_answers_400(api, body):
    answer = api.put(PATH, body)
    assert answer.status_code == 400, answer.text
    assert answer.json()["type"] == "/problems/invalid-json"
    assert "field" in answer.json()
    assert api.rows()["observations"] == 0


@pytest.mark.parametrize("text", ["1e400", "1E5", "0.1", "-0.0"])
def test_fraction_and_exponent_are_refused_as_they_stand_in_the_text(api, observation, text):
    body = raw(observation(**{"threads.torch_intraop": 987654}), 987654, text)
    answer = api.put(PATH, body)
    assert answer.status_code in {400, 422}
    assert api.rows()["observations"] == 0


@pytest.mark.parametrize("body", [b"null", b"[]", b'"x"', b"1", b"true"])
def test_json_that_is_no_object_is_refused(api, body):
    assert api.put(PATH, body).json()["field"] == "$"


def test_duplicate_key_deep_in_a_valid_document_is_refused(api, observation):
    body = json.dumps(observation()).replace('"torch_intraop"', '"torch_intraop": 1, "torch_intraop"').encode()
    answer = api.put(PATH, body)
    assert answer.status_code == 400
    assert answer.json()["field"].endswith("torch_intraop")


def test_lone_surrogate_in_a_key_is_shown_escaped(api, observation):
    answer = api.put(PATH, {**observation(), "\ud800": 1})
    assert answer.status_code == 422
    answer.content.decode("ascii")


def test_body_over_the_limit_answers_413_by_its_declared_length(api):
    answer = api.put(PATH, b" " * (2**20 + 1))
    assert (answer.status_code, answer.json()["type"]) == (413, "/problems/too-large")


def test_body_over_the_limit_is_cut_while_it_streams(api):
    sent = 0

    async def endless():
        nonlocal sent
        for _ in range(1000):
            sent += 2**16
            yield b" " * 2**16

    answer = api.request("PUT", PATH, content=endless(), headers={"Content-Type": "application/json"})
    assert answer.status_code == 413
    assert "content-length" not in answer.request.headers
    assert sent >= 2**20


def test_body_at_the_limit_is_read(api):
    answer = api.put(PATH, b"{}" + b" " * (2**20 - 2))
    assert answer.status_code == 422


@pytest.mark.parametrize("headers", [
    pytest.param({"Content-Type": "text/plain"}, id="text"),
    pytest.param({}, id="undeclared"),
    pytest.param({"Content-Type": "application/x-www-form-urlencoded"}, id="form"),
    pytest.param({"Content-Type": "application/json", "Content-Encoding": "gzip"}, id="compressed")])
def test_body_that_is_not_declared_as_plain_json_answers_415(api, observation, headers):
    answer = api.request("PUT", PATH, content=json.dumps(observation()).encode(), headers=headers)
    assert (answer.status_code, answer.json()["type"]) == (415, "/problems/unsupported-media-type")


def test_json_with_a_charset_and_a_json_suffix_is_taken(api, observation):
    body = json.dumps(observation()).encode()
    for media in ("application/json; charset=utf-8", "application/vnd.repro-env+json"):
        assert api.request("PUT", PATH, content=body, headers={"Content-Type": media}).status_code in {200, 201}


def test_body_that_does_not_arrive_answers_408(make_api, tmp_path):
    api = make_api(tmp_path, body_timeout_s=0.05)

    async def stalled():
        yield b"{"
        await asyncio.sleep(2)
        yield b"}"

    answer = api.request("PUT", PATH, content=stalled(), headers={"Content-Type": "application/json"})
    assert (answer.status_code, answer.json()["type"]) == (408, "/problems/body-timeout")


def test_claimed_digests_that_hold_are_taken(api, observation):
    document = observation()
    document["digests"] = {"stack": digest(document["stack"]), "program": digest(document["program"])}
    assert api.put(PATH, document).status_code == 201


@pytest.mark.parametrize(("path", "field"), [
    ("/v1/observations/%00", "observation_id"), ("/v1/runs/a%20b", "run_id"), ("/v1/runs/%ED%A0%80", "run_id"),
    ("/v1/stacks/sha256:1", "digest"), ("/v1/runs?limit=0", "limit"), ("/v1/runs?limit=9999", "limit"),
    ("/v1/runs?cursor=x", "cursor"), ("/v1/runs?project=a%2Fb", "project"), ("/v1/comparisons?left=a", "right"),
    ("/v1/comparisons?left=a&right=b&level=perfect", "level"),
    ("/v1/comparisons?left=a&right=b&question=x", "question"),
    ("/v1/runs/a/comparable?level=1", "level"),
    ("/v1/runs/a/conformance?manifest=x", "manifest")])
def test_parameter_is_refused_by_name(api, path, field):
    answer = api.get(path)
    assert answer.status_code == 422
    assert answer.json()["field"] == field


