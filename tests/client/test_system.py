"""The boundary to the machine: what it reads is bounded in size and time, whatever it meets there."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hanging import HANGING_S

from repro_env.errors import ProbeFailed
from repro_env.system import System

SYSTEM = System()

@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Make an executable from a shell text and put it on PATH; return its name."""
    folder = tmp_path / "programs with spaces"
    folder.mkdir()
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

    def make(text: str, name: str = "stand-in") -> str:
        path = folder / name
        path.write_text("#!/bin/sh\n" + text)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return name

    return make


def failure(argv: list[str], timeout_s: float = 2.0, limit: int = 1 << 20) -> ProbeFailed:
    with pytest.raises(ProbeFailed) as raised:
        SYSTEM.run(argv, timeout_s, limit)
    return raised.value


def gone(pid: int) -> bool:
    """Tell whether a process has ended; a zombie that nobody collected yet has."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_a_program_s_output_comes_back_and_its_messages_do_not(program) -> None:
    assert SYSTEM.run([program("echo answer; echo noise >&2"), "x"], 2.0) == "answer\n"


def test_arguments_reach_the_program_as_they_are_without_a_shell(program) -> None:
    name = program('for word in "$@"; do echo "[$word]"; done')
    assert SYSTEM.run([name, "a b", "$(echo no)", "*", ";"], 2.0) == "[a b]\n[$(echo no)]\n[*]\n[;]\n"


def test_standard_input_is_empty(program) -> None:
    assert SYSTEM.run([program("cat; echo end")], 2.0) == "end\n"


def test_a_program_speaks_english_and_does_not_inherit_git_s_or_our_variables(program, monkeypatch) -> None:
    monkeypatch.setenv("LANG", "de_DE.UTF-8")
    monkeypatch.setenv("GIT_DIR", "/elsewhere")
    assert SYSTEM.run([program('echo "$LC_ALL,$GIT_DIR"')], 2.0) == "C,\n"


def test_a_missing_program_is_failed_and_named() -> None:
    error = failure(["no-such-program"])
    assert (error.code, error.message) == ("failed", "no-such-program was not found on PATH")


def test_an_exit_status_is_failed_and_said(program) -> None:
    error = failure([program("echo half; exit 9")])
    assert error.code == "failed"
    assert "status 9" in error.message


def test_a_program_ended_by_a_signal_is_failed(program) -> None:
    assert "status 139" in failure([program("kill -SEGV $$")]).message


def test_a_file_that_is_no_program_is_an_error_in_words(tmp_path: Path) -> None:
    path = tmp_path / "broken"
    path.write_bytes(b"\x7fELF garbage")
    path.chmod(0o755)
    assert failure([str(path)]).code == "failed"


def test_a_hanging_program_is_ended_with_all_it_started(program, tmp_path: Path) -> None:
    name = program(f"sleep 60 & echo $! > {tmp_path}/child; echo $$ > {tmp_path}/self; wait")
    start = time.monotonic()
    assert failure([name], timeout_s=0.4).code == "timeout"
    assert time.monotonic() - start < HANGING_S
    pids = [int((tmp_path / file).read_text()) for file in ("child", "self")]
    assert all(pids)  # the fault happened: both had been started
    deadline = time.monotonic() + 2
    while not all(map(gone, pids)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert all(map(gone, pids))


def test_a_program_that_ignores_polite_signals_is_ended_too(program) -> None:
    start = time.monotonic()
    assert failure([program("trap '' TERM INT HUP; while :; do :; done")], timeout_s=0.3).code == "timeout"
    assert time.monotonic() - start < HANGING_S


def test_a_child_that_keeps_the_pipe_open_in_another_session_does_not_hold_us(program) -> None:
    start = time.monotonic()
    assert failure([program("setsid sleep 60 & echo done")], timeout_s=0.3).code == "timeout"
    assert time.monotonic() - start < HANGING_S


def test_output_is_bounded(program) -> None:
    error = failure([program("yes")], limit=100_000)
    assert error.code == "failed"
    assert "more than 100000 bytes" in error.message


def test_no_descriptor_and_no_child_is_left_behind(program) -> None:
    name, slow = program("echo x"), program("sleep 9", "slow")
    before = os.listdir("/proc/self/fd")
    for _ in range(5):
        SYSTEM.run([name], 2.0)
        failure([slow], timeout_s=0.05)
    assert len(os.listdir("/proc/self/fd")) == len(before)
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_reading_stops_at_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "long"
    path.write_bytes(b"x" * 100_000)
    assert len(SYSTEM.read_bytes(str(path), 70_000)) == 70_000


def test_reading_a_pipe_without_a_writer_does_not_wait(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert SYSTEM.read_bytes(str(tmp_path / "pipe")) == b""


def test_bytes_that_are_no_text_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "latin").write_bytes(b"caf\xe9")
    assert SYSTEM.read_text(str(tmp_path / "latin")) == "caf\ufffd"


def test_a_missing_file_raises_what_the_machine_raises(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        SYSTEM.read_text(str(tmp_path / "none"))


def test_mapped_files_are_named_once() -> None:
    files = SYSTEM.mapped_files()
    assert len(files) == len(set(files))
    assert any("libc" in file for file in files)


def test_a_part_of_a_file_is_read_from_its_offset(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"0123456789")
    assert SYSTEM.read_at(str(path), 3, 4) == b"3456"
    assert SYSTEM.read_at(str(path), 8, 100) == b"89"
    assert SYSTEM.read_at(str(path), 100, 1) == b""


def test_a_pipe_is_never_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(OSError, match="seek"):
        SYSTEM.read_at(str(path), 0, 10)


def test_a_file_that_was_written_again_has_another_stamp(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"one")
    first = SYSTEM.stamp(str(path))
    assert SYSTEM.stamp(str(path)) == first
    path.write_bytes(b"other")
    assert SYSTEM.stamp(str(path)) != first


def test_a_library_that_is_not_loaded_is_not_asked() -> None:
    with pytest.raises(OSError, match="libnothing"):
        SYSTEM.ask_library("/nowhere/libnothing.so", lambda library: library)


def test_a_question_that_fails_gives_the_handle_back_and_is_not_hidden() -> None:
    libc = next(path for path in SYSTEM.mapped_files() if "/libc.so" in path or "/libc-" in path)
    assert SYSTEM.ask_library(libc, lambda library: library.getpid()) == os.getpid()
    with pytest.raises(ZeroDivisionError):
        SYSTEM.ask_library(libc, lambda library: 1 // 0)
    assert SYSTEM.ask_library(libc, lambda library: library.getpid()) == os.getpid()


def test_a_variable_is_read_as_the_process_was_started_with_it() -> None:
    code = ("import os\nfrom repro_env.system import System\nos.environ['SET'] = 'late'\nos.environ['NEW'] = 'late'\n"
            "del os.environ['GONE']\nprint([System().initial_variable(name) for name in ('SET', 'NEW', 'GONE')])")
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "SET": "early", "GONE": "early=1"},
                          check=True, capture_output=True, text=True)
    assert done.stdout == "['early', None, 'early=1']\n"


@pytest.mark.parametrize("isolate", [True, False], ids=["forked", "threaded"])
class TestCalls:
    def test_the_value_comes_back(self, isolate: bool) -> None:
        assert SYSTEM.call(lambda: {"a": [1, None]}, 2.0, isolate=isolate) == {"a": [1, None]}

    def test_a_hanging_call_is_left_at_the_timeout(self, isolate: bool) -> None:
        start = time.monotonic()
        with pytest.raises(ProbeFailed, match=r"time|return") as raised:
            SYSTEM.call(lambda: time.sleep(30), 0.2, isolate=isolate)
        assert raised.value.code == "timeout"
        assert time.monotonic() - start < HANGING_S

    def test_a_failed_look_keeps_its_code(self, isolate: bool) -> None:
        def refused() -> None:
            raise ProbeFailed("denied", "the driver refused")

        with pytest.raises(ProbeFailed, match="the driver refused") as raised:
            SYSTEM.call(refused, 2.0, isolate=isolate)
        assert raised.value.code == "denied"

    def test_another_error_is_named_without_its_text(self, isolate: bool) -> None:
        def broken() -> None:
            raise ValueError("secret value")

        with pytest.raises(ProbeFailed, match="ValueError") as raised:
            SYSTEM.call(broken, 2.0, isolate=isolate)
        assert "secret" not in raised.value.message


def test_a_call_that_ends_its_process_does_not_end_ours() -> None:
    with pytest.raises(ProbeFailed, match="status 137"):
        SYSTEM.call(lambda: os.kill(os.getpid(), 9), 2.0, isolate=True)
