"""What would raise a verdict: the smallest set of changes or captures for each end."""

from __future__ import annotations

from .levels import Level
from .policy import Levels
from .verdict import Assumption, Reason, Step


def what_would_raise(ends: Levels, reasons: tuple[Reason, ...], assumes: tuple[Assumption, ...]) -> tuple[Step, ...]:
    """Return the steps that lift ``expected`` and ``guaranteed`` to the next higher level, causes before captures.

    Every reason at the present level of an end must go for that end to rise, so all of them are named.
    """
    steps = _changes("expected", ends.expected, reasons)
    lowering = [item for item in assumes if item.lowers and item.guaranteed == ends.guaranteed]
    if ends.guaranteed < Level.BITWISE:
        steps += _changes("guaranteed", ends.guaranteed, reasons, skip={rule for step in steps for rule in step.rules})
        steps += _captures(ends.guaranteed, lowering)
    return tuple(steps)


def _changes(end: str, at: Level, reasons: tuple[Reason, ...], skip: frozenset[str] | set[str] = frozenset()
             ) -> list[Step]:
    if at is Level.BITWISE:
        return []
    by_remedy: dict[str, list[str]] = {}
    for reason in reasons:
        level = reason.expected_level if end == "expected" else reason.guaranteed
        if level == at and reason.implied_by is None and reason.rule not in skip:
            by_remedy.setdefault(reason.remedy, []).append(reason.rule)
    return [Step(do, end, Level(at + 1), tuple(rules)) for do, rules in by_remedy.items()]


def _captures(at: Level, lowering: list[Assumption]) -> list[Step]:
    by_how: dict[str, list[str]] = {}
    for item in lowering:
        by_how.setdefault(item.capture_how, []).append(item.rule)
    return [Step(how, "guaranteed", Level(at + 1), tuple(rules)) for how, rules in by_how.items()]
