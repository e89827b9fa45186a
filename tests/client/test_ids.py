"""Ids: the same circumstances give the same id, and other circumstances another."""

from __future__ import annotations

import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repro_env import ids

SLURM = {"SLURM_JOB_ID": "123456", "SLURM_CLUSTER_NAME": "alpha", "SLURM_RESTART_COUNT": "1", "SLURM_STEP_ID": "0",
         "SLURM_PROCID": "3", "SLURM_LOCALID": "3", "SLURM_STEP_NUM_TASKS": "8", "SLURM_NTASKS": "16",
         "SLURM_SUBMIT_DIR": "/home/researcher"}


@given(st.text())
def test_name_based_ids_are_those_of_the_standard_library(name: str) -> None:
    try:
        expected = str(uuid.uuid5(uuid.NAMESPACE_URL, name))
    except UnicodeEncodeError:
        return
    assert ids.uuid5(ids.URL_NAMESPACE, name) == expected


@given(st.integers(min_value=0, max_value=2**40))
def test_time_ordered_ids_hold_their_milliseconds_version_and_variant(milliseconds: int) -> None:
    made = uuid.UUID(ids.uuid7(milliseconds / 1000))
    assert made.version == 7
    assert made.variant == uuid.RFC_4122
    assert abs((made.int >> 80) - milliseconds) <= 1


def test_two_made_ids_differ() -> None:
    assert ids.uuid7(1.0) != ids.uuid7(1.0)


def test_a_given_run_id_wins_over_the_scheduler() -> None:
    environ = {**SLURM, "REPRO_ENV_RUN_ID": "from-variable"}
    assert ids.run_identity(environ, 0.0, given="from-flag") == ("from-flag", "given")
    assert ids.run_identity(environ, 0.0) == ("from-variable", "given")


def test_all_ranks_of_a_step_have_one_run_and_another_step_has_another() -> None:
    runs = {ids.run_identity({**SLURM, "SLURM_PROCID": str(rank)}, 0.0) for rank in range(8)}
    assert len(runs) == 1
    assert next(iter(runs))[1] == "scheduler"
    for change in ({"SLURM_STEP_ID": "1"}, {"SLURM_RESTART_COUNT": "2"}, {"SLURM_JOB_ID": "7"},
                   {"SLURM_CLUSTER_NAME": "beta"}):
        assert ids.run_identity({**SLURM, **change}, 0.0) not in runs


def test_without_scheduler_a_run_id_is_made() -> None:
    run, source = ids.run_identity({}, 1_800_000_000.0)
    assert source == "made"
    assert run is not None
    assert uuid.UUID(run).version == 7


def test_torchrun_s_own_run_id_joins_its_ranks_unless_it_is_the_default() -> None:
    elastic = {"TORCHELASTIC_RUN_ID": "exp-7", "TORCHELASTIC_RESTART_COUNT": "0"}
    assert ids.run_identity(elastic, 0.0) == ids.run_identity({**elastic, "RANK": "1"}, 9.0)
    assert ids.run_identity({"TORCHELASTIC_RUN_ID": "none"}, 0.0)[1] == "made"


def test_a_node_has_a_job_and_no_run() -> None:
    assert ids.run_identity(SLURM, 0.0, subject="node") == (None, None)


def test_an_elastic_restart_stays_in_its_run() -> None:
    elastic = {"TORCHELASTIC_RUN_ID": "exp-7", "TORCHELASTIC_RESTART_COUNT": "0"}
    assert ids.run_identity(elastic, 0.0) == ids.run_identity({**elastic, "TORCHELASTIC_RESTART_COUNT": "1"}, 9.0)


def test_the_ranks_of_one_mpirun_have_one_run_where_its_key_is_told() -> None:
    def rank(number: int, key: str) -> tuple[str | None, str | None]:
        return ids.run_identity({"OMPI_COMM_WORLD_RANK": str(number), "OMPI_COMM_WORLD_SIZE": "2",
                                 "OMPI_MCA_orte_precondition_transports": key}, 0.0)

    assert rank(0, "a1-b2") == rank(1, "a1-b2") != rank(0, "c3-d4")
    assert rank(0, "a1-b2")[1] == "scheduler"


def test_an_observation_is_told_by_every_part_of_its_place() -> None:
    place = ("run", "node-17", "1.r0", 3, 4711, "process", 0, "2026-01-31T12:00:00.000Z")
    others = {ids.observation_id(*place[:index], "other", *place[index + 1:]) for index in range(len(place))}
    assert len(others) == len(place)
    assert ids.observation_id(*place) not in others
    assert ids.observation_id(*place) == ids.observation_id(*place)


@pytest.mark.parametrize(("environ", "expected"), [
    ({"RANK": "5", "LOCAL_RANK": "1", "WORLD_SIZE": "8"}, (5, 1, 8)),
    (SLURM, (3, 3, 8)),
    ({**SLURM, "RANK": "5", "LOCAL_RANK": "1", "WORLD_SIZE": "64"}, (5, 1, 64)),
    ({"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_LOCAL_RANK": "0", "OMPI_COMM_WORLD_SIZE": "4"}, (2, 0, 4)),
    ({"PMI_RANK": "2", "MPI_LOCALRANKID": "0", "PMI_SIZE": "4"}, (2, 0, 4)),
    ({"MV2_COMM_WORLD_RANK": "2", "MV2_COMM_WORLD_LOCAL_RANK": "1", "MV2_COMM_WORLD_SIZE": "4"}, (2, 1, 4)),
    ({"PALS_RANKID": "2", "PALS_LOCAL_RANKID": "0", "PMI_SIZE": "4"}, (2, 0, 4)),
    ({"JSM_NAMESPACE_RANK": "6", "JSM_NAMESPACE_LOCAL_RANK": "0", "JSM_NAMESPACE_SIZE": "12"}, (6, 0, 12)),
    ({"FLUX_TASK_RANK": "1", "FLUX_TASK_LOCAL_ID": "1", "FLUX_JOB_SIZE": "2"}, (1, 1, 2)),
    ({**SLURM, "SLURM_PROCID": "0", "OMPI_COMM_WORLD_RANK": "5", "OMPI_COMM_WORLD_LOCAL_RANK": "1",
      "OMPI_COMM_WORLD_SIZE": "8"}, (5, 1, 8)),
    ({"SLURM_JOB_ID": "1", "SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_NTASKS": "16"}, (None, None, None)),
    ({"SLURM_JOB_ID": "1", "SLURM_PROCID": "0", "SLURM_NTASKS": "16", "SLURM_STEP_ID": "4294967291"},
     (None, None, None)),
    ({"RANK": "x", "WORLD_SIZE": "8"}, (None, None, None)),
    ({"RANK": "\u0663", "WORLD_SIZE": "8"}, (None, None, None)),
    ({}, (None, None, None)),
], ids=["torchrun", "slurm", "torchrun-in-slurm", "openmpi", "intel-mpi", "mvapich",
        "cray-pals", "jsrun", "flux", "mpirun-in-slurm", "batch-script", "batch-step", "garbage", "other-digits",
        "single"])
def test_ranks_as_each_launcher_announces_them(environ: dict[str, str], expected: tuple[object, ...]) -> None:
    assert ids.ranks(environ) == expected


@pytest.mark.parametrize(("environ", "root", "expected"), [
    ({"SLURM_JOB_ID": "1", "SLURM_SCRIPT_CONTEXT": "prolog_slurmd"}, True, True),
    ({**SLURM, "SLURM_SCRIPT_CONTEXT": "prolog_slurmctld"}, False, True),
    ({**SLURM, "SLURM_SCRIPT_CONTEXT": "prolog_srun"}, False, False),
    ({"SLURM_JOB_ID": "1", "SLURM_SCRIPT_CONTEXT": "prolog_task", "SLURM_SUBMIT_DIR": "/x"}, False, False),
    ({"SLURM_JOB_ID": "1", "SLURM_JOB_UID": "1000"}, True, True),
    (SLURM, True, False),
    ({}, True, False),
], ids=["context", "controller", "srun-prolog", "task-prolog", "before-contexts", "root-s-own-job", "no-job"])
def test_only_slurm_s_prolog_on_the_host_sees_the_node(environ: dict[str, str], root: bool, expected: bool) -> None:
    assert ids.is_node_prolog(environ, root=root) is expected


def test_masks_and_ids_of_devices_stand_beside_the_rank() -> None:
    place = ids.process({**SLURM, "CUDA_VISIBLE_DEVICES": "3", "USER": "researcher"}, "node-17", 42)
    assert place["device_masks"] == {"CUDA_VISIBLE_DEVICES": "3"}
    assert (place["rank"], place["node"], place["user"], place["pid"]) == (3, "node-17", "researcher", 42)


@pytest.mark.parametrize("text", ["bad id", "a/b", "", ".hidden", "x" * 129, "\u00fc"])
def test_an_id_that_no_service_would_take_counts_as_not_given(text: str) -> None:
    run, source = ids.run_identity({"REPRO_ENV_RUN_ID": text}, 1_800_000_000.0)
    assert (source, len(run or "")) == ("made", 36)
    assert ids.run_identity({}, 1_800_000_000.0, given=text)[1] == "made"
