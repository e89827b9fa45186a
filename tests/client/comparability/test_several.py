"""Several sides at once say of each pair what judging the two alone says, and of classes what their keys say."""

from __future__ import annotations

import json
from typing import Any

import pytest
from documents import change, complete_document
from hypothesis import given
from hypothesis import strategies as st
from strategies import QUESTIONS, hidden_sides, vector_of

from repro_env.comparability.judge import judge_vectors
from repro_env.comparability.levels import Level, Question, Scope
from repro_env.comparability.policy import NO_POLICY, Policy
from repro_env.comparability.reading import Facts
from repro_env.comparability.rules import RULES_BY_ID
from repro_env.comparability.several import Member, Several, several
from repro_env.comparability.vector import Vector, class_key, project
from repro_env.errors import InvalidDocument
from tests.client.comparability.test_policy import policy

SCOPES = st.sampled_from(Scope)
#: policies that waive, change levels and let vary.
POLICIES = st.sampled_from([NO_POLICY, policy(waive={"torch-threads": "measured"}),
                            policy(vary=["seed", "precision.*"]),
                            policy(levels={"gpu-model": {"guaranteed": "none", "expected": "none", "reason": "ours"}})])


class Drawn:
    """Four sides of a question, with a short form for reports."""

    def __init__(self, question: Question, sides: list[tuple[Vector, Scope]]) -> None:
        self.question = question
        self.members = [Member(f"run-{number}", *side) for number, side in enumerate(sides)]

    def __repr__(self) -> str:
        return f"Drawn({self.question}, {len(self.members)} sides)"


@st.composite
def drawn_sides(draw: st.DrawFn) -> Drawn:
    question = draw(QUESTIONS)
    vectors = [vector_of(side, question) for side in draw(hidden_sides(question, 4))]
    return Drawn(question, [(vector, draw(SCOPES)) for vector in vectors])


@given(drawn_sides(), POLICIES)
def test_a_pair_among_several_is_judged_as_alone(drawn: Drawn, chosen: Policy) -> None:
    question, members = drawn.question, drawn.members
    answer = several(members, question=question, policy=chosen)
    for one in members:
        for other in members:
            scope = one.scope if one.scope is other.scope else Scope.STACK
            alone = judge_vectors(one.vector, other.vector, scope=scope, question=question, policy=chosen)
            assert answer.pair(one.name, other.name) == (alone.guaranteed, alone.expected, alone.possible)


@given(drawn_sides(), POLICIES)
def test_classes_are_those_of_the_keys(drawn: Drawn, chosen: Policy) -> None:
    question, members = drawn.question, drawn.members
    answer = several(members, question=question, policy=chosen)
    for level in (Level.BITWISE, Level.CURVE, Level.STATISTICAL):
        keys: dict[str, set[str]] = {}
        for member in members:
            key = class_key(member.vector, level, answer.scope, question, chosen)
            if key is not None:
                keys.setdefault(key, set()).add(member.name)
        told = [set(item.members) for item in answer.classes if item.level is level]
        assert sorted(map(sorted, told)) == sorted(map(sorted, keys.values()))
        outside = {name for item in answer.outside if item.level is level for name in item.members}
        assert outside == {member.name for member in members} - {name for names in keys.values() for name in names}


def of(*changes: dict[str, Any], question: Question = Question.COMPARE, chosen: Policy = NO_POLICY,
       machine: str = "cpu") -> Several:
    """Several runs named a, b, c, ... that differ from one complete document by ``changes``."""
    base = complete_document(machine=machine)
    facts = [Facts.of(change(base, **one)) for one in changes]
    return several([Member("abcdefghij"[number], project(side, question), side.scope)
                    for number, side in enumerate(facts)], question=question, policy=chosen)


THREADS = {"threads.torch_intraop": 4}


def test_what_separates_says_each_value_and_who_has_it() -> None:
    answer = of({}, {}, THREADS)
    (separation,) = [item for item in answer.separates if item.rule == "torch-threads"]
    assert [names for _, names in separation.values] == [("a", "b"), ("c",)]
    assert (answer.pair("a", "b").guaranteed, answer.pair("a", "c").expected) == (Level.BITWISE, Level.CURVE)
    assert [item.members for item in answer.classes if item.level is Level.BITWISE] == [("a", "b"), ("c",)]


def test_runs_with_one_environment_are_one_group() -> None:
    assert of({}, THREADS, {}).groups == (("a", "c"), ("b",))


def test_a_run_in_no_class_says_what_it_lacks_and_what_fails_on_it() -> None:
    answer = of({}, {"cpu.torch_capability": {"unread": "failed"}}, {"random.hash_seed": "random"},
                question=Question.REPEAT)
    outside = {item.members: item for item in answer.outside if item.level is Level.BITWISE}
    assert "cpu.torch_capability" in outside["b",].lacking
    assert "hash-seed-random" in outside["c",].failing


def test_a_separation_that_follows_from_another_says_so() -> None:
    cards = complete_document(machine="h100")["stack"]["accelerators"]["devices"]
    other = [{**cards[0], "name": "NVIDIA A100-SXM4-80GB", "compute_capability": "8.0", "sm_count": 108}]
    answer = of({}, {"accelerators.devices": other}, machine="h100")
    by_rule = {item.rule: item for item in answer.separates}
    assert by_rule["gpu-sm-count"].implied_by == "gpu-architecture"
    assert by_rule["gpu-architecture"].implied_by is None


def test_a_separation_of_other_runs_is_not_implied() -> None:
    cards = complete_document(machine="h100")["stack"]["accelerators"]["devices"]
    a100 = [{**cards[0], "name": "NVIDIA A100-SXM4-80GB", "compute_capability": "8.0", "sm_count": 108}]
    fewer = [{**cards[0], "sm_count": 114}]
    answer = of({}, {"accelerators.devices": a100}, {"accelerators.devices": fewer}, machine="h100")
    assert {item.rule: item for item in answer.separates}["gpu-sm-count"].implied_by is None


SEEDS = [{"random.seeds": {"torch": number, "numpy": 42, "python": 42}} for number in (1, 2)]


def test_an_undeclared_difference_that_splits_as_the_declared_one_is_named() -> None:
    vary = policy(vary=["seed"])
    moving = of(SEEDS[0], SEEDS[0], {**SEEDS[1], **THREADS}, {**SEEDS[1], **THREADS}, question=Question.REPEAT,
                chosen=vary)
    assert ("torch-threads", "seed", 6, 6) in [tuple(vars(item).values()) for item in moving.confounds]


def test_an_undeclared_difference_that_splits_otherwise_is_none() -> None:
    vary = policy(vary=["seed"])
    crossed = of(SEEDS[0], {**SEEDS[0], **THREADS}, SEEDS[1], {**SEEDS[1], **THREADS}, question=Question.REPEAT,
                 chosen=vary)
    assert crossed.confounds == ()
    assert "torch-threads" in {item.rule for item in crossed.separates}


def test_a_declared_separation_is_marked_and_lowers_nothing() -> None:
    answer = of(*SEEDS, question=Question.REPEAT, chosen=policy(vary=["seed"]))
    assert answer.pair("a", "b").guaranteed is Level.BITWISE
    assert [(item.rule, item.varies) for item in answer.separates] == [("seed", True)]


def test_a_waived_rule_separates_nothing() -> None:
    answer = of({}, THREADS, chosen=Policy.parse({"waive": {"torch-threads": "measured"}}, RULES_BY_ID))
    assert "torch-threads" not in {item.rule for item in answer.separates}


@pytest.mark.parametrize(("changes", "answer"), [
    ([{}, {}], "yes"), ([{}, {}, THREADS], "no"), ([{}, {"cpu.torch_capability": {"unread": "failed"}}], "unknown")],
    ids=["equal", "one differs", "one unread"])
def test_the_answer_is_the_worst_of_any_two(changes: list[dict[str, Any]], answer: str) -> None:
    base = complete_document(machine="cpu")
    facts = [Facts.of(change(base, **one)) for one in changes]
    members = [Member(str(number), project(side), side.scope) for number, side in enumerate(facts)]
    assert several(members, level=Level.BITWISE).answer.value == answer


def test_one_name_twice_is_refused() -> None:
    side = Facts.of(complete_document(machine="cpu"))
    member = Member("a", project(side), side.scope)
    with pytest.raises(ValueError, match="names of their own"):
        several([member, member])


@given(drawn_sides(), POLICIES)
def test_the_json_form_reads_back(drawn: Drawn, chosen: Policy) -> None:
    answer = several(drawn.members, question=drawn.question, policy=chosen)
    assert Several.from_json(json.loads(json.dumps(answer.to_json()))) == answer


@pytest.mark.parametrize("told", [{}, {"separates": 3}, {"expected": [["equal"]]}], ids=["empty", "number", "word"])
def test_an_answer_that_is_none_is_refused(told: dict[str, Any]) -> None:
    with pytest.raises(InvalidDocument, match=r"answer\."):
        Several.from_json(told)


def test_the_json_form_holds_words() -> None:
    told = of({}, THREADS).to_json()
    assert told["expected"][0][1] == "curve"
    assert told["classes"][0]["level"] == "bitwise"
