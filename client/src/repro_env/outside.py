"""Calls that may hang, bounded: a program, native code in a forked child, native code in a thread.

Owned by ``system.py``, which is the only module that imports it. No shell, no ``subprocess``: importing that costs
as much as a quarter of a bare interpreter start.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time

from .errors import ProbeFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: how long an ended child may take to be gone; one in an uninterruptible wait is left behind.
REAP_LIMIT_S = 0.2
#: numbers of POSIX signals; the module ``signal`` wraps them at a cost.
SIGINT, SIGKILL, SIGPIPE = 2, 9, 13
#: variables a program we start must not inherit: they would inject this client, or make answers depend on language.
_DROPPED = ("REPRO_ENV_INJECT", "PYTHONSTARTUP", "LANGUAGE", "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")


class Outcome:
    """How a program ended: its exit status and the bytes it wrote."""

    __slots__ = ("output", "status")

    def __init__(self, status: int, output: bytes) -> None:
        self.status = status
        self.output = output

    def checked(self, argv: list[str]) -> str:
        """Return the output as text; raise ``ProbeFailed`` when the exit status is not 0."""
        if self.status != 0:
            raise ProbeFailed("failed", f"{argv[0]} ended with status {self.status}")
        return self.output.decode("utf-8", "replace")


def run_program(path: str, argv: list[str], environ: dict[str, str], timeout_s: float, limit: int) -> Outcome:
    """Start ``path`` in its own process group, read at most ``limit`` bytes, end the group at the timeout."""
    environ = {name: value for name, value in environ.items() if name not in _DROPPED}
    environ["LC_ALL"] = "C"
    deadline = time.monotonic() + timeout_s
    reader, writer = os.pipe()
    try:
        actions = [(os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0), (os.POSIX_SPAWN_DUP2, writer, 1),
                   (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)]
        try:
            pid = os.posix_spawn(path, argv, environ, file_actions=actions, setpgroup=0,
                                 setsigdef=[SIGPIPE, SIGINT], setsigmask=[])
        except OSError as error:
            code = "denied" if isinstance(error, PermissionError) else "failed"
            raise ProbeFailed(code, f"{argv[0]} could not be started ({type(error).__name__})") from error
        finally:
            os.close(writer)
        try:
            output = _read(reader, deadline, limit, argv[0])
            return Outcome(_wait(pid, deadline, argv[0]), output)
        except BaseException:
            _end(pid)
            raise
    finally:
        os.close(reader)


def isolated(function: Callable[[], Any], timeout_s: float) -> Any:
    """Call ``function`` in a forked child and return its JSON value; end the child at the timeout."""
    deadline = time.monotonic() + timeout_s
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        _answer(function, writer)
    os.close(writer)
    try:
        output = _read(reader, deadline, 1 << 20, "the call")
        status = _wait(pid, deadline, "the call")
    except BaseException:
        _end(pid)
        raise
    finally:
        os.close(reader)
    if status != 0 or not output:
        raise ProbeFailed("failed", f"the call ended its process with status {status}")
    return _unpack(json.loads(output))


def threaded(function: Callable[[], Any], timeout_s: float) -> Any:
    """Call ``function`` in a daemon thread and return its value; at the timeout the thread is left to itself."""
    import _thread

    answers: list[Any] = []
    done = _thread.allocate_lock()
    done.acquire()

    def work() -> None:
        try:
            answers.append(_attempt(function))
        finally:
            done.release()

    _thread.start_new_thread(work, ())
    if not done.acquire(timeout=max(0.0, timeout_s)):
        raise ProbeFailed("timeout", f"the call did not return within {timeout_s:.1f} s")
    return _unpack(answers[0])


def _attempt(function: Callable[[], Any]) -> dict[str, Any]:
    try:
        return {"value": function()}
    except ProbeFailed as error:
        return {"code": error.code, "message": error.message}
    except Exception as error:  # noqa: BLE001 - carried to the caller as ProbeFailed
        return {"code": "failed", "message": f"the call raised {type(error).__name__}"}


def _unpack(answer: dict[str, Any]) -> Any:
    if "code" in answer:
        raise ProbeFailed(answer["code"], answer["message"])
    return answer["value"]


def _answer(function: Callable[[], Any], writer: int) -> None:
    """In the forked child: send the answer and leave without running anybody's exit handlers."""
    status = 1
    try:
        os.setpgid(0, 0)
        null = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(null, descriptor)
        _crash_quietly()
        data = json.dumps(_attempt(function)).encode()
        while data:
            data = data[os.write(writer, data):]
        status = 0
    finally:
        os._exit(status)


def _crash_quietly() -> None:
    """In the forked child: should native code crash, leave neither a core file nor a traceback of the parent."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if "faulthandler" in sys.modules:
        sys.modules["faulthandler"].disable()


def _read(reader: int, deadline: float, limit: int, name: str) -> bytes:
    """Read until the other end closes; raise ``ProbeFailed`` at the deadline or beyond ``limit`` bytes."""
    poll = select.poll()
    poll.register(reader, select.POLLIN | select.POLLHUP)
    parts: list[bytes] = []
    size = 0
    while True:
        left = deadline - time.monotonic()
        if left <= 0 or not poll.poll(left * 1000):
            raise ProbeFailed("timeout", f"{name} did not answer in the time it was given")
        part = os.read(reader, 65536)
        if not part:
            return b"".join(parts)
        size += len(part)
        if size > limit:
            raise ProbeFailed("failed", f"{name} wrote more than {limit} bytes")
        parts.append(part)


def _wait(pid: int, deadline: float, name: str) -> int:
    """Return the exit status of a child that closed its output; a signal counts as 128 and its number."""
    pause = 0.0002
    while True:
        try:
            done, status = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            raise ProbeFailed("failed", f"somebody else collected the exit status of {name}") from None
        if done:
            code = os.WEXITSTATUS(status)
            return code if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
        if time.monotonic() >= deadline:
            raise ProbeFailed("timeout", f"{name} did not end in the time it was given")
        time.sleep(pause)
        pause = min(pause * 2, 0.01)


def _end(pid: int) -> None:
    """End a child and its group, and collect it if that takes no longer than ``REAP_LIMIT_S``."""
    for end in (os.killpg, os.kill):
        try:
            end(pid, SIGKILL)
        except OSError:
            continue
    deadline = time.monotonic() + REAP_LIMIT_S
    while time.monotonic() < deadline:
        try:
            if os.waitpid(pid, os.WNOHANG)[0]:
                return
        except ChildProcessError:
            return
        time.sleep(0.002)
