"""The one sentence people read first."""

from __future__ import annotations

from .levels import Level, Question, Scope
from .policy import Levels
from .verdict import Assumption, Reason

_COMPARE = {
    Level.BITWISE: "Comparable bit by bit",
    Level.CURVE: "Comparable as curves, not bit by bit",
    Level.STATISTICAL: "Comparable only statistically, over several seeds",
    Level.NONE: "Not comparable",
}
_REPEAT = {
    Level.BITWISE: "Should repeat bit by bit",
    Level.CURVE: "Should repeat as curves, not bit by bit",
    Level.STATISTICAL: "Should repeat only statistically, over several seeds",
    Level.NONE: "Not a repetition",
}
_GUARANTEED = {
    Level.BITWISE: "guaranteed bit by bit",
    Level.CURVE: "guaranteed only as curves",
    Level.STATISTICAL: "guaranteed only statistically",
    Level.NONE: "nothing is guaranteed",
}
#: what a verdict in scope ``stack`` always says, so that nobody takes it for one on the processes.
_OUTSIDE = "whether the program repeats was not observed"


def headline(question: Question, scope: Scope, ends: Levels, reasons: tuple[Reason, ...],
             assumes: tuple[Assumption, ...], waived: tuple[tuple[str, str], ...] = ()) -> str:
    """Say the expected level and the first reason, else what is guaranteed, and what was not observed."""
    clauses = [_found(question, scope, ends, reasons, assumes)]
    if waived:
        clauses.append(f"the policy waives {', '.join(rule for rule, _ in waived)}")
    if scope is Scope.STACK:
        clauses.append(_OUTSIDE)
    return "; ".join(clauses) + "."


def _found(question: Question, scope: Scope, ends: Levels, reasons: tuple[Reason, ...],
           assumes: tuple[Assumption, ...]) -> str:
    words = _COMPARE if question is Question.COMPARE else _REPEAT
    first = next((reason for reason in reasons if reason.guaranteed < Level.BITWISE), None)
    if first is not None:
        if first.expected_level < Level.BITWISE:
            return f"{words[ends.expected]}: {first.why.rstrip('.')}"
        return f"{words[Level.BITWISE]} as far as is known, but {_GUARANTEED[ends.guaranteed]}: {first.why.rstrip('.')}"
    lowering = sum(item.lowers for item in assumes)
    if ends.guaranteed < Level.BITWISE and lowering:
        return (f"No difference found, but {_count(lowering)} not be made for lack of facts; "
                f"{_GUARANTEED[ends.guaranteed]} so far")
    if scope is Scope.STACK:
        return "Same stack"
    if question is Question.COMPARE:
        return "Same environment, so a difference between the results is not its doing"
    return "Nothing differs, so these two must give the same bits"


def _count(number: int) -> str:
    return "one check could" if number == 1 else f"{number} checks could"
