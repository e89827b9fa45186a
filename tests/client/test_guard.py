"""What of ours fails or hangs reaches no program."""

from __future__ import annotations

import functools
import signal
import threading
import time
from collections.abc import Callable

import pytest

from repro_env import guard, process
from repro_env.probes import inprocess
from repro_env.system import System


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "STATE", process.State())


def test_a_failure_is_said_once_and_goes_no_further(capsys: pytest.CaptureFixture[str]) -> None:
    call = guard.guarded(lambda: 1 // 0, "counting")
    call()
    call()

    assert capsys.readouterr().err == (
        "repro-env: counting failed: ZeroDivisionError: integer division or modulo by zero\n")


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_what_is_the_users_passes(error: type[BaseException]) -> None:
    def leave() -> None:
        raise error

    with pytest.raises(error):
        guard.guarded(leave)()


class Overdue(Exception):
    """What a program raises to end what takes too long."""


class Alarm:
    def ring(self, *_: object) -> None:
        raise Overdue

    def __call__(self, *_: object) -> None:
        raise Overdue


def ring(*_: object) -> None:
    raise Overdue


@pytest.mark.parametrize("handler", [ring, lambda *_: ring(), Alarm().ring, Alarm(), functools.partial(ring, 1)],
                         ids=["function", "lambda", "method", "object", "partial"])
@pytest.mark.parametrize("interrupted", [
    lambda: signal.raise_signal(signal.SIGALRM),
    lambda: guard.bounded(lambda: time.sleep(5), 5),
    lambda: inprocess.Readings().attempt("cpu.model", "proc", lambda: signal.raise_signal(signal.SIGALRM))],
    ids=["at-work", "waiting", "reading"])
def test_what_a_signal_handler_of_the_program_raises_is_the_programs(
        handler: Callable[..., None], interrupted: Callable[[], None]) -> None:
    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        with pytest.raises(Overdue):
            guard.guarded(interrupted)()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_a_call_in_time_returns_or_raises_as_it_does() -> None:
    assert guard.bounded(lambda: 5, 5) == 5
    with pytest.raises(ValueError, match="planted"):
        guard.bounded(lambda: int("planted"), 5)


def test_a_call_that_hangs_is_left_to_itself() -> None:
    go_on, gone_on = threading.Event(), threading.Event()

    def hang() -> None:
        go_on.wait(30)
        gone_on.set()

    started = time.monotonic()
    with pytest.raises(guard.TookTooLong, match="goes on beside the program"):
        guard.bounded(hang, 0.2)
    assert 0.2 <= time.monotonic() - started < 5
    assert not gone_on.is_set()

    go_on.set()
    assert gone_on.wait(5)


def test_where_no_thread_can_be_started_the_call_runs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(System, "call", refuse)

    assert guard.bounded(threading.get_ident, 1) == threading.get_ident()
    with pytest.raises(ValueError, match="planted"):
        guard.bounded(lambda: int("planted"), 1)


def test_the_thread_is_none_of_the_programs() -> None:
    names = []
    guard.bounded(lambda: names.extend(thread.name for thread in threading.enumerate()), 5)

    assert len(names) == threading.active_count()
