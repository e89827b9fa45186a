"""The laws of judging, on hidden sides over whatever rules there are, and on consistent documents."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from documents import Document
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import QUESTIONS, documents, erase, erasures, hidden_sides, vector_of, with_less_seen

from repro_env.comparability.judge import Found, find, judge, judge_vectors, three_ends
from repro_env.comparability.levels import Level, Question, Scope
from repro_env.comparability.policy import NO_POLICY, Levels, Policy
from repro_env.comparability.reading import Facts
from repro_env.comparability.rule import Condition, Distinction
from repro_env.comparability.vector import (
    FAILS,
    FALLBACK,
    RANKS_DIFFER,
    READ,
    UNREAD,
    VALUE,
    VARIES,
    Entry,
    Vector,
    class_key,
    from_text,
    keyed_rules,
    merge,
    project,
    rules_of,
    to_text,
)
from repro_env.comparability.verdict import Verdict

LEVELS = [level for level in Level if level is not Level.NONE]
DISTINCTION = next(rule for rule in rules_of(Question.COMPARE) if isinstance(rule, Distinction)
                   and rule.guaranteed < Level.BITWISE)


def ends_of(left: Vector, right: Vector, scope: Scope, question: Question, policy: Policy = NO_POLICY) -> Levels:
    return three_ends(find(left, right, question, policy), scope)


def keyed_ends(left: Vector, right: Vector, scope: Scope, question: Question) -> Levels:
    """The ends over the rules that keys cover in this scope."""
    covered = {rule.id for rule in keyed_rules(question, scope)}
    return three_ends([item for item in find(left, right, question) if item.rule.id in covered], scope)


def by_the_book(left: Vector, right: Vector, question: Question) -> Levels:
    """The three ends in scope ``process``, word by word as ``docs/levels.md`` defines them."""
    cap = expected = possible = Level.BITWISE
    for rule in rules_of(question):
        a, b = left[rule.id], right[rule.id]
        if isinstance(rule, Distinction):
            differ = a.state in READ and b.state in READ and (a.state, a.value) != (b.state, b.value)
            fallback_mismatch = FALLBACK in {a.state, b.state} and (a.state, a.value) != (b.state, b.value)
            lowers = differ or fallback_mismatch or UNREAD in {a.state, b.state}
            fails = differ
        else:
            lowers = {a.state, b.state} & {FAILS, UNREAD}
            fails = FAILS in {a.state, b.state}
        cap = min(cap, rule.guaranteed) if lowers else cap
        expected = min(expected, rule.expected) if fails else expected
        possible = min(possible, rule.possible) if fails else possible
    return Levels(cap, min(expected, possible), possible)


@st.composite
def vector_pairs(draw: st.DrawFn, count: int = 2) -> tuple[Question, list[Vector]]:
    question = draw(QUESTIONS)
    return question, [vector_of(side, question) for side in draw(hidden_sides(question, count))]


class TestOnVectors:
    """Exact semantics: every rule, every state, nothing else."""

    @given(vector_pairs())
    def test_three_ends_are_those_of_the_definition(self, case: tuple[Question, list[Vector]]) -> None:
        question, (left, right) = case
        assert ends_of(left, right, Scope.PROCESS, question) == by_the_book(left, right, question)

    @given(vector_pairs(), st.sampled_from(Scope), st.sampled_from(LEVELS))
    def test_guaranteed_at_least_a_level_exactly_when_both_have_one_key(
            self, case: tuple[Question, list[Vector]], scope: Scope, level: Level) -> None:
        question, (left, right) = case
        keys = [class_key(side, level, scope, question) for side in (left, right)]
        assert (keyed_ends(left, right, scope, question).guaranteed >= level) == (
            None not in keys and keys[0] == keys[1])

    @given(vector_pairs(), st.sampled_from(Scope))
    def test_ends_are_ordered(self, case: tuple[Question, list[Vector]], scope: Scope) -> None:
        question, (left, right) = case
        ends = ends_of(left, right, scope, question)
        assert ends.guaranteed <= ends.expected <= ends.possible

    @given(st.data(), QUESTIONS, st.sampled_from(Scope))
    def test_erasing_never_raises_guaranteed_and_never_lowers_the_others(
            self, data: st.DataObject, question: Question, scope: Scope) -> None:
        left, right = data.draw(hidden_sides(question))
        less_left = data.draw(with_less_seen(left, right))
        less_right = data.draw(with_less_seen(right, less_left))
        before = ends_of(vector_of(left, question), vector_of(right, question), scope, question)
        after = ends_of(vector_of(less_left, question), vector_of(less_right, question), scope, question)
        assert after.expected >= before.expected
        assert after.possible >= before.possible
        if scope is Scope.PROCESS:
            assert after.guaranteed <= before.guaranteed

    @given(st.data(), QUESTIONS)
    def test_erasing_in_scope_stack_never_raises_what_keys_cover(self, data: st.DataObject, question: Question) -> None:
        left, right = data.draw(hidden_sides(question))
        less = data.draw(with_less_seen(left, right))
        after = keyed_ends(vector_of(less, question), vector_of(right, question), Scope.STACK, question)
        before = keyed_ends(vector_of(left, question), vector_of(right, question), Scope.STACK, question)
        assert after.guaranteed <= before.guaranteed

    @given(vector_pairs(), st.sampled_from(Scope))
    def test_symmetric(self, case: tuple[Question, list[Vector]], scope: Scope) -> None:
        question, (left, right) = case
        there = judge_vectors(left, right, scope=scope, question=question)
        back = judge_vectors(right, left, scope=scope, question=question)
        assert (there.guaranteed, there.expected, there.possible, there.answer, there.raises) == (
            back.guaranteed, back.expected, back.possible, back.answer, back.raises)
        assert [(item.rule, item.expected, item.observed) for item in there.reasons] == [
            (item.rule, item.observed, item.expected) for item in back.reasons]
        assert [(item.rule, swapped(item.lacking)) for item in there.assumes] == [
            (item.rule, item.lacking) for item in back.assumes]

    @given(vector_pairs(count=3), st.sampled_from(Scope), st.sampled_from(LEVELS))
    def test_transitive(self, case: tuple[Question, list[Vector]], scope: Scope, level: Level) -> None:
        question, (a, b, c) = case
        assume(keyed_ends(a, b, scope, question).guaranteed >= level)
        assume(keyed_ends(b, c, scope, question).guaranteed >= level)
        assert keyed_ends(a, c, scope, question).guaranteed >= level

    @given(vector_pairs(), st.sampled_from(Scope), st.sampled_from(LEVELS))
    def test_reflexive_exactly_where_a_key_exists(
            self, case: tuple[Question, list[Vector]], scope: Scope, level: Level) -> None:
        question, (side, _) = case
        has_key = class_key(side, level, scope, question) is not None
        assert (keyed_ends(side, side, scope, question).guaranteed >= level) == has_key

    @given(vector_pairs(), st.sampled_from(Scope))
    def test_a_side_against_itself_names_no_distinction(
            self, case: tuple[Question, list[Vector]], scope: Scope) -> None:
        question, (side, _) = case
        assert not distinctions_among(judge_vectors(side, side, scope=scope, question=question))

    @given(vector_pairs())
    def test_a_vector_survives_its_stored_form(self, case: tuple[Question, list[Vector]]) -> None:
        _, (side, _) = case
        assert from_text(to_text(side)) == side
        assert to_text(from_text(to_text(side))) == to_text(side)

    @given(vector_pairs(), st.data(), st.sampled_from(Scope))
    def test_waivers_only_raise(self, case: tuple[Question, list[Vector]], data: st.DataObject, scope: Scope) -> None:
        question, (left, right) = case
        names = [rule.id for rule in rules_of(question)]
        waive = data.draw(st.lists(st.sampled_from(names), max_size=4, unique=True))
        more = data.draw(st.lists(st.sampled_from(names), max_size=4, unique=True))
        few = ends_of(left, right, scope, question, Policy("few", dict.fromkeys(waive, "measured")))
        many = ends_of(left, right, scope, question, Policy("many", dict.fromkeys([*waive, *more], "measured")))
        none = ends_of(left, right, scope, question)
        assert all(low <= middle <= high for low, middle, high in zip(none, few, many, strict=True))

    @given(vector_pairs())
    def test_with_every_rule_waived_everything_is_bitwise(self, case: tuple[Question, list[Vector]]) -> None:
        question, (left, right) = case
        policy = Policy("all", {rule.id: "measured" for rule in rules_of(question)})
        assert set(ends_of(left, right, Scope.PROCESS, question, policy)) == {Level.BITWISE}

    @given(vector_pairs(), st.data(), st.sampled_from(Scope), st.sampled_from(LEVELS))
    def test_the_law_of_keys_holds_under_a_policy(self, case: tuple[Question, list[Vector]], data: st.DataObject,
                                                  scope: Scope, level: Level) -> None:
        question, (left, right) = case
        covered = keyed_rules(question, scope)
        waive = data.draw(st.lists(st.sampled_from([rule.id for rule in covered]), max_size=4, unique=True))
        policy = Policy("some", dict.fromkeys(waive, "measured"))
        found = [item for item in find(left, right, question, policy) if item.rule in covered]
        keys = [class_key(side, level, scope, question, policy) for side in (left, right)]
        assert (three_ends(found, scope).guaranteed >= level) == (None not in keys and keys[0] == keys[1])


class TestMerging:
    """A run is the set of its processes."""

    @given(vector_pairs(count=3), st.data())
    def test_order_and_repetition_do_not_matter(
            self, case: tuple[Question, list[Vector]], data: st.DataObject) -> None:
        _, sides = case
        again = data.draw(st.permutations([*sides, *sides[:2]]))
        assert to_text(merge(again)) == to_text(merge(sides))

    @given(vector_pairs())
    def test_one_process_is_its_own_run(self, case: tuple[Question, list[Vector]]) -> None:
        _, (side, _) = case
        assert merge([side, dict(side)]) == side

    @given(vector_pairs(count=3))
    def test_a_merged_vector_survives_its_stored_form(self, case: tuple[Question, list[Vector]]) -> None:
        _, sides = case
        merged = merge(sides)
        assert from_text(to_text(merged)) == merged

    @given(st.data(), QUESTIONS)
    def test_erasing_on_a_rank_never_lowers_expected_or_possible(
            self, data: st.DataObject, question: Question) -> None:
        first, second, other = data.draw(hidden_sides(question, 3))
        less = data.draw(with_less_seen(first, second))
        right = vector_of(other, question)
        rank = vector_of(second, question)
        before = ends_of(merge([vector_of(first, question), rank]), right, Scope.PROCESS, question)
        after = ends_of(merge([vector_of(less, question), rank]), right, Scope.PROCESS, question)
        assert after.expected >= before.expected
        assert after.possible >= before.possible

    @given(vector_pairs(count=3), st.sampled_from(LEVELS))
    def test_the_law_of_keys_holds_for_runs(self, case: tuple[Question, list[Vector]], level: Level) -> None:
        question, (first, second, third) = case
        runs = [merge([first, second]), merge([second, third])]
        keys = [class_key(run, level, Scope.PROCESS, question) for run in runs]
        guaranteed = ends_of(runs[0], runs[1], Scope.PROCESS, question).guaranteed
        assert (guaranteed >= level) == (None not in keys and keys[0] == keys[1])

    @given(vector_pairs())
    def test_what_is_unread_or_fails_on_one_process_stands_for_the_run(
            self, case: tuple[Question, list[Vector]]) -> None:
        _, (first, second) = case
        for rule, item in merge([first, second]).items():
            states = {first[rule].state, second[rule].state} if rule in first else set()
            if rule != RANKS_DIFFER and states & {UNREAD, FAILS}:
                assert item.state == (FAILS if FAILS in states else UNREAD)

    def test_processes_that_differ_in_what_was_read_differ(self) -> None:
        name = DISTINCTION.id
        plain = vector_of({}, Question.COMPARE)
        ranks = [{**plain, name: Entry(VALUE, count)} for count in (4, 8)]
        run = merge(ranks)
        assert run[name] == Entry(VARIES, [["value", 4], ["value", 8]])
        assert run[RANKS_DIFFER] == Entry(FAILS, f"its processes differ in {name}")

    def test_processes_unlike_only_in_what_is_unread_are_not_called_different(self) -> None:
        name = DISTINCTION.id
        plain = vector_of({}, Question.COMPARE)
        ranks = [{**plain, name: Entry(VALUE, 4)}, {**plain, name: Entry(UNREAD, None, (("a.b", "timeout"),))}]
        assert merge(ranks)[RANKS_DIFFER] == Entry(UNREAD, None, (("a.b", "timeout"),))

    def test_no_process_is_no_run(self) -> None:
        with pytest.raises(ValueError, match="at least one process"):
            merge([])


class TestKeys:
    """A key says in which scope, question, level and policy it holds."""

    @pytest.fixture
    def side(self) -> Vector:
        return vector_of({}, Question.REPEAT)

    def test_keys_differ_between_levels_scopes_questions_and_policies(self, side: Vector) -> None:
        policy = Policy("p", {rules_of(Question.REPEAT)[0].id: "measured"})
        keys = [class_key(side, level, scope, question, chosen) for level in LEVELS for scope in Scope
                for question in (Question.REPEAT, Question.RESUME) for chosen in (NO_POLICY, policy)]
        assert None not in keys
        assert len(set(keys)) == len(keys)

    def test_keys_name_their_scope_even_over_the_same_rules(
            self, side: Vector, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("repro_env.comparability.vector.keyed_rules", lambda question, scope: rules_of(question))
        keys = {class_key(side, Level.CURVE, scope, Question.REPEAT) for scope in Scope}
        assert len(keys) == 2

    def test_keys_differ_between_rulesets(self, side: Vector, monkeypatch: pytest.MonkeyPatch) -> None:
        before = class_key(side, Level.CURVE, Scope.PROCESS, Question.REPEAT)
        monkeypatch.setattr("repro_env.comparability.vector.RULESET", "another")
        assert class_key(side, Level.CURVE, Scope.PROCESS, Question.REPEAT) != before

    def test_a_waived_difference_is_in_no_key(self) -> None:
        plain = vector_of({}, Question.COMPARE)
        other = {**plain, DISTINCTION.id: Entry(VALUE, "another")}
        policy = Policy("p", {DISTINCTION.id: "measured"})
        for chosen, count in ((NO_POLICY, 2), (policy, 1)):
            keys = {class_key(side, Level.BITWISE, Scope.PROCESS, policy=chosen) for side in (plain, other)}
            assert len(keys) == count

    def test_words_of_a_waiver_do_not_change_keys(self, side: Vector) -> None:
        rule = rules_of(Question.REPEAT)[0].id
        keys = {class_key(side, Level.CURVE, Scope.PROCESS, Question.REPEAT, Policy(name, {rule: words}))
                for name, words in (("a", "measured"), ("b", "measured again"))}
        assert len(keys) == 1


def proven_by_raw_facts(left: Document, less: Document, right: Document, question: Question) -> bool:
    """Tell whether saying less leaves equal raw facts on both sides, which prove what a value against them could not.

    This is the one case in which less can tell more, and lies in what a fallback is (see ``strategies``).
    """
    whole, rest, other = (project(Facts.of(side), question) for side in (left, less, right))
    return any(whole[rule].state in READ and rest[rule].state == FALLBACK and rest[rule].same(other[rule])
               for rule in whole)


class TestOnDocuments:
    """The same laws where the rules read real documents."""

    @given(documents(), QUESTIONS, st.sampled_from(LEVELS))
    def test_guaranteed_at_least_a_level_exactly_when_both_have_one_key(
            self, pair: list[Document], question: Question, level: Level) -> None:
        left, right = (Facts.of(document) for document in pair)
        scope = Scope.PROCESS if left.scope is right.scope is Scope.PROCESS else Scope.STACK
        vectors = [project(side, question) for side in (left, right)]
        keys = [class_key(side, level, scope, question) for side in vectors]
        assert (keyed_ends(*vectors, scope, question).guaranteed >= level) == (
            None not in keys and keys[0] == keys[1])

    @given(st.data(), QUESTIONS)
    def test_erasing_a_fact_never_raises_guaranteed_and_never_lowers_the_others(
            self, data: st.DataObject, question: Question) -> None:
        left, right = data.draw(documents())
        less = erase(left, data.draw(erasures(left)))
        assume(not proven_by_raw_facts(left, less, right, question))
        before = judge(Facts.of(left), Facts.of(right), question=question)
        after = judge(Facts.of(less), Facts.of(right), question=question)
        assert after.expected >= before.expected, report(before, after)
        assert after.possible >= before.possible, report(before, after)
        if before.scope is Scope.PROCESS:
            assert after.guaranteed <= before.guaranteed, report(before, after)

    @given(documents(1), QUESTIONS)
    def test_a_document_against_itself_names_no_distinction(
            self, only: list[Document], question: Question) -> None:
        facts = Facts.of(only[0])
        verdict = judge(facts, facts, question=question)
        assert not distinctions_among(verdict)
        assert not verdict.ignored

    @given(documents(), QUESTIONS)
    def test_swapping_sides_swaps_sides(self, pair: list[Document], question: Question) -> None:
        left, right = (Facts.of(document) for document in pair)
        there, back = judge(left, right, question=question), judge(right, left, question=question)
        assert (there.guaranteed, there.expected, there.possible, there.answer, there.scope) == (
            back.guaranteed, back.expected, back.possible, back.answer, back.scope)
        assert [(item.rule, item.expected, item.observed) for item in there.reasons] == [
            (item.rule, item.observed, item.expected) for item in back.reasons]
        assert [(item.path, item.expected, item.observed) for item in there.ignored] == [
            (item.path, item.observed, item.expected) for item in back.ignored]

    @given(documents(3), QUESTIONS, st.sampled_from(LEVELS))
    def test_transitive(self, three: list[Document], question: Question, level: Level) -> None:
        a, b, c = (project(Facts.of(document), question) for document in three)
        assume(keyed_ends(a, b, Scope.PROCESS, question).guaranteed >= level)
        assume(keyed_ends(b, c, Scope.PROCESS, question).guaranteed >= level)
        assert keyed_ends(a, c, Scope.PROCESS, question).guaranteed >= level

    @given(documents(1), QUESTIONS)
    def test_a_projected_vector_survives_its_stored_form(self, only: list[Document], question: Question) -> None:
        side = project(Facts.of(only[0]), question)
        assert from_text(to_text(side)) == side

    @given(documents(2), QUESTIONS)
    def test_a_stored_vector_gives_the_verdict_of_its_document(self, pair: list[Document], question: Question) -> None:
        left, right = (Facts.of(document) for document in pair)
        direct = judge(left, right, question=question)
        stored = judge_vectors(*(from_text(to_text(project(side, question))) for side in (left, right)),
                               scope=direct.scope, question=question)
        assert (stored.headline, stored.reasons, stored.assumes, stored.raises) == (
            direct.headline, direct.reasons, direct.assumes, direct.raises)


def distinctions_among(verdict: Verdict) -> list[str]:
    conditions = {rule.id for rule in rules_of(verdict.question) if isinstance(rule, Condition)}
    return [reason.rule for reason in verdict.reasons if reason.rule not in conditions]


def swapped(lacking: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    other = {"expected": "observed", "observed": "expected"}
    return {other[side]: facts for side, facts in lacking.items()}


def report(before: Verdict, after: Verdict) -> str:
    """Name the rules whose part in the verdict changed, for the reader of a failure."""
    def shape(verdict: Verdict) -> Iterable[tuple[str, str]]:
        yield from (("reason", item.rule) for item in verdict.reasons)
        yield from (("unread", item.rule) for item in verdict.assumes)
    old, new = set(shape(before)), set(shape(after))
    return f"gone: {sorted(old - new)}; new: {sorted(new - old)}"


def test_a_found_of_two_settled_entries_says_nothing() -> None:
    rule = rules_of(Question.COMPARE)[0]
    side = vector_of({}, Question.COMPARE)
    item = Found(rule, NO_POLICY.levels_of(rule), side[rule.id], side[rule.id])
    assert not item.bites
    assert not item.undecided


def test_a_hidden_side_shows_every_state() -> None:
    """The strategies reach what they are for."""
    states = set()

    @given(vector_pairs())
    def collect(case: tuple[Question, list[Vector]]) -> None:
        states.update(item.state for side in case[1] for item in side.values())
    collect()
    assert {"value", "na", "unread", "fallback"} <= states
