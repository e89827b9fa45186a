"""Every rule finds the difference it is there for: planted alone, it is the first reason. No rule goes without."""

from __future__ import annotations

from typing import Any

import pytest
from documents import change, complete_document

from repro_env.comparability.judge import judge
from repro_env.comparability.levels import Level, Question
from repro_env.comparability.reading import Facts
from repro_env.comparability.rule import Condition
from repro_env.comparability.rules import RULES, RULES_BY_ID
from tests.client.comparability.planted import (
    builds,
    contradictory,
    devices,
    frameworks,
    host,
    known,
    program,
    variables,
)
from tests.client.comparability.planted.planting import Planted

#: a line a rule, one module for each part of the rule set.
PLANTED: dict[str, Planted] = {**known.PLANTED, **devices.PLANTED, **frameworks.PLANTED, **variables.PLANTED,
                               **host.PLANTED, **program.PLANTED, **contradictory.PLANTED, **builds.PLANTED}

#: rules that are not about the process, or that a single document cannot break.
ELSEWHERE = {"default-precision": "seen from outside only: test_precision_seen_from_outside",
             "ranks-differ": "a single process has one environment: tests of runs"}
#: rules that the process replaces by what it reads itself.
FROM_OUTSIDE = frozenset(("mkl-installed", "onednn-installed", "kernel-variables", "thread-variables", "generators"))
FROM_OUTSIDE |= devices.FROM_OUTSIDE | frameworks.FROM_OUTSIDE | contradictory.FROM_OUTSIDE


def sides(rule_id: str) -> tuple[Facts, Facts]:
    planted = PLANTED[rule_id]
    base = complete_document("prologue" if rule_id in FROM_OUTSIDE else "process", machine=planted.machine)
    return Facts.of(change(base, **planted.left)), Facts.of(change(base, **planted.right))


@pytest.mark.parametrize("rule_id", [rule.id for rule in RULES])
def test_no_rule_without_a_planted_difference(rule_id: str) -> None:
    assert rule_id in PLANTED or rule_id in ELSEWHERE


@pytest.mark.parametrize("rule_id", PLANTED)
def test_planted_difference_is_the_first_reason(rule_id: str) -> None:
    left, right = sides(rule_id)
    rule = RULES_BY_ID[rule_id]
    verdict = judge(left, right, question=rule.questions[-2])
    assert verdict.reasons, verdict.assumes
    assert verdict.reasons[0].cause == rule.cause, [reason.rule for reason in verdict.reasons]
    assert rule_id in {reason.rule for reason in verdict.reasons}
    assert verdict.guaranteed <= rule.guaranteed
    assert verdict.expected <= rule.expected


@pytest.mark.parametrize("rule_id", PLANTED)
def test_reason_speaks_in_full(rule_id: str) -> None:
    left, right = sides(rule_id)
    rule = RULES_BY_ID[rule_id]
    reason = next(item for item in judge(left, right, question=rule.questions[-2]).reasons if item.rule == rule_id)
    assert "{" not in reason.why
    assert "NOT_APPLICABLE" not in reason.why
    if not isinstance(rule, Condition):
        assert reason.expected in reason.why
        assert reason.observed in reason.why


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_rule_is_complete(rule: Any) -> None:
    assert rule.why
    assert rule.effect
    assert rule.remedy
    assert rule.source
    assert rule.capture_how
    assert all(lesser in RULES_BY_ID for lesser in rule.subsumes), rule.subsumes


def test_rule_ids_are_unique() -> None:
    assert len(RULES_BY_ID) == len(RULES)


@pytest.mark.parametrize("machine", ["cpu", "h100"])
@pytest.mark.parametrize("question", Question)
def test_complete_document_against_itself_is_guaranteed(machine: str, question: Question) -> None:
    side = Facts.of(complete_document(machine=machine))
    verdict = judge(side, side, question=question)
    assert verdict.guaranteed is Level.BITWISE, (verdict.reasons, verdict.assumes)
