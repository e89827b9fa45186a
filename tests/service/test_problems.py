"""Every error of every route is a problem with a stable type, names what to do, and shows no internals."""

from __future__ import annotations

import asyncio
import json
import re
import sqlite3

import pytest
from sqlalchemy.exc import OperationalError

from repro_env_service.problems import KINDS, MEDIA_TYPE

MEMBERS = {"type", "title", "status", "detail", "instance", "remedy"}


def is_problem(answer):
    body = answer.json()
    slug = body["type"].removeprefix("/problems/")
    return (answer.headers["content-type"] == MEDIA_TYPE and body.keys() - {"field"} == MEMBERS
            and body["status"] == answer.status_code and slug in KINDS and bool(body["remedy"]))


def routes(api):
    return [(method.upper(), path) for path, methods in api.get("/openapi.json").json()["paths"].items()
            for method in methods]


def test_every_route_answers_problems(api):
    walked = routes(api)
    assert len(walked) >= 15
    for method, path in walked:
        bad = re.sub(r"\{[^}]*\}", "%20", path)
        unknown = re.sub(r"\{[^}]*\}", "unknown", path.replace("{digest}", "sha256:" + "0" * 64))
        for target in (bad, unknown):
            answer = api.get(target) if method == "GET" else api.request(
                method, target, content=b"{", headers={"Content-Type": "application/json"})
            assert answer.status_code < 300 or is_problem(answer), (method, target, answer.text)
        refused = api.request("DELETE", unknown)
        assert refused.status_code == 405, path
        assert is_problem(refused)
        assert refused.headers["allow"]


def test_a_refused_method_is_answered_with_all_that_the_path_takes(api):
    for path, methods in api.get("/openapi.json").json()["paths"].items():
        target = re.sub(r"\{[^}]*\}", "1", path.replace("{digest}", "sha256:" + "0" * 64))
        told = api.request("DELETE", target).headers["allow"]
        assert told.split(", ") == sorted(method.upper() for method in methods), path


def test_every_documented_error_of_a_route_is_a_problem(api):
    for path, methods in api.get("/openapi.json").json()["paths"].items():
        for method, operation in methods.items():
            for status, answer in operation["responses"].items():
                if status >= "400":
                    assert MEDIA_TYPE in answer["content"], (method, path, status)


@pytest.mark.parametrize("path", ["/nope", "/v1", "/v1/runs/", "/v1/observations/a/b", "/docs", "/redoc"])
def test_unknown_route_answers_404(api, path):
    answer = api.get(path)
    assert (answer.status_code, answer.json()["type"]) == (404, "/problems/not-found")
    assert is_problem(answer)


def test_unexpected_error_is_logged_and_shown_without_internals(api, monkeypatch, caplog):
    def broken(*_arguments, **_options):
        raise RuntimeError("password=hunter2 in /srv/secret")

    monkeypatch.setattr("repro_env_service.queries.list_runs", broken)
    answer = api.get("/v1/runs")
    assert (answer.status_code, answer.json()["type"]) == (500, "/problems/internal-error")
    assert is_problem(answer)
    assert "hunter2" not in answer.text
    assert "hunter2" in caplog.text


def test_storage_error_answers_503_with_retry_after(api, monkeypatch, observation):
    def full(*_arguments, **_options):
        raise OperationalError("INSERT", {}, sqlite3.OperationalError("database or disk is full"))

    monkeypatch.setattr("repro_env_service.documents.store_parts", full)
    answer = api.send(observation())
    assert (answer.status_code, answer.json()["type"]) == (503, "/problems/storage-unavailable")
    assert int(answer.headers["retry-after"]) > 0
    assert "INSERT" not in answer.text
    monkeypatch.undo()
    assert api.send(observation()).status_code == 201


def test_not_ready_without_its_database_and_alive_all_the_same(api):
    api.storage.readers.dispose()
    api.storage.writer.dispose()
    for path in api.storage.folder.glob("*.sqlite3*"):
        path.unlink()
    assert api.get("/readyz").status_code == 503
    assert api.get("/livez").json()["status"] == "ok"


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "", "[::2]:80"])
def test_other_host_is_refused_before_anything_is_read(api, host):
    answer = api.request("GET", "/v1/runs", headers={"Host": host})
    assert (answer.status_code, answer.json()["type"]) == (421, "/problems/unknown-host")
    assert is_problem(answer)


@pytest.mark.parametrize("host", ["127.0.0.1:8765", "localhost", "LOCALHOST:1", "[::1]:8765"])
def test_loopback_names_are_served(api, host):
    assert api.request("GET", "/v1/runs", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("path", ["/", "/v1/runs", "/nope", "/openapi.json"])
def test_every_answer_forbids_sniffing_framing_and_foreign_assets(api, path):
    headers = api.get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert "access-control-allow-origin" not in headers


def test_start_page_shows_runs_and_escapes_what_users_wrote(api, observation):
    assert "repro-env capture" in api.get("/").text
    api.send(observation(**{"capture.process.world_size": 8, "capture.process.rank": 0}))
    page = api.get("/").text
    assert '<a href="/v1/runs/r1">' in page
    assert "1 of 8 ranks" in page
    assert not re.findall(r'(?:src|href)="(?!/)', page)
    assert "<script" not in page


def test_sender_that_goes_away_leaves_nothing_behind(api):
    async def gone():
        messages = iter([{"type": "http.request", "body": b"{", "more_body": True}, {"type": "http.disconnect"}])
        sent = []

        async def receive():
            return next(messages)

        async def send(message):
            sent.append(message)

        scope = {"type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "PUT", "scheme": "http",
                 "path": "/v1/observations/o1", "raw_path": b"/v1/observations/o1", "query_string": b"",
                 "root_path": "", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2),
                 "headers": [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")]}
        await api.app(scope, receive, send)
        return sent

    sent = asyncio.run(gone())
    assert sent[0]["status"] == 400
    assert json.loads(sent[1]["body"])["type"] == "/problems/body-cut-off"
    assert api.rows()["observations"] == 0
