"""Which code ran: told by a repository, or stated."""

from __future__ import annotations

from typing import Any

from documents import complete_document

from repro_env.comparability.judge import judge
from repro_env.comparability.levels import Level, Question
from repro_env.comparability.reading import Facts
from repro_env.comparability.verdict import Verdict

OUTSIDE: dict[str, Any] = {"source.commit": None, "source.dirty": None, "threads.torch_intraop": 1}
STATED = {**OUTSIDE, "declared.values": {"code-digest": "sha256:" + "1" * 64}}


def verdict(left: dict[str, Any], right: dict[str, Any], question: Question = Question.REPEAT) -> Verdict:
    sides = [Facts.of(complete_document("exit", "cpu", **facts)) for facts in (left, right)]
    return judge(*sides, question=question)


def test_a_program_outside_a_repository_may_have_been_edited_in_between() -> None:
    found = verdict(OUTSIDE, OUTSIDE)

    assert (found.guaranteed, found.expected) == (Level.NONE, Level.BITWISE)
    assert [reason.rule for reason in found.reasons] == ["code-untold"]


def test_stated_code_stands_for_a_repository_and_is_compared() -> None:
    other = {**STATED, "declared.values": {"code-digest": "sha256:" + "2" * 64}}

    assert verdict(STATED, STATED).guaranteed is Level.BITWISE
    assert verdict(STATED, other).expected < Level.BITWISE


def test_stacks_are_compared_whatever_code_ran() -> None:
    assert verdict(OUTSIDE, OUTSIDE, Question.COMPARE).guaranteed is Level.BITWISE
