"""What becomes of the looks of a program: kept first, sent at the end, nothing lost by a kill, and said in one line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import loopback
import pytest
from loopback import serving

from .conftest import RUN, Start, environment, kept
from .standins import TORCH

KILLED = TORCH + "step(); print('stepped', flush=True); import time; time.sleep(60)"


def sent(server: loopback.Server) -> list[tuple[str, str]]:
    """Run and moment of each document that arrived, in order."""
    records = [request.document()["capture"] for request in server.requests if request.method == "PUT"]
    return [(record["run_id"], record["moment"]) for record in records]


def kill_after_the_step(program: str, spool: Path, **variables: str) -> None:
    with subprocess.Popen([*RUN, "--", sys.executable, program], stdout=subprocess.PIPE, text=True,
                          env=environment(spool, variables)) as running:
        assert running.stdout is not None
        assert running.stdout.readline() == "stepped\n"
        running.kill()
    assert running.returncode == -signal.SIGKILL


def test_the_first_look_is_kept_at_once_and_sent_at_the_end(started: Start, script: Callable[..., str]) -> None:
    program = script(TORCH + """
import glob, os
step()
print(len(glob.glob(os.environ["REPRO_ENV_SPOOL"] + "/*.json")))
""")
    with serving(loopback.takes) as server:
        ended = started(sys.executable, program, REPRO_ENV_SERVER=server.url, REPRO_ENV_RUN_ID="run-a")

    assert ended.stdout == "1\n", ended.stderr
    assert sent(server) == [("run-a", "first-step"), ("run-a", "exit")]
    assert ended.documents == []
    assert (ended.stderr, ended.notice) == ("", "")


def test_what_a_killed_program_left_is_sent_with_the_next_one(script: Callable[..., str], tmp_path: Path) -> None:
    spool = tmp_path / "spool"
    with serving(loopback.takes) as server:
        kill_after_the_step(script(KILLED), spool, REPRO_ENV_SERVER=server.url, REPRO_ENV_RUN_ID="killed")
        assert [item["capture"]["run_id"] for item in kept(spool)] == ["killed"]
        assert sent(server) == []

        subprocess.run([*RUN, "--", sys.executable, "-c", "pass"], check=True,
                       env=environment(spool, {"REPRO_ENV_SERVER": server.url, "REPRO_ENV_RUN_ID": "next"}))

    assert sent(server) == [("next", "exit"), ("killed", "first-step")]
    assert kept(spool) == []


@pytest.mark.parametrize("command", ["capture", "sync"])
def test_what_a_killed_program_left_is_sent_by_the_next_command(script: Callable[..., str], tmp_path: Path,
                                                                command: str) -> None:
    spool = tmp_path / "spool"
    kill_after_the_step(script(KILLED), spool, REPRO_ENV_RUN_ID="killed")
    with serving(loopback.takes) as server:
        subprocess.run([sys.executable, "-m", "repro_env", command], check=True, capture_output=True,
                       env=environment(spool, {"REPRO_ENV_SERVER": server.url, "REPRO_ENV_TIMEOUT_S": "10"}))

    assert ("killed", "first-step") in sent(server)
    assert kept(spool) == []


def test_a_server_that_refuses_one_document_gets_the_others(started: Start, script: Callable[..., str]) -> None:
    def answer(connection: object, request: loopback.Request) -> None:
        moment = request.document()["capture"]["moment"]
        (loopback.problem("400 Bad Request", "no", "not this one") if moment == "first-step" else loopback.takes)(
            connection, request)

    with serving(answer) as server:
        ended = started(sys.executable, script(TORCH + "step()"), REPRO_ENV_SERVER=server.url)

    assert [moment for _, moment in sent(server)] == ["first-step", "exit"]
    assert "was set aside" in ended.stderr


def test_a_server_that_is_not_there_is_asked_once(started: Start, script: Callable[..., str]) -> None:
    ended = started(sys.executable, script(TORCH + "step()"),
                    REPRO_ENV_SERVER=f"http://127.0.0.1:{loopback.free_port()}")

    assert len(ended.documents) == 2
    assert ended.stderr.count("\n") == 1
    assert "the observation waits for repro-env sync" in ended.stderr


def test_without_a_server_one_line_says_where_the_documents_are(started: Start, tmp_path: Path) -> None:
    ended = started(sys.executable, "-c", "pass")

    (folder,) = [path for path in tmp_path.iterdir() if path.name.startswith("spool-")]
    run = ended.documents[0]["capture"]["run_id"]
    assert ended.notice == (f"repro-env: run {run} observed; no server is set, so it "
                            f"is kept in {folder} and `repro-env sync` delivers it\n")
    assert ended.stderr == ""


@pytest.mark.parametrize(("rank", "says"), [("0", True), ("3", False)])
def test_one_rank_speaks_for_the_job(started: Start, rank: str, says: bool) -> None:
    ended = started(sys.executable, "-c", "pass", RANK=rank, WORLD_SIZE="8")

    assert bool(ended.notice) == says
    assert len(ended.documents) == 1


def test_documents_that_no_folder_takes_are_sent_from_memory(started: Start, script: Callable[..., str],
                                                             tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    nowhere = str(tmp_path / "file" / "spool")
    program = script(TORCH + f"import os\nos.environ.update(REPRO_ENV_SPOOL={nowhere!r})\nstep()")
    with serving(loopback.takes) as server:
        ended = started(sys.executable, program, REPRO_ENV_SERVER=server.url, HOME=nowhere, XDG_STATE_HOME=nowhere,
                        TMPDIR=nowhere, REPRO_ENV_RUN_ID="run-a")

    assert sent(server) == [("run-a", "first-step"), ("run-a", "exit")]
    assert ended.returncode == 0
    assert "the observation is not kept" in ended.stderr


def test_documents_left_by_others_wait_when_the_time_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from repro_env.delivery import send_waiting
    from repro_env.settings import load
    from repro_env.spool import Spool

    spool = Spool(str(tmp_path / "spool"))
    for number in range(5):
        spool.put(f"obs-{number}", json.dumps({"capture": {"observation_id": f"obs-{number}", "run_id": "r"},
                                               "digests": {}}).encode())
    spool.put("damaged", b"{")
    with serving(loopback.takes) as server:
        monkeypatch.setenv("REPRO_ENV_SERVER", server.url)
        monkeypatch.setenv("REPRO_ENV_SPOOL", spool.folder)
        chosen = load(folder=str(tmp_path))
        assert send_waiting(os.environ, chosen, timeout_s=0) == 0
        assert send_waiting(os.environ, chosen, timeout_s=30, limit=2) == 2
        send_waiting(os.environ, chosen, timeout_s=30)
        assert len(server.requests) == 5
    assert [Path(path).name.split("-")[0] for path in spool.pending()] == ["damaged"]


def test_where_nobody_answers_the_rest_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from repro_env.delivery import send_waiting
    from repro_env.settings import load
    from repro_env.spool import Spool

    spool = Spool(str(tmp_path / "spool"))
    for number in range(3):
        spool.put(f"obs-{number}", json.dumps({"capture": {"observation_id": f"obs-{number}"}}).encode())
    with serving(loopback.closed) as server:
        monkeypatch.setenv("REPRO_ENV_SERVER", server.url)
        monkeypatch.setenv("REPRO_ENV_SPOOL", spool.folder)
        assert send_waiting(os.environ, load(folder=str(tmp_path)), timeout_s=30) == 0
    assert len(server.requests) <= 1
    assert len(spool.pending()) == 3
