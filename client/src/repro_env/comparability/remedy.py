"""What would raise a verdict: for each end the smallest set of changes and captures, and the level it then reaches."""

from __future__ import annotations

from typing import Callable

from .levels import Level
from .policy import Levels
from .verdict import Assumption, Reason, Step

EXPECTED, GUARANTEED = "expected", "guaranteed"


def what_would_raise(ends: Levels, reasons: tuple[Reason, ...], assumes: tuple[Assumption, ...]) -> tuple[Step, ...]:
    """Return the steps that lift ``expected`` and ``guaranteed``, changes before captures.

    All steps of one end together lift it to their ``to``; leaving one out leaves it where it is. A capture lifts it if
    what is then read agrees. Reasons that follow from another one go with it, so only the root's remedy is named.
    """
    expected = _steps(EXPECTED, ends.expected, reasons, (), lambda reason: reason.expected_level)
    lowering = tuple(item for item in assumes if item.lowers)
    guaranteed = _steps(GUARANTEED, ends.guaranteed, reasons, lowering, lambda reason: reason.guaranteed)
    return _joined(expected, guaranteed)


def _steps(end: str, at: Level, reasons: tuple[Reason, ...], lowering: tuple[Assumption, ...],
           level_of: Callable[[Reason], Level]) -> list[Step]:
    """Return what must go for one end to leave the level ``at``, and where it then stands."""
    if at is Level.BITWISE:
        return []
    by_rule = {reason.rule: reason for reason in reasons}
    roots = {reason.rule: _root(reason, by_rule) for reason in reasons}
    needed = {roots[reason.rule] for reason in reasons if level_of(reason) == at}
    captured = [item for item in lowering if item.guaranteed == at]
    left = [level_of(reason) for reason in reasons if roots[reason.rule] not in needed]
    left += [item.guaranteed for item in lowering if item.guaranteed != at]
    reached = min(left, default=Level.BITWISE)
    changes: dict[str, list[str]] = {}
    for reason in reasons:
        if roots[reason.rule] in needed:
            changes.setdefault(by_rule[roots[reason.rule]].remedy, []).append(reason.rule)
    captures: dict[str, list[str]] = {}
    for item in captured:
        captures.setdefault(item.capture_how, []).append(item.rule)
    return [Step(do, end, reached, tuple(rules)) for do, rules in [*changes.items(), *captures.items()]]


def _root(reason: Reason, by_rule: dict[str, Reason]) -> str:
    """Follow ``implied_by`` to the reason that implies this one; a ring of rules ends at where it closes."""
    seen = {reason.rule}
    while reason.implied_by is not None and reason.implied_by not in seen:
        seen.add(reason.implied_by)
        reason = by_rule[reason.implied_by]
    return reason.rule


def _joined(expected: list[Step], guaranteed: list[Step]) -> tuple[Step, ...]:
    """Say once what lifts both ends to the same level."""
    both = {(step.do, step.to, step.rules) for step in expected} & {(step.do, step.to, step.rules)
                                                                    for step in guaranteed}
    if both != {(step.do, step.to, step.rules) for step in expected}:
        return (*expected, *guaranteed)
    shared = [Step(step.do, f"{EXPECTED} and {GUARANTEED}", step.to, step.rules) for step in expected]
    return (*shared, *[step for step in guaranteed if (step.do, step.to, step.rules) not in both])
