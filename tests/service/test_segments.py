"""A run that was started more than once: what the service shows of its starts, and how it holds one against another."""

from __future__ import annotations

import functools
import shutil
import sqlite3
import tempfile
from pathlib import Path

import pytest
from alembic import command
from documents import complete_document
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from repro_env.comparability.judge import judge_vectors
from repro_env.comparability.levels import Question, Scope
from repro_env.comparability.runs import ends_of_documents
from repro_env_service.settings import Settings
from repro_env_service.storage import DATABASE_NAME, Storage
from repro_env_service.upgrade import configuration, upgrade

DENIED = {"unread": "denied"}
SILENT = {"unread": "not-reported"}
FOUR = {"threads.torch_intraop": 4}


def rank(number, start, *, vantage="process", size=2, **overrides):
    """A look at one rank of one start of run ``r1``."""
    return complete_document(vantage, "h100", **{
        "capture.observation_id": f"{start}-{vantage}-{number}", "capture.run_id": "r1",
        "capture.segment": f"7.r{start}", "capture.process.rank": number, "capture.process.pid": 100 * start + number,
        "capture.process.world_size": size, "layout.world_size": size, "capture.job.scheduler": "slurm",
        "capture.job.cluster": "alpha", "capture.job.job_id": "7", "capture.job.restart": start,
        "capture.captured_at": f"2026-01-31T{12 + start}:00:00.000Z", **overrides})


def prolog(name, hour, **overrides):
    """A Prolog of the node: it has a job and no run, and is not told of restarts."""
    return complete_document("prologue", "h100", **{
        "capture.observation_id": name, "capture.run_id": None, "capture.subject": "node", "capture.segment": SILENT,
        "capture.job.scheduler": "slurm", "capture.job.cluster": "alpha", "capture.job.job_id": "7",
        "capture.job.restart": SILENT, "capture.captured_at": f"2026-01-31T{hour}:00.000Z", **overrides})


def resume(api, **query):
    return api.get("/v1/comparisons", left="r1", right="r1", question="resume", **query)


def test_the_run_shows_its_starts_with_ranks_of_each(api):
    for document in (rank(0, 1), rank(0, 0), rank(1, 0, **FOUR)):
        assert api.send(document).status_code == 201
    run = api.get("/v1/runs/r1", documents="false").json()
    assert run["segments"] == [
        {"segment": "7.r0", "started_at": "2026-01-31T12:00:00.000Z", "stacks": 2,
         "ranks": {"seen": 2, "world_size": 2, "partial": False}},
        {"segment": "7.r1", "started_at": "2026-01-31T13:00:00.000Z", "stacks": 1,
         "ranks": {"seen": 1, "world_size": 2, "partial": True}}]
    assert run["ranks"] == {"seen": 1, "world_size": 2, "partial": True}
    assert {(entry["segment"], entry["rank"]) for entry in run["entries"]} == {("7.r0", 0), ("7.r0", 1), ("7.r1", 0)}
    api.send(rank(1, 1, **FOUR))
    assert api.get("/v1/runs/r1").json()["ranks"]["partial"] is False


def test_a_run_without_starts_shows_one(api, observation):
    api.send(observation())
    (segment,) = api.get("/v1/runs/r1").json()["segments"]
    assert (segment["segment"], segment["ranks"]["seen"]) == (None, 1)


def test_starts_that_differ_are_no_one_environment(api):
    api.send(rank(0, 0, size=1))
    api.send(rank(0, 1, size=1, **FOUR))
    verdict = api.get("/v1/comparisons?left=r1&right=r1&level=bitwise").json()
    told = next(reason["why"] for reason in verdict["reasons"] if reason["rule"] == "ranks-differ")
    assert "from one segment of the run to another" in told
    assert verdict["same_run"] is True


class TestResume:
    """The question whether a later start continued an earlier one."""

    def test_the_first_start_is_held_against_the_last(self, api):
        for start in (2, 0, 1):
            api.send(rank(0, start, size=1, **{"threads.torch_intraop": 8 if start != 1 else 4}))
        told = resume(api).json()
        assert (told["left"]["segment"], told["right"]["segment"]) == ("7.r0", "7.r2")
        assert (told["question"], told["answer"], told["same_run"]) == ("resume", "yes", False)
        assert told["left"]["run_id"] == told["right"]["run_id"] == "r1"

    def test_any_two_starts_can_be_named(self, api):
        for start in (0, 1, 2):
            api.send(rank(0, start, size=1, **{"threads.torch_intraop": 8 if start != 1 else 4}))
        told = resume(api, left_segment="7.r1", right_segment="7.r2").json()
        assert (told["left"]["segment"], told["answer"]) == ("7.r1", "likely")
        assert told["reasons"]
        one = resume(api, left_segment="7.r1", right_segment="7.r1").json()
        assert one["same_run"] is True

    def test_the_program_counts(self, api):
        api.send(rank(0, 0, size=1))
        api.send(rank(0, 1, size=1, **{"random.resume_state": "not-restored"}))
        assert "resume-state" in [reason["rule"] for reason in resume(api).json()["reasons"]]

    def test_it_is_what_the_client_says_of_the_documents(self, api):
        documents = [rank(number, start, **({"driver.kernel_module": DENIED} if number else {}))
                     for start in (0, 1) for number in (0, 1)]
        documents.append(rank(0, 1, vantage="exit", **{"threads.torch_intraop": 4, "capture.sequence": 1}))
        for document in documents:
            api.send(document)
        (left, _), (right, _) = ends_of_documents(documents)
        verdict = judge_vectors(left, right, scope=Scope.PROCESS, question=Question.RESUME).to_json()
        told = resume(api).json()
        documented = verdict.keys() - {"ignored", "sides"}
        assert {name: told[name] for name in documented} == {name: verdict[name] for name in documented}

    def test_each_start_has_its_results(self, api):
        same = {"capture.process.pid": 1}
        api.send(rank(0, 0, size=1, vantage="exit", **same, **{"capture.results": {"w": "sha256:1", "l": "sha256:3"}}))
        api.send(rank(0, 1, size=1, vantage="exit", **same, **{"capture.results": {"w": "sha256:2", "l": "sha256:3"}}))
        assert resume(api).json()["results"] == {"equal": ["l"], "different": ["w"]}

    def test_asking_stores_nothing(self, api):
        api.send(rank(0, 0, size=1))
        api.send(rank(0, 1, size=1, **FOUR))
        before = api.rows()
        assert resume(api).status_code == 200
        assert api.rows() == before

    def test_a_run_of_one_start_is_refused_in_words(self, api, observation):
        api.send(observation())
        answer = resume(api)
        assert answer.status_code == 422
        assert answer.json()["type"] == "/problems/one-segment"
        assert "seen to start once" in answer.json()["detail"]

    def test_a_start_that_is_not_there_is_refused_with_those_that_are(self, api):
        api.send(rank(0, 0, size=1))
        api.send(rank(0, 1, size=1))
        answer = resume(api, left_segment="7.r5")
        assert (answer.status_code, answer.json()["type"]) == (404, "/problems/unknown-segment")
        assert "7.r0, 7.r1" in answer.json()["detail"]

    def test_an_unknown_run_is_still_unknown(self, api):
        assert resume(api).json()["type"] == "/problems/unknown-run"

    def test_two_runs_are_judged_as_before(self, api, observation):
        api.send(observation("a", "r1"))
        api.send(observation("b", "r2"))
        told = api.get("/v1/comparisons?left=r1&right=r2&question=resume").json()
        assert (told["answer"], told["left"]["segment"]) == ("yes", None)


def lacking(verdict):
    return {path for row in verdict["assumes"] for side in row["lacking"].values() for path in side}


def test_a_prolog_that_is_not_told_of_restarts_fills_the_start_after_it(api):
    hidden = {"accelerators.devices": DENIED}
    api.send(rank(0, 0, size=1, **hidden))
    api.send(rank(0, 1, size=1, **hidden))
    api.send(prolog("first", "11:30"))
    told = resume(api).json()
    assert not {path for path in lacking(told) if path.startswith("accelerators.")}, "it is the last one before both"
    api.send(prolog("second", "12:30", **hidden))
    told = resume(api).json()
    assert {side for row in told["assumes"] for side, paths in row["lacking"].items() if any(
        path.startswith("accelerators.") for path in paths)} == {"observed"}


PIECES = [rank(number, start, vantage=vantage, **({"accelerators.devices": DENIED} if number else {}))
          for start in (0, 1) for number in (0, 1) for vantage in ("process", "exit")]
PIECES += [prolog("p0", "11:30"), prolog("p1", "12:30", **{"driver.kernel_module": "570.00"})]


def folded(make_api, order):
    folder = Path(tempfile.mkdtemp())
    api = make_api(folder)
    try:
        for index in order:
            assert api.send(PIECES[index]).status_code == 201
        run = api.get("/v1/runs/r1", documents="false").json()
        return run["segments"], run["ranks"], run["stacks"], resume(api).json(), api.get(
            "/v1/comparisons?left=r1&right=r1&level=bitwise").json()
    finally:
        shutil.rmtree(folder)


@functools.cache
def in_the_order_of_starting(make):
    return folded(make, range(len(PIECES)))


@settings(max_examples=3, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.permutations(range(len(PIECES))))
def test_nothing_depends_on_the_order_of_arrival(make_api, order):
    assert folded(make_api, order) == in_the_order_of_starting(make_api)


def test_jobs_stored_before_segments_lose_their_restart_from_the_key(tmp_path):
    storage = Storage(Settings(data=tmp_path))
    try:
        with storage.writer.begin() as connection:
            config = configuration()
            config.attributes["connection"] = connection
            command.upgrade(config, "0001")
            connection.execute(text("INSERT INTO parts VALUES ('sha256:p', x'', 'now')"))
            for name, key in (("a", '["slurm","alpha","7",1]'), ("b", '["slurm",null,"7",null]'), ("c", None)):
                connection.execute(text(
                    "INSERT INTO observations VALUES (:id, 'r', NULL, NULL, 'd', 'sha256:p', 'sha256:p', x'', '1.0', "
                    "'process', 'process', 0, 'now', 'node', NULL, NULL, NULL, :key, 'now')"), {"id": name, "key": key})
        upgrade(storage)
    finally:
        storage.close()
    with sqlite3.connect(tmp_path / DATABASE_NAME) as connection:
        rows = connection.execute("SELECT id, job_key, restart, segment FROM observations ORDER BY id").fetchall()
    connection.close()
    assert rows == [("a", '["slurm","alpha","7"]', 1, None), ("b", '["slurm",null,"7"]', None, None),
                    ("c", None, None, None)]


@pytest.mark.parametrize("segment", [SILENT, {"unread": "not-recorded"}, None])
def test_a_document_that_tells_no_start_is_taken(api, segment):
    assert api.send(rank(0, 0, size=1, **{"capture.segment": segment})).status_code == 201
    assert [row["segment"] for row in api.get("/v1/runs/r1").json()["segments"]] == [None]
