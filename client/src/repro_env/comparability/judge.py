"""Judge two sides: the three ends, the answer, and the reasons, root cause first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from .headline import headline
from .ignored import ignored_differences
from .levels import Answer, Level, Question, Scope, SetBy
from .policy import NO_POLICY, Levels, Policy
from .reading import Facts
from .remedy import what_would_raise
from .rule import RUN_IT, SAME_IT, STATE_IT, AnyRule, Condition, Distinction
from .rules import RULESET
from .vector import (
    FAILS,
    FALLBACK,
    NOT_APPLIED,
    PROGRAM_RULES,
    UNREAD,
    UNSETTLED,
    VARIES,
    Entry,
    Vector,
    project,
    project_program,
    rules_of,
)
from .verdict import Assumption, Confound, Difference, Reason, Varied, Verdict
from .wording import failing, said

_UNTOUCHED = Levels(Level.BITWISE, Level.BITWISE, Level.BITWISE)


@dataclass(frozen=True)
class Found:
    """What one rule says of a pair."""

    rule: AnyRule
    levels: Levels
    left: Entry
    right: Entry

    @property
    def bites(self) -> bool:
        """Whether read facts lower the ends."""
        if isinstance(self.rule, Condition):
            return FAILS in (self.left.state, self.right.state)
        return self.left.apart(self.right)

    @property
    def undecided(self) -> bool:
        """Whether an unread fact leaves something open: a side, or what a fallback stands for."""
        states = (self.left.state, self.right.state)
        if UNREAD in states and isinstance(self.rule, Distinction) and self.bites:
            return False
        return UNREAD in states or (FALLBACK in states and not self.left.same(self.right))


def judge(expected: Facts, observed: Facts, *, question: Question = Question.COMPARE, level: Level | None = None,
          policy: Policy = NO_POLICY) -> Verdict:
    """Return the verdict on two sides. ``level`` is the level asked for; the question has a default."""
    scope = Scope.PROCESS if expected.scope is observed.scope is Scope.PROCESS else Scope.STACK
    verdict = judge_vectors(project(expected, question), project(observed, question), scope=scope,
                            question=question, level=level, policy=policy)
    unjudged: tuple[Varied, ...] = ()
    if question is Question.COMPARE and expected.program != observed.program:
        unjudged = program_of(project_program(expected), project_program(observed))
    return replace(verdict, ignored=ignored_differences(expected, observed), varied=(*verdict.varied, *unjudged))


def judge_vectors(left: Vector, right: Vector, *, scope: Scope, question: Question = Question.COMPARE,
                  level: Level | None = None, policy: Policy = NO_POLICY) -> Verdict:
    """Return the verdict from two stored vectors of the same question and ruleset."""
    asked = question.default_level if level is None else level
    found = find(left, right, question, policy)
    ends = three_ends(found, scope)
    counted = [item for item in found if item.rule.id not in policy.waived and not policy.varies(item.rule)]
    reasons = _reasons([item for item in counted if item.bites])
    assumes = _assumptions([item for item in counted if item.undecided], scope)
    read = min((item.levels.guaranteed for item in found if item.bites), default=Level.BITWISE)
    waived = tuple((item.rule.id, policy.waived[item.rule.id]) for item in found if item.rule.id in policy.waived)
    varied = differing_on_purpose(found, policy)
    mixed = confounds(counted, reasons, varied)
    return Verdict(
        question=question, scope=scope, level=asked, answer=answer_for(ends, read, asked), guaranteed=ends.guaranteed,
        expected=ends.expected, possible=ends.possible,
        headline=headline(question, scope, ends, reasons, assumes, waived, varied=varied, confounds=mixed),
        reasons=reasons, assumes=assumes,
        raises=what_would_raise(ends, reasons, assumes), ignored=(), waived=waived,
        ruleset=RULESET, policy=policy.digest, varied=varied, confounds=mixed,
        terms=policy.to_json() if policy is not NO_POLICY else {})


#: the word under which ``compare`` lists what it does not judge.
PROGRAM = "program"


def program_of(left: Vector, right: Vector) -> tuple[Varied, ...]:
    """Return what a comparison of stacks leaves to the user: code, configuration, seeds, data. Nothing where equal."""
    found = [Found(rule, _UNTOUCHED, left[rule.id], right[rule.id]) for rule in PROGRAM_RULES
             if isinstance(rule, Distinction)]
    differences = tuple(_difference(item) for item in found if item.bites)
    return (Varied(PROGRAM, differences),) if differences else ()


def differing_on_purpose(found: list[Found], policy: Policy) -> tuple[Varied, ...]:
    """Return what the policy declares to vary, a row a word, with the differences found under it."""
    if not policy.vary:
        return ()
    under: dict[str, list[Found]] = {word: [] for word in policy.vary}
    implied = {lesser for item in found if policy.varies(item.rule) and item.bites for lesser in item.rule.subsumes}
    for item in found:
        if policy.varies(item.rule) and not (item.bites and item.rule.id in implied):
            under[policy.varied[item.rule.id]].append(item)
    return tuple(Varied(word, tuple(_difference(item) for item in items if item.bites),
                        tuple(item.rule.id for item in items if item.undecided)) for word, items in under.items())


def confounds(counted: list[Found], reasons: tuple[Reason, ...], varied: tuple[Varied, ...]) -> tuple[Confound, ...]:
    """Return the undeclared differences between two sides that differ in a declared variable.

    Two sides cannot tell such a difference from the declared one, so each is named, but for what another one implies.
    """
    words = tuple(item.word for item in varied if item.differences)
    if not words:
        return ()
    apart = {item.rule.id for item in counted
             if item.bites and (isinstance(item.rule, Distinction) or item.left.state != item.right.state)}
    return tuple(Confound(reason.rule, reason.why, words) for reason in reasons
                 if reason.rule in apart and reason.guaranteed < Level.BITWISE and reason.implied_by is None)


def _difference(item: Found) -> Difference:
    rule: Any = item.rule
    shown = show_both(rule, item.left, item.right)
    return Difference(rule.id, said(rule.why.format(expected=shown[0], observed=shown[1])), *shown)


def find(left: Vector, right: Vector, question: Question = Question.COMPARE, policy: Policy = NO_POLICY
         ) -> list[Found]:
    """Return what the rules of ``question`` find in a pair, in causal order; rules with nothing to say are left out."""
    found = []
    for rule in rules_of(question):
        name = rule.id
        a, b = left[name], right[name]
        if (a is not b and a != b) or a.state in UNSETTLED:
            found.append(Found(rule, policy.levels_of(rule), a, b))
    return found


def three_ends(found: Iterable[Found], scope: Scope) -> Levels:
    """Fold what the rules say into guaranteed ≤ expected ≤ possible (design §4)."""
    guaranteed = expected = possible = Level.BITWISE
    for item in found:
        if item.bites:
            guaranteed = min(guaranteed, item.levels.guaranteed)
            expected = min(expected, item.levels.expected)
            possible = min(possible, item.levels.possible)
        if counts_unread(item, scope):
            guaranteed = min(guaranteed, item.levels.guaranteed)
    return Levels(guaranteed, min(expected, possible), possible)


def counts_unread(item: Found, scope: Scope) -> bool:
    """Tell whether an unread side of this rule lowers ``guaranteed`` in ``scope``."""
    if scope is Scope.STACK and item.rule.set_by is SetBy.PROGRAM:
        return False
    return item.undecided


def answer_for(ends: Levels, read: Level, level: Level) -> Answer:
    """Answer "comparable at ``level``?"; ``read`` is what ``guaranteed`` would be were every unread fact harmless."""
    if ends.guaranteed >= level:
        return Answer.YES
    if ends.expected < level:
        return Answer.NO
    return Answer.LIKELY if read < level else Answer.UNKNOWN


def _reasons(biting: list[Found]) -> tuple[Reason, ...]:
    """Order reasons: the strongest first, roots before what they imply, then causal order; fold the implied.

    A suspicion is no root of what lowers something.
    """
    present = {item.rule.id for item in biting}
    told = {item.rule.id: (*item.rule.gathers, *item.rule.subsumes) for item in biting}
    implied = {lesser: greater for greater, under in told.items() for lesser in under if lesser in present}
    follows = {lesser for item in biting if item.levels.guaranteed < Level.BITWISE for lesser in told[item.rule.id]}
    order = sorted(enumerate(biting), key=lambda pair: (
        _rank(pair[1]), pair[1].rule.id in follows, pair[1].levels.guaranteed, pair[0]))
    return tuple(_reason(item, implied.get(item.rule.id)) for _, item in order)


def _rank(item: Found) -> Level:
    """Return the level by which a reason is ordered: its expected one.

    A fault that one side has and the other has not stands among what rounds: a program that it hits is not rounded.
    """
    one_sided = item.rule.layer == "known" and (item.left.state == FAILS) is not (item.right.state == FAILS)
    if one_sided and item.levels.guaranteed is Level.NONE:
        return min(item.levels.expected, Level.CURVE)
    return item.levels.expected


def _reason(item: Found, implied_by: str | None) -> Reason:
    rule = item.rule
    if isinstance(rule, Distinction):
        shown = list(show_both(rule, item.left, item.right))
        why = rule.why.format(expected=shown[0], observed=shown[1])
    else:
        details = _failing(item)
        shown = [details.get("expected", ""), details.get("observed", "")]
        detail, side = failing(details)
        why = rule.why.format(detail=detail, side=side)
    return Reason(rule=rule.id, layer=rule.layer, cause=rule.cause, why=said(why), expected=shown[0],
                  observed=shown[1], guaranteed=item.levels.guaranteed, expected_level=item.levels.expected,
                  possible=item.levels.possible, effect=rule.effect, remedy=rule.remedy, confidence=rule.confidence,
                  source=rule.source, implied_by=implied_by)


def _failing(item: Found) -> dict[str, str]:
    return {name: str(side.value) for name, side in (("expected", item.left), ("observed", item.right))
            if side.state == FAILS}


def show(rule: Distinction, item: Entry) -> str:
    """Return what a rule read on one side, in words."""
    if item.state == NOT_APPLIED:
        return "not applicable"
    if item.state == VARIES:
        return " and ".join(show(rule, Entry(state, value)) for state, value in item.value)
    return rule.show(item.value)


def show_both(rule: Distinction, left: Entry, right: Entry) -> tuple[str, str]:
    """Return what a rule read on two sides, in words: of sides read in parts only, the parts read on both."""
    shared = left.shared(right)
    if not shared:
        return show(rule, left), show(rule, right)
    return (rule.show({name: pair[0] for name, pair in shared.items()}),
            rule.show({name: pair[1] for name, pair in shared.items()}))


def _capture_how(item: Found, scope: Scope) -> str:
    """Say how to settle a rule; where raw facts stand in for an effect on both sides, no capture can."""
    if counts_unread(item, scope) and not item.left.lacking and not item.right.lacking:
        return SAME_IT
    return STATE_IT if scope is Scope.PROCESS and item.rule.capture_how == RUN_IT else item.rule.capture_how


def _assumptions(undecided: list[Found], scope: Scope) -> tuple[Assumption, ...]:
    """List the rules that unread facts leave open, those that lower ``guaranteed`` most first."""
    rows = []
    for item in undecided:
        lacking = {"expected": dict(item.left.lacking), "observed": dict(item.right.lacking)}
        rows.append(Assumption(
            rule=item.rule.id, layer=item.rule.layer, cause=item.rule.cause, lowers=counts_unread(item, scope),
            guaranteed=item.levels.guaranteed, lacking={side: facts for side, facts in lacking.items() if facts},
            capture_how=_capture_how(item, scope)))
    return tuple(sorted(rows, key=lambda row: (not row.lowers, row.guaranteed)))
