"""A program that an exception ended says so at its end, and two of them guarantee nothing about each other."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from repro_env import process
from repro_env.comparability.judge import judge
from repro_env.comparability.levels import Level, Question
from repro_env.comparability.reading import Facts

Start = Callable[..., Any]


@pytest.mark.parametrize(("program", "options", "stated"), [
    ("raise ValueError('mine')", (), {"exit-status": "1"}),
    ("print('done')", (), None),
    ("raise SystemExit(0)", (), None),
    ("try:\n    raise ValueError('caught')\nexcept ValueError:\n    pass", (), None),
    ("raise ValueError('mine')", ("--declare", "exit-status=0"), {"exit-status": "0"}),
], ids=["broken off", "ended", "left", "caught", "declared otherwise"])
def test_the_end_tells_whether_an_exception_ended_the_program(
        started: Start, program: str, options: tuple[str, ...], stated: dict[str, str] | None) -> None:
    ended = started(sys.executable, "-c", program, options=options)
    assert ended.of("exit")["program"]["declared"]["values"] == stated


def test_two_programs_that_broke_off_guarantee_nothing(started: Start) -> None:
    side = Facts.of(started(sys.executable, "-c", "raise ValueError('mine')").of("exit"))
    verdict = judge(side, side, question=Question.REPEAT)
    assert (verdict.guaranteed, verdict.expected) == (Level.NONE, Level.NONE)
    assert verdict.reasons[0].rule == "program-failed"


def test_an_error_in_a_cell_of_a_notebook_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "last_value", ValueError("mine"), raising=False)
    assert process.broke_off()
    monkeypatch.setitem(sys.modules, "IPython", sys)
    assert not process.broke_off()
