"""``compare RUN RUN --question resume``: the first start of one run against its last, from a file and the service."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from documents import complete_document
from loopback import problem, says, serving

Run = Callable[..., Any]


def look(start: int, **facts: Any) -> dict[str, Any]:
    return complete_document("process", **{
        "capture.observation_id": f"o{start}", "capture.run_id": "r1", "capture.segment": f"7.r{start}",
        "capture.process.pid": 100 + start, "capture.captured_at": f"2026-01-31T1{start}:00:00.000Z", **facts})


def answer(folder: Path, *documents: dict[str, Any]) -> str:
    """A file as ``GET /v1/runs/r1`` answers it."""
    (folder / "run.json").write_text(json.dumps({"entries": [{"document": document} for document in documents]}))
    return "run.json"


def resume(repro_env: Run, left: str, right: str, *options: str) -> Any:
    return repro_env("compare", left, right, "--question", "resume", *options)


def test_equal_starts_continue_each_other(folder: Path, repro_env: Run) -> None:
    file = answer(folder, look(1), look(0), look(2))
    assert resume(repro_env, file, file).code == 0


def test_the_last_start_counts_and_not_those_between(folder: Path, repro_env: Run) -> None:
    four = {"threads.torch_intraop": 4}
    file = answer(folder, look(1, **four), look(0), look(2))
    assert resume(repro_env, file, file).code == 0
    done = resume(repro_env, answer(folder, look(1), look(2, **four), look(0)), "run.json", "--json")
    assert done.code != 0
    assert [reason["rule"] for reason in done.json()["reasons"]][:1] == ["torch-threads"]
    assert done.json()["question"] == "resume"


def test_another_question_takes_the_run_as_a_whole(folder: Path, repro_env: Run) -> None:
    file = answer(folder, look(0), look(1, **{"threads.torch_intraop": 4}))
    done = repro_env("compare", file, file, "--question", "repeat", "--json")
    assert "ranks-differ" in [reason["rule"] for reason in done.json()["reasons"]]


@pytest.mark.parametrize("documents", [[look(0)], [look(0), look(0, **{"capture.observation_id": "o7"})]],
                         ids=["one-look", "two-looks"])
def test_a_run_of_one_start_is_refused_in_words(folder: Path, repro_env: Run, documents: list[Any]) -> None:
    file = answer(folder, *documents)
    done = resume(repro_env, file, file)
    assert (done.code, done.out) == (65, "")
    assert "seen to start once" in done.err


def test_two_files_are_held_against_each_other_as_they_are(folder: Path, repro_env: Run) -> None:
    for name, document in (("a.json", look(0)), ("b.json", look(1))):
        (folder / name).write_text(json.dumps(document))
    assert resume(repro_env, "a.json", "b.json").code == 0


def test_the_service_is_asked_for_its_own_answer(folder: Path, repro_env: Run) -> None:
    file = answer(folder, look(0), look(1))
    verdict = resume(repro_env, file, file, "--json").json()
    with serving(says("200 OK", verdict)) as server:
        assert resume(repro_env, "r1", "r1", "--server", server.url).code == 0
    assert "question=resume" in server.requests[0].target
    assert "left=r1&right=r1" in server.requests[0].target


def test_what_the_service_refuses_is_told_in_its_words(repro_env: Run) -> None:
    with serving(problem("422 Unprocessable Content", "The run was started once", "run r1: seen once")) as server:
        done = resume(repro_env, "r1", "r1", "--server", server.url)
    assert done.code not in {0, 1, 2, 3}
    assert "seen once" in done.err


def test_a_policy_judges_the_starts_of_a_stored_run_here(folder: Path, repro_env: Run) -> None:
    waived = dict.fromkeys(("torch-threads", "torch-host-threads"), "measured")
    (folder / "policy.json").write_text(json.dumps({"waive": waived}))
    told = {"entries": [{"document": document} for document in (look(0), look(1, **{"threads.torch_intraop": 4}))]}
    with serving(says("200 OK", told)) as server:
        done = resume(repro_env, "r1", "r1", "--server", server.url, "--policy", "policy.json")
    assert done.code == 0, done.out
