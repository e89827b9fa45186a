"""A verdict of the service can be recomputed from what the service gives: observations, policy and rule set."""

from __future__ import annotations

import pytest
from documents import complete_document

from repro_env.cli.main import main
from repro_env.comparability.record import verify
from repro_env.comparability.verdict import Verdict
from repro_env.fingerprint.validate import validate

FOUR = {"threads.torch_intraop": 4}
POLICY = {"name": "ours", "waive": {"torch-threads": "three digits count"}, "vary": ["seed"], "require": "statistical"}


def documents_of(api, run):
    """Return what a run was judged from, as the service gives it back."""
    told = api.get(f"/v1/runs/{run}").json()
    return [validate(entry["document"]) for entry in (*told["entries"], *told["fillers"])]


def recomputed(api, left="r1", right="r2", **query):
    """Ask the service, and recompute what it says from the documents that it gives."""
    told = api.get("/v1/comparisons", left=left, right=right, **query)
    assert told.status_code == 200, told.text
    return verify(Verdict.from_json(told.json()), documents_of(api, left), documents_of(api, right))


def rank(number, run, start=0, **overrides):
    return complete_document("process", "h100", **{
        "capture.observation_id": f"{run}-{start}-{number}", "capture.run_id": run, "capture.segment": f"7.r{start}",
        "capture.process.rank": number, "capture.process.pid": 100 * start + number, "capture.process.world_size": 2,
        "layout.world_size": 2, "capture.job.scheduler": "slurm", "capture.job.cluster": "alpha",
        "capture.job.job_id": "7", "capture.job.restart": start,
        "capture.captured_at": f"2026-01-31T{12 + start}:00:00.000Z", **overrides})


@pytest.mark.parametrize("query", [{}, {"question": "repeat"}, {"level": "bitwise", "vary": "threads"},
                                   {"policy": "none"}], ids=str)
@pytest.mark.parametrize("held", [False, True], ids=["no-policy", "policy"])
def test_a_verdict_holds(api, observation, query, held):
    api.send(observation())
    api.send(observation("o2", "r2", **FOUR, **{"random.seeds": {"torch": 8}}))
    if held:
        api.put("/v1/projects/vision/policy", POLICY)
    found = recomputed(api, **query)
    assert (found.holds, found.problems, found.later) == (True, (), ())


def test_a_verdict_on_runs_of_many_ranks_holds_with_the_prologue_that_fills_them(api):
    hidden = {"accelerators.devices": {"unread": "denied"}}
    for document in (rank(0, "r1", **hidden), rank(1, "r1", **hidden), rank(0, "r2"), rank(1, "r2", **FOUR)):
        api.send(document)
    api.send(complete_document("prologue", "h100", **{
        "capture.observation_id": "prolog", "capture.run_id": None, "capture.subject": "node",
        "capture.segment": {"unread": "not-reported"}, "capture.job.scheduler": "slurm", "capture.job.cluster": "alpha",
        "capture.job.job_id": "7", "capture.job.restart": {"unread": "not-reported"},
        "capture.captured_at": "2026-01-31T11:30:00.000Z"}))
    run = api.get("/v1/runs/r1").json()
    assert [entry["observation_id"] for entry in run["fillers"]] == ["prolog"]
    found = recomputed(api)
    assert (found.holds, found.problems) == (True, ())


def test_a_verdict_on_a_run_itself_and_on_its_ends_holds(api):
    for document in (rank(0, "r1"), rank(1, "r1"), rank(0, "r1", 1, **FOUR), rank(1, "r1", 1, **FOUR)):
        api.send(document)
    for query in ({"question": "repeat"}, {"question": "resume"},
                  {"question": "resume", "left_segment": "7.r1", "right_segment": "7.r0"},
                  {"question": "compare", "left_segment": "7.r1"}):
        found = recomputed(api, "r1", "r1", **query)
        assert (found.holds, found.problems, found.later) == (True, (), ()), query


def test_an_observation_that_came_later_is_named(api, observation):
    api.send(observation())
    api.send(observation("o2", "r2"))
    told = Verdict.from_json(api.get("/v1/comparisons?left=r1&right=r2").json())
    api.send(observation("late", "r2", vantage="exit", **FOUR, **{"capture.sequence": 1}))
    found = verify(told, documents_of(api, "r1"), documents_of(api, "r2"))
    assert (found.holds, found.later) == (True, ("late",))


def test_the_command_line_finds_the_sides_by_the_names_that_the_verdict_gives(api, tmp_path, monkeypatch, capsys):
    """Runs, starts of a run and manifests, asked of the service by their names alone."""
    for document in (rank(0, "r1"), rank(1, "r1"), rank(0, "r1", 1), rank(1, "r1", 1), rank(0, "r2"), rank(1, "r2")):
        api.send(document)
    api.put("/v1/manifests/base/1", complete_document("image", "h100", **{"capture.observation_id": "m"}))
    monkeypatch.setenv("REPRO_ENV_SERVER", "http://127.0.0.1:8765")
    monkeypatch.setattr("repro_env.transport.get", lambda _server, path, *_arguments, **_options: api.get(path).json())
    for query in ({"left": "r1", "right": "r2"}, {"left": "r1", "right": "r1", "question": "resume"},
                  {"left": "manifest:base/1", "right": "r2"}):
        kept = tmp_path / "verdict.json"
        kept.write_text(api.get("/v1/comparisons", **query).text)
        assert main(["verify", str(kept)]) == 0, capsys.readouterr()
        assert "The verdict holds" in capsys.readouterr().out
