"""``sync``: what waits is delivered, what is damaged is set aside and said, and the exit code tells what remains."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import loopback
import pytest
from loopback import problem, serving

Run = Callable[..., Any]


@pytest.fixture
def three(repro_env: Run, spool: Path) -> list[Path]:
    """Three waiting documents, the oldest first."""
    for name in ("run-1", "run-2", "run-3"):
        repro_env("capture", "--run-id", name)
    paths = sorted(spool.glob("*.json"), key=lambda path: path.stat().st_mtime)
    for age, path in zip((30, 20, 10), paths, strict=True):
        os.utime(path, (time.time() - age,) * 2)
    return paths


def test_an_empty_spool_is_said_and_needs_no_server(repro_env: Run) -> None:
    done = repro_env("sync")
    assert (done.code, done.out) == (0, "")
    assert done.lines == ["repro-env: nothing waits to be delivered"]


def test_without_a_server_it_says_how_many_wait(three: list[Path], repro_env: Run) -> None:
    done = repro_env("sync")
    assert done.code == 64
    assert "sync: 3 documents waiting in" in done.lines[0]
    assert "no server is set" in done.lines[0]


@pytest.mark.parametrize("name", ["../../v1/projects/vision/baseline", "a/b", "a?b=c", "-a", "a\0", "a" * 129,
                                  "\u00e9"])
def test_ids_that_no_service_takes_are_set_aside_and_hold_nothing_up(three: list[Path], repro_env: Run, spool: Path,
                                                                     name: str) -> None:
    for number in range(5):
        (spool / f"odd-{number}.json").write_text(json.dumps({"capture": {"observation_id": name}}))
        os.utime(spool / f"odd-{number}.json", (1, 1))
    with serving(loopback.takes) as server:
        done = repro_env("sync", "--server", server.url)
    assert done.code == 1
    assert "3 documents delivered" in done.lines[-1]
    assert "5 set aside" in done.lines[-1]
    assert len(server.requests) == 3


def test_everything_is_delivered_the_oldest_first(three: list[Path], repro_env: Run, spool: Path) -> None:
    with serving(loopback.takes) as server:
        done = repro_env("sync", "--server", server.url)
    assert done.code == 0
    assert done.lines == [f"repro-env: 3 documents delivered to {server.url}"]
    assert [item.document()["capture"]["run_id"] for item in server.requests] == ["run-1", "run-2", "run-3"]
    assert list(spool.glob("*.json")) == []


DAMAGES = {
    "empty": b"", "cut": b'{"schema": "1.0", "sta', "zeros": b"\x00" * 100, "list": b"[]",
    "twice": b'{"a": 1, "a": 2}', "encoding": b"\xff\xfe", "no-id": b'{"capture": {"observation_id": 7}}',
    "huge": b'{"x":"' + b"y" * (1 << 20) + b'"}',
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_document_is_set_aside_and_the_rest_delivered(damage: bytes, three: list[Path], repro_env: Run,
                                                                spool: Path) -> None:
    three[1].write_bytes(damage)
    with serving(loopback.takes) as server:
        done = repro_env("sync", "--server", server.url)
    assert done.code == 1
    assert [item.document()["capture"]["run_id"] for item in server.requests] == ["run-1", "run-3"]
    aside = spool / "set-aside" / three[1].name
    assert aside.read_bytes() == damage
    assert "half-written or damaged" in Path(f"{aside}.reason").read_text()
    assert done.lines[0].startswith(f"repro-env: {aside}: set aside: half-written or damaged")
    assert done.lines[-1] == f"repro-env: 2 documents delivered to {server.url}, 1 set aside"
    assert repro_env("sync").lines == ["repro-env: nothing waits to be delivered"]


def test_what_a_killed_writer_left_is_set_aside(three: list[Path], repro_env: Run, spool: Path) -> None:
    part = spool / ".obs.json.1.ab.part"
    part.write_bytes(b'{"half')
    os.utime(part, (time.time() - 7200,) * 2)
    with serving(loopback.takes) as server:
        done = repro_env("sync", "--server", server.url)
    assert done.code == 1
    assert not part.exists()
    assert "half-written: its writer ended before it was done" in done.lines[0]
    assert (spool / "set-aside" / "obs.json.1.ab.part").read_bytes() == b'{"half'


def test_a_refused_document_is_set_aside_and_the_rest_delivered(three: list[Path], repro_env: Run, spool: Path) -> None:
    refuses = problem("422 Unprocessable", "The document is not what the schema says", "stack.cpu: missing")

    def picky(connection: Any, request: loopback.Request) -> None:
        answer = refuses if request.document()["capture"]["run_id"] == "run-2" else loopback.takes
        answer(connection, request)

    with serving(picky) as server:
        done = repro_env("sync", "--server", server.url)
    assert done.code == 1
    assert len(server.requests) == 3
    assert "stack.cpu: missing" in done.lines[0]
    assert [path.name for path in (spool / "set-aside").glob("*.json")] == [three[1].name]


def test_a_service_that_is_down_keeps_everything(three: list[Path], repro_env: Run, spool: Path) -> None:
    done = repro_env("sync", "--server", f"http://127.0.0.1:{loopback.free_port()}")
    assert done.code == 1
    assert sorted(spool.glob("*.json")) == sorted(three)
    assert "0 documents delivered" in done.lines[0]
    assert "3 still waiting: " in done.lines[0]
    assert "connection refused" in done.lines[0]


def test_a_service_that_does_not_answer_is_not_asked_for_every_document(three: list[Path], repro_env: Run, spool: Path
                                                                       ) -> None:
    for number in range(20):
        shutil.copy(three[0], spool / f"copy-{number}.json")
    with serving(loopback.silent) as server:
        done = repro_env("sync", "--server", server.url, "--timeout", "0.3")
    assert server.connections == 3
    assert done.took_s < 4
    assert "23 still waiting" in done.lines[0]
    assert len(list(spool.glob("*.json"))) == 23


def test_a_document_of_another_user_stays(three: list[Path], repro_env: Run, spool: Path) -> None:
    if os.getuid() == 0:
        three[0].unlink()
        three[0].symlink_to("/nonexistent")  # root reads everything; a link is what it must leave alone
    else:
        three[0].chmod(0)
    with serving(loopback.takes) as server:
        repro_env("sync", "--server", server.url)
    assert [item.document()["capture"]["run_id"] for item in server.requests] == ["run-2", "run-3"]
    assert os.path.lexists(three[0])


def test_two_at_once_deliver_everything_and_lose_nothing(three: list[Path], repro_env: Run, spool: Path) -> None:
    import threading

    with serving(loopback.takes) as server:
        codes: list[int] = []
        threads = [threading.Thread(target=lambda: codes.append(repro_env("sync", "--server", server.url).code))
                   for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert codes == [0, 0]
    assert {item.document()["capture"]["run_id"] for item in server.requests} == {"run-1", "run-2", "run-3"}
    assert list(spool.glob("*.json")) == []
