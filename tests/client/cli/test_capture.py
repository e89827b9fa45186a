"""``capture`` in a job's prologue: exit code 0 within its time whatever the service does, and nothing is lost."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import loopback
import pytest
from loopback import problem, says, serving

from repro_env.fingerprint.validate import validate

Run = Callable[..., Any]
TIMEOUT_S = 1.0


def waiting(spool: Path) -> list[Path]:
    return sorted(spool.glob("*.json"))


def test_stdout_is_empty_unless_asked(repro_env: Run) -> None:
    done = repro_env("capture")
    assert (done.code, done.out) == (0, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no device that is always full")
def test_a_stdout_that_takes_nothing_costs_the_print_alone(repro_env: Run, spool: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = repro_env("capture", "--json", "--server", "http://127.0.0.1:9", out=full)
    assert done.code == 0
    assert "could not be printed" in done.lines[0]
    assert len(waiting(spool)) == 1


def test_a_kept_document_of_another_interpreter_than_the_running_one_says_so(repro_env: Run, folder: Path) -> None:
    other = folder / "bin" / "python"
    other.parent.mkdir()
    other.write_text("#!/bin/sh\n")
    other.chmod(0o755)
    done = repro_env("capture", "-o", "env.json", env={"PATH": str(other.parent)})
    assert (done.code, len(done.lines)) == (0, 1)
    assert f"(of {other}, the first on PATH; --python {sys.executable} looks at this one)" in done.err
    own = repro_env("capture", "-o", "env.json", "--python", sys.executable, env={"PATH": str(other.parent)})
    assert own.lines[0].endswith(" captured")


def test_json_is_exactly_one_valid_document(repro_env: Run, spool: Path) -> None:
    done = repro_env("capture", "--json")
    assert validate(done.json())["capture"]["vantage"] == "prologue"
    assert done.lines == [f"repro-env: run {done.json()['capture']['run_id']} captured"]
    assert waiting(spool) == []


def test_without_a_server_one_line_says_where_the_document_is(repro_env: Run, spool: Path) -> None:
    done = repro_env("capture", "--run-id", "run-a")
    (path,) = waiting(spool)
    assert done.lines == ["repro-env: run run-a captured, not sent: no server is set (--server, REPRO_ENV_SERVER or "
                          f"reproenv.toml); the document waits in {path}"]
    assert validate(json.loads(path.read_bytes()))["capture"]["run_id"] == "run-a"


def test_a_file_is_written_where_asked_and_the_spool_stays_empty(repro_env: Run, folder: Path, spool: Path) -> None:
    done = repro_env("capture", "-o", "env.json", "--no-send", "--run-id", "run-a", "--python", sys.executable)
    assert done.lines == ["repro-env: run run-a captured"]
    assert validate(json.loads((folder / "env.json").read_bytes()))
    assert waiting(spool) == []


def test_a_file_that_cannot_be_written_costs_the_file_alone(repro_env: Run) -> None:
    with serving(loopback.takes) as server:
        done = repro_env("capture", "-o", "no/such/folder/env.json", "--server", server.url)
        assert (done.code, len(server.requests)) == (0, 1)
        assert "no/such/folder/env.json: could not be written (No such file or directory)" in done.err
        assert repro_env("capture", "-o", "no/such/folder/env.json", "--server", server.url, "--strict").code == 1


def test_what_the_user_says_of_the_run_is_in_the_document(repro_env: Run) -> None:
    document = repro_env("capture", "--json", "--run-id", "r", "--project", "p", "--group", "g", "--label", "a=b",
                         "--label=c=d=e", "--declare", "epochs=4").json()
    record = document["capture"]
    assert (record["run_id"], record["project"], record["group"]) == ("r", "p", "g")
    assert record["labels"] == {"a": "b", "c": "d=e"}
    assert document["program"]["declared"]["values"] == {"epochs": "4"}


def test_settings_come_from_variables_and_file(repro_env: Run, folder: Path) -> None:
    (folder / "reproenv.toml").write_text('project = "from-file"\n')
    record = repro_env("capture", "--json", env={"REPRO_ENV_GROUP": "from-variable"}).json()["capture"]
    assert (record["project"], record["group"]) == ("from-file", "from-variable")


def test_a_sent_document_leaves_the_spool(repro_env: Run, spool: Path) -> None:
    with serving(loopback.takes) as server:
        done = repro_env("capture", "--run-id", "run-a", "--server", server.url)
        (request,) = server.requests
    assert done.lines == [f"repro-env: run run-a captured, sent to {server.url}"]
    assert request.target.rsplit("/", 1)[1] == validate(request.document())["capture"]["observation_id"]
    assert waiting(spool) == []


def test_the_document_is_on_the_disk_before_it_is_sent(repro_env: Run, spool: Path) -> None:
    seen: list[int] = []

    def looks(connection: socket.socket, request: loopback.Request) -> None:
        seen.append(len(waiting(spool)))
        loopback.takes(connection, request)

    with serving(looks) as server:
        repro_env("capture", "--server", server.url)
    assert seen == [1]


def test_warnings_of_the_service_stand_on_stderr(repro_env: Run) -> None:
    warning = {"kind": "baseline", "baseline": "run-0", "level": "curve", "answer": "no",
               "headline": "Not comparable: 4 threads against 8.", "first_reason": "another GPU: A100 against H100",
               "remedy": "use an A100", "comparison": "/v1/comparisons?left=run-0&right=run-a"}

    def warns(connection: socket.socket, request: loopback.Request) -> None:
        receipt = loopback.receipt_of(request, warnings=[warning], notes=["one note\x1b[2J"])
        connection.sendall(loopback.reply("201 Created", receipt))

    with serving(warns) as server:
        done = repro_env("capture", "--run-id", "run-a", "--server", server.url)
    assert done.code == 0
    assert done.out == ""
    assert done.lines[1:] == [
        "repro-env: WARNING against baseline run-0, asked for level curve: Not comparable: 4 threads against 8.",
        "           reason: another GPU: A100 against H100",
        "           remedy: use an A100",
        "           more:   repro-env compare run-0 run-a",
        "repro-env: note: one note?[2J"]


FAULTS = {
    "silent": loopback.silent, "dripping-head": loopback.dripping_head, "dripping-body": loopback.dripping_body,
    "endless": loopback.endless_body, "html": says("200 OK", "<html>login</html>", "text/html"),
    "redirect": says("302 Found", "", "text/html", Location="http://127.0.0.1:1/"),
    "other-json": says("200 OK", {"ok": "yes"}), "500": says("500 Error", "oops", "text/plain"),
    "503": problem("503 Service Unavailable", "Not now", "busy", Retry_After="60"), "garbage": loopback.garbage,
    "closed": loopback.closed, "cut-off": loopback.cut_off,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_failing_service_never_costs_the_job_and_sync_delivers_later(fault: str, repro_env: Run, spool: Path) -> None:
    with serving(FAULTS[fault]) as server:
        done = repro_env("capture", "--run-id", "run-a", "--server", server.url, "--timeout", str(TIMEOUT_S))
        assert server.connections == 1, "the fault did not happen"
        assert (done.code, done.out) == (0, "")
        assert done.took_s <= TIMEOUT_S + 1
        (line,) = done.lines
        assert line.startswith("repro-env: run run-a captured, not sent: ")
        assert line.endswith(f"it waits in {waiting(spool)[0]}, `repro-env sync` delivers it")
        server.answer = loopback.takes
        synced = repro_env("sync", "--server", server.url)
    assert synced.code == 0, synced.err
    assert waiting(spool) == []
    assert server.requests[-1].document()["capture"]["run_id"] == "run-a"


def test_a_service_that_is_down_costs_next_to_nothing(repro_env: Run, spool: Path) -> None:
    done = repro_env("capture", "--server", f"http://127.0.0.1:{loopback.free_port()}")
    assert done.code == 0
    assert "connection refused; is the service running?" in done.lines[0]
    assert len(waiting(spool)) == 1


def test_a_service_without_tls_is_no_way_out(repro_env: Run, spool: Path) -> None:
    with serving(loopback.takes) as server:
        done = repro_env("capture", "--server", server.url.replace("http:", "https:"))
    assert done.code == 0
    assert "TLS failed" in done.lines[0]
    assert len(waiting(spool)) == 1


def test_a_refused_document_is_set_aside_with_the_reason(repro_env: Run, spool: Path) -> None:
    with serving(problem("409 Conflict", "Another document is stored", "under this id")) as server:
        done = repro_env("capture", "--server", server.url)
    assert done.code == 0
    assert waiting(spool) == []
    (kept,) = (spool / "set-aside").glob("*.json")
    assert str(kept) in done.lines[0]
    assert "Another document is stored: under this id" in Path(f"{kept}.reason").read_text()


@pytest.mark.parametrize("server", ["http://user:hunter2@127.0.0.1:1", "gopher://x", "127.0.0.1:8765"])
def test_a_wrong_address_is_said_and_the_document_kept(server: str, repro_env: Run, spool: Path) -> None:
    done = repro_env("capture", env={"REPRO_ENV_SERVER": server})
    assert done.code == 0
    assert "server: expected an address" in done.err
    assert "hunter2" not in done.err
    assert len(waiting(spool)) == 1


def test_strict_makes_a_failed_delivery_an_exit_code(repro_env: Run) -> None:
    down = f"http://127.0.0.1:{loopback.free_port()}"
    assert repro_env("capture", "--server", down, "--strict").code == 1
    assert repro_env("capture", "--no-send", "--strict").code == 0
    with serving(loopback.takes) as server:
        assert repro_env("capture", "--server", server.url, "--strict").code == 0


def test_values_that_a_job_computes_wrongly_do_not_stop_it(repro_env: Run) -> None:
    done = repro_env("capture", "--json", "--label", "nonsense", "--timeout", "soon", "--project", "a b", "--declare",
                     "x")
    assert done.code == 0
    assert [line.split(": ")[1] for line in done.lines[:4]] == ["--label", "--timeout", "--project", "--declare"]
    assert all(line.endswith("; it is not used") for line in done.lines[:4])
    assert validate(done.json())
    assert repro_env("capture", "--label", "nonsense", "--strict").code == 64


@pytest.mark.parametrize("arguments", [["--nonsense"], ["--label"], ["--subject", "moon"], ["positional"],
                                       ["--json=1"]])
def test_an_option_that_does_not_exist_is_wrong_usage(arguments: list[str], repro_env: Run) -> None:
    done = repro_env("capture", *arguments)
    assert done.code == 64
    assert len(done.lines) == 1


def test_detach_returns_at_once_and_the_document_arrives(repro_env: Run, spool: Path) -> None:
    def slow(connection: socket.socket, request: loopback.Request) -> None:
        time.sleep(1.5)
        loopback.takes(connection, request)

    with serving(slow) as server:
        # returns once nobody holds our pipes any more
        done = repro_env("capture", "--detach", "--run-id", "run-a", "--server", server.url)
        assert done.code == 0
        assert done.took_s < 1.4
        assert done.lines == [f"repro-env: run run-a captured, being sent to {server.url} in the background"]
        deadline = time.monotonic() + 15
        while waiting(spool) and time.monotonic() < deadline:
            time.sleep(0.05)
    assert waiting(spool) == []
    assert len(server.requests) == 1


def test_killed_between_keeping_and_sending_the_document_is_still_there(
        spool: Path, folder: Path, repro_env: Run) -> None:
    with serving(loopback.silent) as server:
        environ = {**os.environ, "REPRO_ENV_SPOOL": str(spool)}
        process = subprocess.Popen([sys.executable, "-m", "repro_env", "capture", "--server", server.url, "--run-id",
                                    "run-a", "--timeout", "30"], cwd=folder, env=environ, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while not server.requests and time.monotonic() < deadline:
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
        assert process.wait(30) == -signal.SIGKILL
        assert len(server.requests) == 1, "the fault did not happen"
        assert len(waiting(spool)) == 1
        server.answer = loopback.takes
        assert repro_env("sync", "--server", server.url).code == 0
    assert server.requests[-1].document()["capture"]["run_id"] == "run-a"


@pytest.mark.parametrize("home", [None, "", "/proc/nowhere", "relative"],
                         ids=["unset", "empty", "impossible", "relative"])
def test_without_a_usable_home_the_document_is_kept_elsewhere(home: str | None, tmp_path: Path, repro_env: Run) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    env = {"HOME": home, "XDG_STATE_HOME": "/proc/nowhere", "REPRO_ENV_SPOOL": None, "TMPDIR": str(temporary)}
    done = repro_env("capture", "--run-id", "run-a", env=env)
    assert done.code == 0
    place = temporary / f"repro-env-spool-{os.getuid()}"
    assert len(waiting(place)) == 1
    assert str(place) in done.lines[0]
    with serving(loopback.takes) as server:
        assert repro_env("sync", "--server", server.url, env=env).code == 0
    assert waiting(place) == []


def test_a_home_that_may_only_be_read_is_no_home(tmp_path: Path) -> None:
    home, temporary = tmp_path / "home", tmp_path / "tmp"
    home.mkdir(mode=0o555)
    temporary.mkdir()
    command = [sys.executable, "-m", "repro_env", "capture"]
    if os.getuid() == 0:  # root may write everywhere, unless it gives that right up
        if shutil.which("setpriv") is None:
            pytest.skip("needs setpriv (util-linux), to take from root the right to write everywhere")
        command = ["setpriv", "--bounding-set", "-dac_override", *command]
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "TMPDIR": str(temporary)}
    done = subprocess.run(command, cwd=temporary, env=environ, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert os.listdir(home) == [], "the fault did not happen"
    assert len(waiting(temporary / f"repro-env-spool-{os.getuid()}")) == 1


def test_when_nothing_can_be_written_the_document_is_still_sent(repro_env: Run) -> None:
    env = {"HOME": "/proc/nowhere", "XDG_STATE_HOME": "/proc/nowhere", "REPRO_ENV_SPOOL": "/proc/nowhere/s",
           "TMPDIR": "/proc/nowhere"}
    with serving(loopback.takes) as server:
        done = repro_env("capture", "--run-id", "run-a", "--server", server.url, env=env)
    assert done.code == 0
    assert len(server.requests) == 1
    lost = repro_env("capture", env=env)
    assert lost.code == 0
    assert "neither sent nor kept" in lost.err
    assert repro_env("capture", "--strict", env=env).code == 1


def test_a_closed_stderr_or_stdout_stops_nothing(folder: Path, spool: Path) -> None:
    environ = {**os.environ, "REPRO_ENV_SPOOL": str(spool)}
    for closing in ("2>&-", ">&-", ">&- 2>&-"):
        done = subprocess.run(["sh", "-c", f'exec "$0" -m repro_env capture {closing}', sys.executable], cwd=folder,
                              env=environ, check=False, timeout=60, capture_output=True)
        assert done.returncode == 0, closing
    assert len(waiting(spool)) == 3


def test_no_module_that_costs_much_is_imported_on_the_way(folder: Path, spool: Path) -> None:
    code = ("import sys; before = set(sys.modules); from repro_env.cli.main import main; code = main(['capture']); "
            "print(*sorted(set(sys.modules) - before))")
    done = subprocess.run([sys.executable, "-S", "-c", code], cwd=folder, check=True, capture_output=True, text=True,
                          timeout=60, env={**os.environ, "REPRO_ENV_SPOOL": str(spool),
                                           "PYTHONPATH": str(Path(loopback.__file__).parents[1] / "client" / "src")})
    forbidden = {"dataclasses", "typing", "pathlib", "inspect", "importlib.metadata", "logging", "subprocess",
                 "platform", "uuid", "http.client", "urllib.request", "urllib.parse", "ssl", "argparse", "tempfile",
                 "threading", "socket", "tomllib"}
    assert forbidden.isdisjoint(done.stdout.split()), forbidden.intersection(done.stdout.split())
