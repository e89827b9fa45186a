"""Documents that real captures make in recorded jobs: what the service makes of them together."""

from __future__ import annotations

import json
from pathlib import Path

from recorded import RecordedSystem

from repro_env.capture import capture

JOBS = Path(__file__).parents[1] / "client" / "jobs"


def place(name, *, host="h100-node", pid=4711, at=0.0, **changes):
    """A recorded environment on a recorded machine, ``at`` seconds after the first."""
    told = json.loads((JOBS / f"{name}.json").read_text())
    system = RecordedSystem(host)
    system.variables = {**told["environ"], **changes}
    system.host.update(root=told["root"], pid=pid)
    system.now = lambda: 1_800_000_000.25 + at
    return system


def blind(document):
    """The document of a process that may not look at devices."""
    document["stack"]["accelerators"]["devices"] = {"unread": "denied"}
    return {**document, "digests": {"stack": {"unread": "not-recorded"}, "program": {"unread": "not-recorded"}}}


def test_a_second_capture_in_one_step_is_stored_beside_the_first(api):
    for at in (0.0, 0.5):
        assert api.send(capture(place("slurm-step-task-0", at=at))).status_code == 201
    run_id = capture(place("slurm-step-task-0"))["capture"]["run_id"]
    assert api.get(f"/v1/runs/{run_id}").json()["observations"] == 2


def test_the_same_document_again_is_the_same_observation(api):
    document = capture(place("slurm-step-task-0"))
    assert [api.send(document).status_code for _ in range(2)] == [201, 200]


def test_a_rank_without_a_number_of_its_own_is_not_refused(api):
    for pid in (1, 2):
        document = capture(place("slurm-step-task-0", pid=pid), vantage="process")
        assert api.send(document).status_code == 201


def test_the_node_that_a_prolog_saw_fills_the_processes_of_the_job(api):
    process = blind(capture(place("slurm-step-task-0", at=60.0), vantage="process"))
    run_id = process["capture"]["run_id"]
    assert api.send(process).status_code == 201
    before = api.get("/v1/comparisons", left=run_id, right=run_id, level="bitwise").json()
    prolog = capture(place("slurm-prolog"))
    assert prolog["capture"]["run_id"] is None
    assert api.send(prolog).status_code == 201
    after = api.get("/v1/comparisons", left=run_id, right=run_id, level="bitwise").json()

    def open_devices(verdict):
        return [path for row in verdict["assumes"] for side in row["lacking"].values() for path in side
                if path.startswith("accelerators.devices")]

    assert len(open_devices(after)) < len(open_devices(before))


def test_an_element_of_an_array_meets_its_prolog(api):
    element = capture(place("slurm-array", at=60.0), vantage="process")
    prolog = capture(place("slurm-prolog", SLURM_JOB_ID="123460", SLURM_JOBID="123460"))
    for document in (element, prolog):
        assert api.send(document).status_code == 201
    with api.storage.reading() as session:
        keys = session.connection().exec_driver_sql("SELECT DISTINCT job_key FROM observations").scalars().all()
    assert keys == ['["slurm","alpha","123460"]']


def test_a_given_run_id_joins_the_jobs_that_continue_each_other(api):
    for number, (job, at) in enumerate((("123456", 0.0), ("123499", 3600.0))):
        for task in (0, 1):
            document = capture(place(f"slurm-step-task-{task}", at=at, pid=7, PYTHONHASHSEED="0",
                                     SLURM_JOB_ID=job, REPRO_ENV_RUN_ID="chain"), vantage="process")
            assert api.send(document).status_code == 201, number
    run = api.get("/v1/runs/chain").json()
    assert [row["segment"] for row in run["segments"]] == ["123456.r0.s0", "123499.r0.s0"]
    assert run["ranks"] == {"seen": 2, "world_size": 2, "partial": False}
    told = api.get("/v1/comparisons?left=chain&right=chain&question=resume").json()
    assert (told["left"]["segment"], told["right"]["segment"]) == ("123456.r0.s0", "123499.r0.s0")
    assert [reason["rule"] for reason in told["reasons"]] == ["code-untold"], "this host has no repository"
