"""The one sentence people read first."""

from __future__ import annotations

from collections.abc import Mapping

from .levels import Level, Question, Scope
from .policy import Levels
from .verdict import Assumption, Confound, Reason, Varied
from .wording import brief

_COMPARE = {
    Level.BITWISE: "Comparable bit by bit",
    Level.CURVE: "Comparable as curves, not bit by bit",
    Level.STATISTICAL: "Comparable only statistically, over several seeds",
    Level.NONE: "Not comparable",
}
_REPEAT = {
    Level.BITWISE: "Should repeat bit by bit",
    Level.CURVE: "Should repeat as curves, not bit by bit",
    Level.STATISTICAL: "Should not repeat, only agree statistically over several seeds",
    Level.NONE: "Not a repetition",
}
_RESUME = {
    Level.BITWISE: "Should continue bit by bit",
    Level.CURVE: "Should continue the curve, not bit by bit",
    Level.STATISTICAL: "Should not continue the run, only agree statistically over several seeds",
    Level.NONE: "Not a continuation",
}
_WORDS = {Question.COMPARE: _COMPARE, Question.REPEAT: _REPEAT, Question.RESUME: _RESUME}
_EQUAL = {
    Question.COMPARE: "Same environment, so a difference between the results is not its doing",
    Question.REPEAT: "Nothing differs, so these two must give the same bits",
    Question.RESUME: "Nothing differs, so the second must go on with the bits of the first",
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
             assumes: tuple[Assumption, ...], waived: tuple[tuple[str, str], ...] = (), *,
             varied: tuple[Varied, ...] = (), confounds: tuple[Confound, ...] = ()) -> str:
    """Say the expected level and the root of the first reason, else what is guaranteed, and what was not observed.

    What differs on purpose is named, and said of the reason that moves together with it.
    """
    words = " and ".join(row.word for row in varied if row.differences)
    rules = ", ".join(rule for rule, _ in waived)
    if ends.guaranteed is Level.BITWISE and not any(reason.guaranteed < Level.BITWISE for reason in reasons):
        clauses = [_same(question, scope, words, rules)]
    else:
        clauses = [_found(question, ends, reasons, assumes, purpose=words, confounds={item.rule for item in confounds})]
        clauses += [f"the policy waives {rules}"] if rules else []
    if scope is Scope.STACK:
        clauses.append(_OUTSIDE)
    return "; ".join(clauses) + "."


def of_one_run(text: str) -> str:
    """Return the headline of a side that was held against itself: whether it would repeat is all that is asked."""
    return f"Same run. Would it repeat? {text}"


def _same(question: Question, scope: Scope, purpose: str, rules: str) -> str:
    """Say that nothing that counts differs, and what was not counted."""
    excepted = [f"what varies on purpose ({purpose})"] if purpose else []
    excepted += [f"what the policy waives ({rules})"] if rules else []
    if excepted:
        return f"Same {'stack' if scope is Scope.STACK else 'environment'} but for {' and '.join(excepted)}"
    return "Same stack" if scope is Scope.STACK else _EQUAL[question]


def _found(question: Question, ends: Levels, reasons: tuple[Reason, ...], assumes: tuple[Assumption, ...], *,
           purpose: str, confounds: set[str]) -> str:
    words = _WORDS[question]
    also = f"; varied on purpose: {purpose}" if purpose else ""
    first = next((reason for reason in reasons if reason.guaranteed < Level.BITWISE), None)
    if first is not None:
        cause = root_of(first, {reason.rule: reason for reason in reasons})
        said = brief(cause.why, cause.expected, cause.observed)
        if purpose and cause.rule in confounds:
            also = f", which moves together with what varies on purpose ({purpose})"
        if ends.expected < Level.BITWISE:
            return f"{words[ends.expected]}: {said}{also}"
        return f"{words[Level.BITWISE]} as far as is known, but {_GUARANTEED[ends.guaranteed]}: {said}{also}"
    lowering = sum(item.lowers for item in assumes)
    return (f"No difference that matters was found, but {_count(lowering)} not be made for lack of facts; "
            f"{_GUARANTEED[ends.guaranteed]} so far{also}")


def root_of(reason: Reason, by_rule: Mapping[str, Reason]) -> Reason:
    """Return the reason that ``reason`` follows from, through others too; itself where it follows from none.

    A suspicion, which lowers nothing, is never the root of what lowers something; a ring ends where it closes.
    """
    seen = {reason.rule}
    while reason.implied_by is not None and reason.implied_by not in seen:
        above = by_rule.get(reason.implied_by)
        if above is None or (above.guaranteed is Level.BITWISE and reason.guaranteed < Level.BITWISE):
            break
        seen.add(above.rule)
        reason = above
    return reason


def _count(number: int) -> str:
    return "one check could" if number == 1 else f"{number} checks could"
