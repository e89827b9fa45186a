"""Whatever an environment holds: reading it never fails, and what is read can stand in a document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from documents import complete_document
from hypothesis import given
from hypothesis import strategies as st

from repro_env import ids, jobs
from repro_env.fingerprint.facts import is_unread
from repro_env.fingerprint.validate import validate

RECORDED = [json.loads(path.read_text()) for path in sorted((Path(__file__).parent / "jobs").glob("*.json"))]
NAMES = sorted({name for told in RECORDED for name in told["environ"]} | {
    "LSB_RESTART", "PALS_APID", "SLURM_HET_JOB_ID", "SLURM_SPANK_SHIFTER_IMAGEREQUEST", "JSM_NAMESPACE_RANK"})
ODD = ("", "0", "1", "7", "-1", "x", "none", "Y", "4294967291", "9" * 40, "\u0663", "a b")
VALUES = st.one_of(st.sampled_from(ODD), st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12))
ENVIRONS = st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=12)
NUMBERS = ("restart", "task", "node_count")


def refusing(path: str) -> str:
    raise PermissionError(13, "refused", path)


@given(environ=ENVIRONS, text=st.none() | st.text(max_size=40))
def test_every_environment_gives_facts_that_can_stand_in_a_document(environ: dict[str, str], text: str | None) -> None:
    facts = jobs.job(environ, refusing if text is None else lambda path: text)
    document = complete_document()
    document["capture"]["job"] = facts
    document["capture"]["segment"] = jobs.segment(facts, environ)
    rank, local_rank, world_size = ids.ranks(environ)
    document["capture"]["process"].update(rank=rank, local_rank=local_rank, world_size=world_size)
    assert validate(document)
    for name, fact in facts.items():
        assert fact is None or is_unread(fact) or isinstance(fact, int if name in NUMBERS else str)
        assert fact != ""


@given(environ=ENVIRONS, now_s=st.floats(0, 2e9))
def test_a_run_of_a_scheduler_is_the_same_whenever_it_is_asked_for(environ: dict[str, str], now_s: float) -> None:
    run, source = ids.run_identity(environ, now_s)
    again, same = ids.run_identity(environ, now_s + 60)
    assert source == same
    assert (run == again) is (source != "made")
    assert ids.run_identity(environ, now_s, subject="node") == (None, None)


@given(environ=ENVIRONS)
def test_nothing_is_read_of_a_scheduler_that_is_not_there(environ: dict[str, str]) -> None:
    marks = ("SLURM_JOB_ID", "SLURM_JOBID", "PBS_JOBID", "LSB_JOBID", "KUBERNETES_SERVICE_HOST")
    bare = {name: value for name, value in environ.items() if name not in marks}
    assert set(jobs.job(bare, refusing).values()) == {None}


@pytest.mark.parametrize("told", RECORDED, ids=lambda told: told["what"][:40])
def test_a_rank_never_changes_job_run_or_start(told: dict[str, Any]) -> None:
    """Ranks of one launcher differ in nothing but their number and their node."""
    environ = told["environ"]
    numbers = ("RANK", "LOCAL_RANK", "SLURM_PROCID", "SLURM_LOCALID", "OMPI_COMM_WORLD_RANK", "PMI_RANK",
               "JSM_NAMESPACE_RANK", "PALS_RANKID", "PMIX_RANK", "SLURMD_NODENAME", "SLURM_NODEID", "GROUP_RANK")
    other = {**environ, **{name: "0" for name in numbers if name in environ}}
    facts, others = jobs.job(environ), jobs.job(other)
    assert {**facts, "task": None} == {**others, "task": None}
    assert jobs.identity(facts, environ) == jobs.identity(others, other)
    assert jobs.segment(facts, environ) == jobs.segment(others, other)
