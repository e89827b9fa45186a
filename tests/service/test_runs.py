"""A run is the set of what was seen of it: order of arrival, ranks, prologues."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import pytest
from documents import complete_document
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from repro_env_service import folding

UNREAD = {"unread": "denied"}
ORDERLESS = ("project", "group", "scope", "vantage", "observations", "ranks", "stacks", "stack_digest")


def rank(observation, number, size=8, **overrides):
    return observation(f"rank{number}", **{"capture.process.rank": number, "capture.process.world_size": size,
                                           "capture.process.pid": 100 + number, "layout.world_size": size, **overrides})


def test_eight_ranks_are_one_run_with_one_stack(api, observation):
    digests = {api.send(rank(observation, number)).json()["digests"]["stack"] for number in range(8)}
    run = api.get("/v1/runs/r1", documents="false").json()
    assert len(digests) == 1
    assert run["ranks"] == {"seen": 8, "world_size": 8, "partial": False}
    assert (run["stacks"], run["observations"]) == (1, 8)
    assert [entry["rank"] for entry in run["entries"]] == list(range(8))
    rows = api.rows()
    assert (rows["parts"], rows["projections"]) == (2, 2)
    assert rows["vectors"] == 4, "compare and repeat, each of the partial run and of the whole one"


def test_partial_run_is_said_and_not_guaranteed_bitwise(api, observation):
    for number in range(7):
        api.send(rank(observation, number))
    assert api.get("/v1/runs/r1").json()["ranks"] == {"seen": 7, "world_size": 8, "partial": True}
    partial = api.get("/v1/comparisons?left=r1&right=r1&level=bitwise").json()
    assert (partial["answer"], partial["left"]["partial"]) == ("unknown", True)
    assert any(row["rule"] == "ranks-differ" and row["lowers"] for row in partial["assumes"])
    own = api.get("/v1/runs/r1/comparable?level=bitwise").json()
    assert (own["key"], own["lacking"]) == (None, ["capture.process.rank"])
    api.send(rank(observation, 7))
    whole = api.get("/v1/comparisons?left=r1&right=r1&level=bitwise").json()
    assert (whole["answer"], whole["left"]["partial"]) == ("yes", False)


def test_ranks_that_differ_are_the_first_reason(api, observation):
    api.send(rank(observation, 0, 2))
    api.send(rank(observation, 1, 2, **{"threads.torch_intraop": 4}))
    verdict = api.get("/v1/comparisons?left=r1&right=r1&level=bitwise").json()
    assert verdict["guaranteed"] != "bitwise"
    assert "ranks-differ" in [reason["rule"] for reason in verdict["reasons"]]
    assert api.get("/v1/runs/r1").json()["stacks"] == 2


def test_later_look_at_a_process_replaces_the_earlier_one(api, observation):
    api.send(observation("end", vantage="exit", **{"threads.torch_intraop": 4, "capture.sequence": 1}))
    api.send(observation("step", **{"threads.torch_intraop": {"unread": "too-early"}}))
    assert api.get("/v1/runs/r1").json()["vantage"] == "exit"
    assert api.get("/v1/comparisons?left=r1&right=r1&level=bitwise").json()["answer"] == "yes"


def prologue(observation, run="r1", name="prologue", **overrides):
    return observation(name, run, vantage="prologue", **overrides)


def test_prologue_of_the_node_fills_what_the_process_could_not_read(api, observation):
    api.send(observation(machine="h100", **{"accelerators.devices": UNREAD}))
    before = api.get("/v1/comparisons?left=r1&right=r1&level=bitwise").json()
    api.send(prologue(observation, machine="h100"))
    after = api.get("/v1/comparisons?left=r1&right=r1&level=bitwise").json()

    def lacking(verdict):
        return {path for row in verdict["assumes"] for side in row["lacking"].values() for path in side}

    assert {path for path in lacking(before) if path.startswith("accelerators.")}
    assert not {path for path in lacking(after) if path.startswith("accelerators.")}
    assert after["scope"] == "process"
    assert api.get("/v1/runs/r1").json()["scope"] == "process"


def test_prologue_of_the_job_under_another_run_fills_its_processes(api, observation):
    job = {"capture.job.scheduler": "slurm", "capture.job.job_id": "77", "capture.job.restart": 0}
    api.send(observation("o1", machine="h100", **job, **{"accelerators.devices": UNREAD}))
    open_before = api.get("/v1/comparisons?left=r1&right=r1&level=bitwise").json()
    api.send(prologue(observation, "job77", machine="h100", **job, **{"capture.subject": "node"}))
    closed = api.get("/v1/comparisons?left=r1&right=r1&level=bitwise").json()
    assert len(closed["assumes"]) < len(open_before["assumes"])


def test_prologue_of_another_node_fills_nothing(api, observation):
    api.send(observation(machine="h100", **{"accelerators.devices": UNREAD}))
    before = api.get("/v1/comparisons?left=r1&right=r1").json()
    api.send(prologue(observation, machine="h100", **{"capture.process.node": "node-99"}))
    assert api.get("/v1/comparisons?left=r1&right=r1").json()["assumes"] == before["assumes"]


@pytest.mark.parametrize("vantage", ["prologue", "import", "image"])
def test_run_seen_from_outside_only_has_scope_stack(api, observation, vantage):
    api.send(observation(vantage=vantage))
    assert api.get("/v1/runs/r1").json()["scope"] == "stack"
    verdict = api.get("/v1/comparisons?left=r1&right=r1").json()
    assert verdict["scope"] == "stack"


PIECES = [
    complete_document("prologue", "h100", **{"capture.observation_id": "a", "capture.run_id": "r1"}),
    complete_document("process", "h100", **{"capture.observation_id": "b", "capture.run_id": "r1",
                                            "capture.process.rank": 0, "capture.process.world_size": 2,
                                            "driver.kernel_module": UNREAD}),
    complete_document("exit", "h100", **{"capture.observation_id": "c", "capture.run_id": "r1", "capture.sequence": 1,
                                         "capture.process.rank": 0, "capture.process.world_size": 2,
                                         "capture.results": {"w": "sha256:1"}}),
    complete_document("process", "h100", **{"capture.observation_id": "d", "capture.run_id": "r1",
                                            "capture.process.rank": 1, "capture.process.world_size": 2,
                                            "capture.project": None, "accelerators.devices": UNREAD}),
    complete_document("prologue", "h100", **{"capture.observation_id": "e", "capture.run_id": "r1",
                                             "capture.subject": "node", "frameworks.torch": {"unread": "other-subject"},
                                             "capture.captured_at": "2026-01-31T11:00:00Z"}),
]


def folded(make_api, order):
    folder = Path(tempfile.mkdtemp())
    api = make_api(folder)
    try:
        for index in order:
            assert api.send(PIECES[index]).status_code == 201
        run = api.get("/v1/runs/r1", documents="false").json()
        verdict = api.get("/v1/comparisons?left=r1&right=r1&level=bitwise").json()
        return {name: run[name] for name in ORDERLESS}, verdict
    finally:
        shutil.rmtree(folder)


@settings(max_examples=6, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(order=st.permutations(range(len(PIECES))))
def test_run_does_not_depend_on_the_order_of_arrival(make_api, order):
    assert folded(make_api, order) == folded(make_api, range(len(PIECES)))


def test_folding_again_changes_nothing(api, observation):
    api.send(observation())
    before = api.get("/v1/runs/r1").json()
    with api.storage.writing() as session:
        folding.refresh_run(session, "r1")
    assert api.get("/v1/runs/r1").json() == before


def test_runs_of_another_rule_set_are_folded_anew_at_the_start(make_api, observation, tmp_path, monkeypatch):
    first = make_api(tmp_path)
    first.send(observation())
    first.send(observation("o2", "r2"))
    first.storage.close()
    monkeypatch.setattr(folding.vectors, "RULES_IN_FORCE", "2099.1+00000000")
    again = make_api(tmp_path)
    assert again.get("/v1/comparisons?left=r1&right=r2&level=bitwise").json()["answer"] == "yes"
    with again.storage.reading() as session:
        assert {run.ruleset for run in session.query(folding.Run)} == {"2099.1+00000000"}
