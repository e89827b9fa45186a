"""A rule set is refused when it is loaded where ids repeat, lead nowhere, or subsume each other in a ring."""

from __future__ import annotations

from dataclasses import replace

import pytest

from repro_env.comparability.levels import Level
from repro_env.comparability.rule import AnyRule, by_id
from repro_env.comparability.rules import RULES, RULES_BY_ID

ONE, TWO, THREE = (replace(RULES[0], id=name, subsumes=()) for name in ("one", "two", "three"))


def chain(*links: tuple[AnyRule, str]) -> list[AnyRule]:
    return [replace(rule, subsumes=(lesser,)) for rule, lesser in links]


def test_rules_are_found_by_id() -> None:
    assert by_id(RULES) == RULES_BY_ID


def test_a_ring_is_refused_with_its_rules_in_order() -> None:
    with pytest.raises(ValueError, match="in a ring: one -> two -> three -> one"):
        by_id(chain((ONE, "two"), (TWO, "three"), (THREE, "one")))


def test_a_rule_that_subsumes_itself_is_a_ring() -> None:
    with pytest.raises(ValueError, match="in a ring: one -> one"):
        by_id(chain((ONE, "one")))


def test_two_ways_to_one_rule_are_no_ring() -> None:
    assert list(by_id([replace(ONE, subsumes=("two", "three")), replace(TWO, subsumes=("three",)), THREE])) == [
        "one", "two", "three"]


def test_a_rule_that_subsumes_what_is_no_rule_is_refused() -> None:
    with pytest.raises(ValueError, match="rule one subsumes 'four', which is no rule"):
        by_id(chain((ONE, "four")))


def test_an_id_that_stands_twice_is_refused() -> None:
    with pytest.raises(ValueError, match="rule one stands twice"):
        by_id([ONE, ONE])


@pytest.mark.parametrize(("changed", "words"), [
    ({"cause": "magic"}, "not in the vocabulary"), ({"confidence": "sure"}, "is none of"),
    ({"guaranteed": Level.BITWISE, "expected": Level.NONE}, "guaranteed <= expected"),
    ({"confidence": "suspected"}, "lowers no end")], ids=["cause", "confidence", "order", "suspected"])
def test_a_rule_that_breaks_the_form_is_refused(changed: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        replace(ONE, **changed)
