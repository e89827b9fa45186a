"""``repro-env doctor``: what a person and a script get."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from documents import complete_document
from importing import dump_text
from loopback import says, serving

Run = Callable[..., Any]


def put(folder: Path, name: str, value: Any) -> str:
    path = folder / name
    path.write_text(value if isinstance(value, str) else json.dumps(value))
    return str(path)


def test_this_machine_is_examined_without_writing_or_sending(repro_env: Run, spool: Path) -> None:
    done = repro_env("doctor", env={"OMP_NUM_THREADS": "100000"})
    assert done.code == 1
    assert "OMP_NUM_THREADS asks for 100000 threads" in done.out
    assert "mend: export OMP_NUM_THREADS=" in done.out
    assert done.err == ""
    assert not spool.exists()


def test_json_is_alone_on_stdout(repro_env: Run) -> None:
    rows = repro_env("doctor", "--json", env={"OMP_NUM_THREADS": "100000"}).json()
    (row,) = [row for row in rows if row["kind"] == "contradiction"]
    assert set(row) == {"kind", "check", "says", "mend", "effect", "facts"}
    assert row["check"] == "threads-asked"


def test_a_sound_document_is_told_so(repro_env: Run, folder: Path) -> None:
    done = repro_env("doctor", put(folder, "sound.json", complete_document("exit")))
    assert done.code == 0
    assert " ".join(done.out.split()).startswith(
        "Nothing found: nothing contradicts itself, nothing makes numbers move, everything was read.")


def test_findings_that_only_move_numbers_exit_with_0(repro_env: Run, folder: Path) -> None:
    document = complete_document("exit", **{"source.dirty": True, "source.diff_digest": "sha256:" + "4" * 64})
    done = repro_env("doctor", put(folder, "dirty.json", document))
    assert (done.code, done.out.splitlines()[0]) == (0, "1 thing that makes numbers move.")


def test_ranks_say_a_common_finding_once(repro_env: Run, folder: Path) -> None:
    ranks = [complete_document("exit", **{"source.dirty": True, "capture.process.rank": rank}) for rank in (0, 1)]
    done = repro_env("doctor", put(folder, "ranks.json", ranks))
    assert done.out.count("the repository has changes") == 1
    assert "(rank 0, rank 1)" in " ".join(done.out.split())
    rows = repro_env("doctor", str(folder / "ranks.json"), "--json").json()
    assert {row["place"] for row in rows} == {"rank 0", "rank 1"}


def test_a_pasted_dump_is_examined(repro_env: Run, folder: Path) -> None:
    done = repro_env("doctor", put(folder, "dump.txt", dump_text(torch="2.9.0+cu130", cuda="13.0")))
    assert done.code == 1
    assert "torch was built for CUDA 13.0, the driver serves CUDA up to 12" in " ".join(done.out.split())
    assert "repro-env capture on that machine" in done.out


@pytest.mark.parametrize(("content", "code"), [("{", 65), ("", 65), ("nothing known", 65)],
                         ids=["broken", "empty", "unknown"])
def test_bad_input_is_refused(content: str, code: int, repro_env: Run, folder: Path) -> None:
    done = repro_env("doctor", put(folder, "bad.json", content))
    assert (done.code, done.out) == (code, "")
    assert done.err


def test_a_hostile_document_never_steers_the_terminal(repro_env: Run, folder: Path) -> None:
    error = {"path": "cpu", "code": "failed", "message": "\x1b[31mred\x07"}
    done = repro_env("doctor", put(folder, "hostile.json", complete_document("exit", **{"capture.errors": [error]})))
    assert "\x1b" not in done.out
    assert "\x07" not in done.out


def test_a_run_of_the_service_is_examined_in_all_its_processes(repro_env: Run) -> None:
    entries = [{"document": complete_document("exit", **{"source.dirty": True, "capture.process.rank": rank})}
               for rank in (0, 1)]
    with serving(says("200 OK", {"run_id": "run-a", "entries": entries})) as server:
        done = repro_env("doctor", "run-a", env={"REPRO_ENV_SERVER": server.url})
        assert server.requests[0].target == "/v1/runs/run-a"
    assert done.code == 0
    assert "(rank 0, rank 1)" in " ".join(done.out.split())


def test_a_run_without_a_server_is_told_so(repro_env: Run) -> None:
    done = repro_env("doctor", "run-a")
    assert done.code == 64
    assert "doctor: 'run-a' is no file here" in done.err
