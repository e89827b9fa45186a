"""A policy waives, weighs otherwise or lets vary, each for a reason; what is wrong in one is refused by its field."""

from __future__ import annotations

from typing import Any

import pytest
from documents import change, complete_document

from repro_env.comparability.judge import judge
from repro_env.comparability.levels import Level, Question
from repro_env.comparability.policy import NO_POLICY, Policy
from repro_env.comparability.reading import Facts
from repro_env.comparability.rule import Distinction
from repro_env.comparability.rules import RULES, RULES_BY_ID
from repro_env.comparability.varying import WORDS, UnknownWord, rules_of_word
from repro_env.comparability.vector import class_key, project
from repro_env.errors import InvalidDocument

THREADS = {"threads.torch_intraop": 4}
SEED = {"random.seeds": {"torch": 43, "numpy": 42, "python": 42}}


def policy(**told: Any) -> Policy:
    return Policy.parse({"name": "lab", **told}, RULES_BY_ID)


def sides(**right: Any) -> tuple[Facts, Facts]:
    base = complete_document(machine="cpu")
    return Facts.of(base), Facts.of(change(base, **right))


@pytest.mark.parametrize(("told", "field", "words"), [
    ([], "policy", "expected an object"),
    ({"waived": {}}, "policy.waived", "unknown field"),
    ({"waive": {"torch-thread": "x"}}, "policy.waive.torch-thread", "near: torch-threads"),
    ({"waive": {"torch-threads": " "}}, "policy.waive.torch-threads", "expected a reason in words"),
    ({"waive": ["torch-threads"]}, "policy.waive", "expected an object by rule id"),
    ({"levels": {"torch-threads": {"expected": "bitwise"}}}, "policy.levels.torch-threads.reason", "expected a reason"),
    ({"levels": {"torch-threads": {"reason": "x"}}}, "policy.levels.torch-threads", "at least one of guaranteed"),
    ({"levels": {"torch-threads": {"expected": "same", "reason": "x"}}}, "policy.levels.torch-threads.expected",
     "bitwise, curve, statistical, none"),
    ({"levels": {"torch-threads": {"guaranteed": "bitwise", "expected": "curve", "reason": "x"}}},
     "policy.levels.torch-threads", "guaranteed <= expected <= possible"),
    ({"waive": {"torch-threads": "x"}, "levels": {"torch-threads": {"guaranteed": "none", "reason": "x"}}},
     "policy.levels.torch-threads", "waived too"),
    ({"vary": "seed"}, "policy.vary", "expected a list of words"),
    ({"vary": ["sead"]}, "policy.vary", "near: seed"),
    ({"vary": ["cudnn-autotune"]}, "policy.vary", "holds or fails on one side alone"),
    ({"require": "identical"}, "policy.require", "bitwise, curve, statistical, none"),
    ({"baseline": 7}, "policy.baseline", "expected text"),
], ids=lambda value: value if isinstance(value, str) else None)
def test_what_is_wrong_is_refused_with_its_field_and_what_was_expected(told: Any, field: str, words: str) -> None:
    with pytest.raises(InvalidDocument, match=words) as caught:
        Policy.parse(told, RULES_BY_ID)
    assert caught.value.field == field


def test_a_policy_reads_back_what_it_says() -> None:
    told = {"name": "lab", "waive": {"torch-threads": "measured: equal"}, "vary": ["seed", "precision.*"],
            "levels": {"gpu-model": {"guaranteed": "bitwise", "expected": "bitwise", "possible": "bitwise",
                                     "reason": "measured: 20 of 20 equal"}},
            "require": "curve", "baseline": "run-1"}
    assert Policy.parse(told, RULES_BY_ID).to_json() == told
    assert NO_POLICY.to_json() == {"name": "none"}


def test_the_digest_is_over_what_acts_and_not_over_the_words_why() -> None:
    one = policy(waive={"torch-threads": "measured"}, require="curve")
    assert one.digest == policy(waive={"torch-threads": "they never matter"}, baseline="run-1").digest
    assert one.digest != policy(waive={"openmp-threads": "measured"}).digest
    assert one.digest != policy(levels={"torch-threads": {"guaranteed": "none", "reason": "measured"}}).digest
    assert policy(vary=["seed"]).digest != NO_POLICY.digest == Policy(name="other").digest


def test_a_waived_rule_and_its_twin_lower_nothing_and_are_named_with_the_reason() -> None:
    left, right = sides(**THREADS)
    verdict = judge(left, right, policy=policy(waive={"torch-threads": "measured: equal"}))
    assert (verdict.guaranteed, verdict.reasons) == (Level.BITWISE, ())
    assert dict(verdict.waived)["torch-threads"] == "measured: equal"
    assert verdict.terms["waive"] == {"torch-threads": "measured: equal"}


def test_changed_levels_act_on_the_three_ends_and_on_keys() -> None:
    left, right = sides(**THREADS)
    measured = policy(levels={"torch-threads": {"guaranteed": "none", "expected": "none", "reason": "a lab's rule"}})
    assert judge(left, right).expected is Level.CURVE
    assert judge(left, right, policy=measured).expected is Level.NONE
    keys = {class_key(project(side), Level.STATISTICAL, side.scope, policy=measured) for side in (left, right)}
    assert len(keys) == 2
    assert len({class_key(project(side), Level.STATISTICAL, side.scope) for side in (left, right)}) == 1


@pytest.mark.parametrize("word", [*WORDS, *dict.fromkeys(rule.layer for rule in RULES if isinstance(rule, Distinction)),
                                  "precision.*", "torch-*"])
def test_every_word_covers_distinctions_only(word: str) -> None:
    assert all(isinstance(RULES_BY_ID[rule], Distinction) for rule in rules_of_word(word))


def test_near_words_are_named_once() -> None:
    with pytest.raises(UnknownWord) as caught:
        rules_of_word("sed")
    near = str(caught.value).rpartition("near: ")[2].split(", ")
    assert len(near) == len(set(near)) > 1


def test_a_word_that_covers_nothing_is_refused_with_near_ones() -> None:
    with pytest.raises(UnknownWord, match=r"near: .*precision"):
        rules_of_word("precison.*")


def test_what_varies_on_purpose_is_listed_and_lowers_nothing() -> None:
    left, right = sides(**SEED)
    verdict = judge(left, right, question=Question.REPEAT, policy=policy(vary=["seed"]))
    assert (verdict.guaranteed, verdict.reasons, verdict.confounds) == (Level.BITWISE, (), ())
    (varied,) = verdict.varied
    assert varied.word == "seed"
    assert [difference.rule for difference in varied.differences] == ["seed"]
    assert "43" in varied.differences[0].why


def test_an_undeclared_difference_beside_a_declared_one_is_a_confound() -> None:
    left, right = sides(**SEED, **THREADS)
    verdict = judge(left, right, question=Question.REPEAT, policy=policy(vary=["seed"]))
    assert verdict.expected is Level.CURVE
    assert [(item.rule, item.moves_with) for item in verdict.confounds] == [("torch-threads", ("seed",))]


def test_without_a_declared_difference_nothing_is_confounded() -> None:
    left, right = sides(**THREADS)
    verdict = judge(left, right, question=Question.REPEAT, policy=policy(vary=["seed"]))
    assert verdict.confounds == ()
    assert [(item.word, item.differences) for item in verdict.varied] == [("seed", ())]


def test_a_declared_variable_that_was_not_read_is_said() -> None:
    left, right = sides(**{"cpu.torch_capability": {"unread": "failed"}})
    verdict = judge(left, right, policy=policy(vary=["cpu"]))
    assert "torch-capability" in verdict.varied[0].unread
    assert verdict.guaranteed is Level.BITWISE


def test_compare_lists_what_the_program_varies_and_judges_none_of_it() -> None:
    left, right = sides(**SEED, **{"source.commit": "b" * 40})
    verdict = judge(left, right)
    assert (verdict.guaranteed, verdict.confounds) == (Level.BITWISE, ())
    assert {item.rule for item in verdict.varied[0].differences} >= {"seed", "commit"}
    assert verdict.varied[0].word == "program"
