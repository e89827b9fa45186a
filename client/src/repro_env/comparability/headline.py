"""The one sentence people read first."""

from __future__ import annotations

from .levels import Level, Question, Scope
from .policy import Levels
from .verdict import Assumption, Reason

_COMPARABLE = {
    Level.BITWISE: "Comparable bit by bit",
    Level.CURVE: "Comparable as curves, not bit by bit",
    Level.STATISTICAL: "Comparable only statistically, over several seeds",
    Level.NONE: "Not comparable",
}


def headline(question: Question, scope: Scope, ends: Levels, reasons: tuple[Reason, ...],
             assumes: tuple[Assumption, ...]) -> str:
    """Say the expected level, the first reason with both values, and what was not observed."""
    if reasons:
        first = reasons[0]
        return f"{_COMPARABLE[ends.expected]}: {first.why.rstrip('.')}."
    lowering = [item for item in assumes if item.lowers]
    if ends.guaranteed is not Level.BITWISE and lowering:
        return (f"No difference found, but {_count(len(lowering))} not read that could make one; "
                f"guaranteed so far: {ends.guaranteed.word}.")
    if scope is Scope.STACK:
        return "Same stack; whether the program repeats was not observed."
    if question is Question.COMPARE:
        return "Same environment: what differs between the results is not its doing."
    return "Nothing differs: these two must give the same bits."


def _count(number: int) -> str:
    return "one matter was" if number == 1 else f"{number} matters were"
