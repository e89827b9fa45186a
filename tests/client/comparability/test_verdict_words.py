"""What a verdict says: headlines of planted cases, and steps that raise an end to the level they name."""

from __future__ import annotations

import re
from typing import Any

import pytest
from documents import Document, change, complete_document
from hypothesis import given
from hypothesis import strategies as st
from strategies import QUESTIONS, documents, hidden_sides, vector_of

from repro_env.comparability.headline import headline
from repro_env.comparability.judge import find, judge, judge_vectors, three_ends
from repro_env.comparability.levels import Answer, Level, Question, Scope
from repro_env.comparability.policy import Levels, Policy
from repro_env.comparability.reading import Facts
from repro_env.comparability.remedy import what_would_raise
from repro_env.comparability.rule import SAME_IT, Condition, Distinction
from repro_env.comparability.vector import FAILS, FALLBACK, OK, UNREAD, VALUE, Entry, Vector, rules_of
from repro_env.comparability.verdict import Assumption, Confound, Difference, Reason, Varied, Verdict
from repro_env.fingerprint.facts import unread

COMPARE, REPEAT, PROCESS, STACK = Question.COMPARE, Question.REPEAT, Scope.PROCESS, Scope.STACK
OUTSIDE = "whether the program repeats was not observed"


def verdict_on(left: Document, right: Document, **options: Any) -> Verdict:
    return judge(Facts.of(left), Facts.of(right), **options)


def reason(rule: str, guaranteed: Level, expected: Level, *, remedy: str = "", implied_by: str | None = None,
           why: str = "4 threads against 8") -> Reason:
    return Reason(rule, "threads", "thread_count", why, "4", "8", guaranteed, expected, Level.BITWISE, "",
                  remedy or rule, "proven", (), implied_by)


def assumption(rule: str, guaranteed: Level, *, lowers: bool = True) -> Assumption:
    lacking = {"expected": {"a.b": "timeout"}}
    return Assumption(rule, "threads", "thread_count", lowers, guaranteed, lacking, f"get {rule}")


#: what no sentence for people may hold.
UNREADABLE = re.compile(
    r"\{|\}|(?<!gradients to )\bNone\b|\bTrue\b|\bFalse\b|  |\.\.$|: \.|Fallback|NOT_APPLICABLE")
N, S, C, B = Level.NONE, Level.STATISTICAL, Level.CURVE, Level.BITWISE

HEADLINES: dict[str, tuple[Question, Scope, Levels, list[Reason], list[Assumption], str]] = {
    "nothing": (COMPARE, PROCESS, Levels(B, B, B), [], [],
                "Same environment, so a difference between the results is not its doing."),
    "nothing, asked for a repetition": (REPEAT, PROCESS, Levels(B, B, B), [], [],
                                        "Nothing differs, so these two must give the same bits."),
    "nothing, seen from outside": (COMPARE, STACK, Levels(B, B, B), [], [assumption("a", C, lowers=False)],
                                   f"Same stack; {OUTSIDE}."),
    "a repetition seen from outside": (REPEAT, STACK, Levels(B, B, B), [], [], f"Same stack; {OUTSIDE}."),
    "curves": (COMPARE, PROCESS, Levels(C, C, B), [reason("t", C, C)], [],
               "Comparable as curves, not bit by bit: 4 threads against 8."),
    "curves, seen from outside": (COMPARE, STACK, Levels(C, C, B), [reason("t", C, C)], [],
                                  f"Comparable as curves, not bit by bit: 4 threads against 8; {OUTSIDE}."),
    "a repetition that is none": (REPEAT, PROCESS, Levels(S, S, B), [reason("t", S, S, why="seeds 1 against 2")], [],
                                  "Should not repeat, only agree statistically over several seeds: seeds 1 against 2."),
    "known wrong": (COMPARE, PROCESS, Levels(N, N, N), [reason("t", N, N, why="cuDNN 8.9.0 computes wrongly.")], [],
                    "Not comparable: cuDNN 8.9.0 computes wrongly."),
    "only guaranteed is lower": (COMPARE, PROCESS, Levels(S, B, B), [reason("t", S, B)], [],
                                 "Comparable bit by bit as far as is known, but guaranteed only statistically: "
                                 "4 threads against 8."),
    "one unread": (COMPARE, PROCESS, Levels(C, B, B), [], [assumption("a", C)],
                   "No difference that matters was found, but one check could not be made for lack of facts; "
                   "guaranteed only as curves so far."),
    "several unread": (COMPARE, PROCESS, Levels(N, B, B), [], [assumption("a", N), assumption("b", C)],
                       "No difference that matters was found, but 2 checks could not be made for lack of facts; "
                       "nothing is guaranteed so far."),
    "unread from outside": (COMPARE, STACK, Levels(C, B, B), [], [assumption("a", C)],
                            "No difference that matters was found, but one check could not be made for lack of facts; "
                            f"guaranteed only as curves so far; {OUTSIDE}."),
}


@pytest.mark.parametrize(("question", "scope", "ends", "reasons", "assumes", "said"), HEADLINES.values(), ids=HEADLINES)
def test_headline(question: Question, scope: Scope, ends: Levels, reasons: list[Reason], assumes: list[Assumption],
                  said: str) -> None:
    assert headline(question, scope, ends, tuple(reasons), tuple(assumes)) == said


def test_a_headline_names_what_a_policy_waives() -> None:
    said = headline(COMPARE, PROCESS, Levels(B, B, B), (), (), (("torch-threads", "measured"),))
    assert said == "Same environment but for what the policy waives (torch-threads)."


SEED = Varied("seed", (Difference("seed", "seeds 1 against 2", "1", "2"),))


def test_a_headline_names_what_differs_on_purpose() -> None:
    same = headline(COMPARE, PROCESS, Levels(B, B, B), (), (), varied=(SEED, Varied("code", ())))
    assert same == "Same environment but for what varies on purpose (seed)."


def test_a_headline_says_that_its_reason_moves_together_with_what_is_declared() -> None:
    rows = (reason("t", C, C),)
    ends = Levels(C, C, B)
    assert headline(COMPARE, PROCESS, ends, rows, (), varied=(SEED,), confounds=(Confound("t", "", ("seed",)),)) == (
        "Comparable as curves, not bit by bit: 4 threads against 8, which moves together with what varies on "
        "purpose (seed).")
    assert headline(COMPARE, PROCESS, ends, rows, (), varied=(SEED,)) == (
        "Comparable as curves, not bit by bit: 4 threads against 8; varied on purpose: seed.")


def test_a_headline_names_the_root_and_not_what_follows_from_it() -> None:
    rows = (reason("follows", N, N, implied_by="root", why="2 against 3"), reason("root", C, C))
    assert headline(COMPARE, PROCESS, Levels(N, N, B), rows, ()) == "Not comparable: 4 threads against 8."


def test_a_resumed_run_is_spoken_of_as_one() -> None:
    said = headline(Question.RESUME, PROCESS, Levels(C, C, B), (reason("t", C, C),), ())
    assert said == "Should continue the curve, not bit by bit: 4 threads against 8."


@given(documents(), QUESTIONS)
def test_a_stack_verdict_always_says_that_it_is_one(pair: list[Document], question: Question) -> None:
    verdict = verdict_on(*pair, question=question)
    assert verdict.headline.endswith(f"; {OUTSIDE}.") == (verdict.scope is STACK)


@given(documents(), QUESTIONS)
def test_every_sentence_is_one(pair: list[Document], question: Question) -> None:
    verdict = verdict_on(*pair, question=question)
    for text in (verdict.headline, *(item.why for item in verdict.reasons)):
        assert text == text.strip()
        assert text
        assert not UNREADABLE.search(text), text


@given(documents())
def test_expected_is_what_the_headline_says(pair: list[Document]) -> None:
    verdict = verdict_on(*pair)
    words = {C: "Comparable as curves", S: "Comparable only statistically", N: "Not comparable"}
    for level, start in words.items():
        assert verdict.headline.startswith(start) == (verdict.expected is level)


class TestWhatWouldRaise:
    """Taking all steps of an end lifts it to the level they name; leaving one out does not lift it."""

    @given(st.data(), QUESTIONS, st.sampled_from(Scope))
    def test_steps_taken_lift_the_end_to_their_level(
            self, data: st.DataObject, question: Question, scope: Scope) -> None:
        left, right = (vector_of(side, question) for side in data.draw(hidden_sides(question)))
        verdict = judge_vectors(left, right, scope=scope, question=question)
        for end in ("expected", "guaranteed"):
            steps = [step for step in verdict.raises if end in step.lifts]
            before = getattr(verdict, end)
            assert bool(steps) == (before < B)
            if steps:
                settled = settle({rule for step in steps for rule in step.rules}, question, left, right)
                after = getattr(three_ends(find(*settled, question), scope), end)
                assert {step.to for step in steps} == {after}
                assert after > before

    @given(st.data(), QUESTIONS)
    def test_no_step_can_be_left_out(self, data: st.DataObject, question: Question) -> None:
        left, right = (vector_of(side, question) for side in data.draw(hidden_sides(question)))
        verdict = judge_vectors(left, right, scope=PROCESS, question=question)
        for end in ("expected", "guaranteed"):
            steps = [step for step in verdict.raises if end in step.lifts]
            for out in steps:
                taken = {rule for step in steps for rule in step.rules} - set(out.rules)
                settled = settle(taken, question, left, right)
                assert getattr(three_ends(find(*settled, question), PROCESS), end) == getattr(verdict, end)

    def test_the_level_reached_is_the_next_one_that_holds(self) -> None:
        steps = what_would_raise(Levels(N, N, B), (reason("a", N, N), reason("b", C, C)), (assumption("u", S),))
        assert [(step.do, step.lifts, step.to, step.rules) for step in steps] == [
            ("a", "expected", C, ("a",)), ("a", "guaranteed", S, ("a",))]

    def test_one_step_for_both_ends_is_said_once(self) -> None:
        (step,) = what_would_raise(Levels(C, C, B), (reason("a", C, C),), ())
        assert (step.lifts, step.to) == ("expected and guaranteed", B)

    def test_a_reason_that_follows_goes_with_its_root(self) -> None:
        reasons = (reason("consequence", S, S, implied_by="root"), reason("root", C, C), reason("other", C, C))
        (step,) = what_would_raise(Levels(S, S, B), reasons, ())
        assert (step.do, step.to, step.rules) == ("root", C, ("consequence", "root"))

    def test_rules_that_imply_each_other_end(self) -> None:
        reasons = (reason("a", S, S, implied_by="b"), reason("b", S, S, implied_by="a"))
        assert {step.to for step in what_would_raise(Levels(S, S, B), reasons, ())} == {B}

    def test_captures_come_after_changes(self) -> None:
        steps = what_would_raise(Levels(C, B, B), (reason("a", C, B),), (assumption("u", C), assumption("v", C)))
        assert [step.do for step in steps] == ["a", "get u", "get v"]

    def test_nothing_raises_what_is_bitwise(self) -> None:
        assert what_would_raise(Levels(B, B, B), (), (assumption("u", C, lowers=False),)) == ()


def settle(rules: set[str], question: Question, *sides: Vector) -> list[Vector]:
    """Return the sides with these rules brought to one read and sound state."""
    sound = {rule.id: Entry(OK) if isinstance(rule, Condition) else Entry(VALUE, "same") for rule in rules_of(question)}
    return [{name: sound[name] if name in rules else item for name, item in side.items()} for side in sides]


class TestAnswers:
    """"Comparable at level L?" for planted entries of the first rule of each kind that lowers something."""

    DISTINCTION = next(rule for rule in rules_of(COMPARE)
                       if isinstance(rule, Distinction) and rule.guaranteed is rule.expected is C)
    CONDITION = next(rule for rule in rules_of(COMPARE) if isinstance(rule, Condition) and rule.guaranteed < B)

    def answer(self, left: Entry, right: Entry, level: Level, rule: Any = None) -> Answer:
        name = (rule or self.DISTINCTION).id
        plain = vector_of({}, COMPARE)
        return judge_vectors({**plain, name: left}, {**plain, name: right}, scope=PROCESS, level=level).answer

    def test_equal_is_yes(self) -> None:
        assert self.answer(Entry(VALUE, 4), Entry(VALUE, 4), B) is Answer.YES

    def test_a_difference_read_is_no_above_its_level_and_yes_at_it(self) -> None:
        assert self.answer(Entry(VALUE, 4), Entry(VALUE, 8), B) is Answer.NO
        assert self.answer(Entry(VALUE, 4), Entry(VALUE, 8), C) is Answer.YES

    def test_only_unread_facts_between_is_unknown(self) -> None:
        assert self.answer(Entry(VALUE, 4), Entry(UNREAD), B) is Answer.UNKNOWN

    def test_what_was_read_lowering_only_the_guarantee_is_likely(self) -> None:
        rule = next(rule for rule in rules_of(COMPARE) if isinstance(rule, Distinction) and rule.expected is B
                    and rule.guaranteed < B)
        assert self.answer(Entry(VALUE, 4), Entry(VALUE, 8), B, rule) is Answer.LIKELY

    def test_every_level_can_be_asked(self) -> None:
        assert self.answer(Entry(UNREAD), Entry(UNREAD), N) is Answer.YES

    def test_the_level_asked_is_echoed(self) -> None:
        plain = vector_of({}, REPEAT)
        assert judge_vectors(plain, plain, scope=PROCESS, question=REPEAT).level is B
        assert judge_vectors(vector_of({}, COMPARE), vector_of({}, COMPARE), scope=PROCESS).level is C

    def test_a_failure_on_one_side_leaves_the_unread_other_side_open(self) -> None:
        name = self.CONDITION.id
        plain = vector_of({}, COMPARE)
        half_read = {**plain, name: Entry(UNREAD, None, (("a.b", "denied"),))}
        verdict = judge_vectors({**plain, name: Entry(FAILS, "x")}, half_read, scope=PROCESS)
        assert [item.rule for item in verdict.reasons] == [name]
        assert [(item.rule, item.lacking) for item in verdict.assumes] == [(name, {"observed": {"a.b": "denied"}})]

    def test_a_failure_on_both_sides_is_said_once(self) -> None:
        name = self.CONDITION.id
        side = {**vector_of({}, COMPARE), name: Entry(FAILS, "found this")}
        (only,) = judge_vectors(side, side, scope=PROCESS).reasons
        assert only.expected == only.observed == "found this"
        assert only.why.count("found this") <= 1


class TestHowToSettle:
    """What was not read is to be captured; where only an effect is unknown, no capture is asked for."""

    RULE = next(rule for rule in rules_of(COMPARE) if isinstance(rule, Distinction) and rule.guaranteed < B)

    def told(self, left: Entry, right: Entry, scope: Scope = PROCESS) -> str:
        plain = vector_of({}, COMPARE)
        verdict = judge_vectors({**plain, self.RULE.id: left}, {**plain, self.RULE.id: right}, scope=scope)
        (found,) = [item.capture_how for item in verdict.assumes if item.rule == self.RULE.id]
        return found

    def test_raw_facts_that_differ_are_to_be_made_equal(self) -> None:
        assert self.told(Entry(FALLBACK, "a"), Entry(FALLBACK, "b")) == SAME_IT

    def test_an_unread_fact_is_to_be_captured(self) -> None:
        assert self.told(Entry(FALLBACK, "a"), Entry(UNREAD, None, (("a.b", "denied"),))) != SAME_IT


UNSEEN: dict[str, Any] = {"threads.torch_intraop": unread("too-early")}


class TestScope:
    """Program-set facts that nobody saw lower nothing from outside, and everything inside."""

    def test_from_outside_the_guarantee_of_the_stack_stands(self) -> None:
        side = complete_document("prologue", **UNSEEN)
        verdict = verdict_on(side, side)
        assert verdict.scope is STACK
        assert "torch-threads" in {item.rule for item in verdict.assumes if not item.lowers}

    def test_inside_it_is_lowered(self) -> None:
        side = complete_document("process", **UNSEEN)
        verdict = verdict_on(side, side)
        assert verdict.scope is PROCESS
        assert verdict.guaranteed < B
        assert "torch-threads" in {item.rule for item in verdict.assumes if item.lowers}

    def test_one_side_from_outside_makes_it_a_stack_verdict(self) -> None:
        assert verdict_on(complete_document(), complete_document("image")).scope is STACK
        assert verdict_on(complete_document(), complete_document("exit")).scope is PROCESS

    def test_program_facts_that_both_sides_state_count_from_outside(self) -> None:
        left = complete_document("prologue")
        verdict = verdict_on(left, change(left, **{"threads.torch_intraop": 4}))
        assert verdict.expected is C


def test_a_waived_rule_is_named_and_counts_no_more() -> None:
    left = complete_document()
    right = change(left, **{"threads.torch_intraop": 4})
    bare = verdict_on(left, right)
    policy = Policy("p", {item.rule: "measured: equal bits" for item in bare.reasons})
    waived = verdict_on(left, right, policy=policy)
    assert bare.expected is C
    assert waived.expected is B
    assert not waived.reasons
    assert dict(waived.waived) == policy.waive
    assert waived.policy != bare.policy


def test_a_waiver_that_nothing_falls_under_is_not_named() -> None:
    side = complete_document()
    assert verdict_on(side, side, policy=Policy("p", {"torch-threads": "measured"})).waived == ()


@given(documents(), QUESTIONS)
def test_reasons_come_strongest_first_and_name_only_reasons_as_their_roots(
        pair: list[Document], question: Question) -> None:
    verdict = verdict_on(*pair, question=question)
    levels = [item.expected_level for item in verdict.reasons]
    assert levels == sorted(levels)
    present = {item.rule for item in verdict.reasons}
    assert all(item.implied_by in present for item in verdict.reasons if item.implied_by)


@given(documents(), QUESTIONS)
def test_the_json_form_holds_words_and_plain_values_only(pair: list[Document], question: Question) -> None:
    def plain(value: Any) -> bool:
        if isinstance(value, dict):
            return all(type(key) is str and plain(item) for key, item in value.items())
        if isinstance(value, list):
            return all(plain(item) for item in value)
        return value is None or type(value) in {str, int, bool}
    told = verdict_on(*pair, question=question).to_json()
    assert plain(told)
    assert told["expected"] in {level.word for level in Level}
