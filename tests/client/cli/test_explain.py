"""``repro-env explain``: rules, causes and layers in words, with real values and the nearest name for a wrong one."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from repro_env.cli import explain
from repro_env.comparability.causes import CAUSES
from repro_env.comparability.layers import LAYERS
from repro_env.comparability.rules import RULES

Run = Callable[..., Any]


def test_a_rule_is_told_with_its_effect_remedy_source_and_facts(repro_env: Run) -> None:
    done = repro_env("explain", "torch-threads")
    assert (done.code, done.err) == (0, "")
    for words in ("torch-threads (threads)", "says       8 threads against 4", "cause      thread_count: another",
                  "remains    leaves curve", "how large  sums are split", "to mend    set the same number",
                  "known      proven; measured:", "explains   torch-host-threads", "threads.torch_intraop",
                  "if unread  run the program"):
        assert words in done.out


def test_several_rules_are_told_one_after_the_other(repro_env: Run) -> None:
    told = repro_env("explain", "torch-threads", "torch-host-threads").out
    assert told.index("torch-threads (threads)") < told.index("torch-host-threads (threads)")
    assert "follows    torch-threads" in told


@pytest.mark.parametrize(("name", "title"), [
    ("thread_count", f"cause thread_count: {CAUSES['thread_count']}"),
    ("threads", f"layer threads: {LAYERS['threads']}")])
def test_a_cause_and_a_layer_are_told_by_their_rules(name: str, title: str, repro_env: Run) -> None:
    told = repro_env("explain", name).out
    assert told.startswith(title + "\n")
    named = {rule.id for rule in RULES if name in (rule.cause, rule.layer)}
    assert set(re.findall(r"^([\w.-]+): (?:leaves|expected|a note)", told, re.MULTILINE)) == named
    assert "8 threads against 4" in told


def test_a_name_of_a_cause_and_of_a_layer_is_told_as_both(repro_env: Run) -> None:
    told = repro_env("explain", "driver").out
    assert "cause driver:" in told
    assert "layer driver:" in told


def test_a_rule_that_shares_its_name_with_a_cause_is_told_first(repro_env: Run) -> None:
    told = repro_env("explain", "seed").out
    assert told.startswith("seed (program)\n")
    assert "\ncause seed: another seed\n" in told


def test_a_cause_that_no_rule_has_is_told_as_such() -> None:
    assert "Nothing that is judged today" in explain.overview("cause sampling: x", [], 80)


@pytest.mark.parametrize(("name", "near"), [("torch-thread", "torch-threads"), ("gpu", "gpu-architecture"),
                                            ("thread_cont", "thread_count"),
                                            ("precison", "precision"), ("TF32", "tf32-")])
def test_a_wrong_name_is_answered_with_the_nearest(name: str, near: str, repro_env: Run) -> None:
    done = repro_env("explain", name)
    assert (done.code, done.out, len(done.lines)) == (64, "", 1)
    assert f"explain: there is no rule, cause or layer {name!r}; near: " in done.err
    assert near in done.err


def test_a_name_like_no_other_is_answered_with_where_they_are_listed(repro_env: Run) -> None:
    assert "repro-env rules lists them" in repro_env("explain", "zzzzzz").err


def test_no_name_is_wrong_usage(repro_env: Run) -> None:
    done = repro_env("explain")
    assert done.code == 64
    assert "expected NAME..., got none" in done.err


def test_json_is_a_list_with_each_rule_once(repro_env: Run) -> None:
    told = repro_env("explain", "torch-threads", "threads", "--json").json()
    names = [row["id"] for row in told]
    assert len(names) == len(set(names))
    assert set(names) == {rule.id for rule in RULES if rule.layer == "threads"}
    assert told[0]["example"] == "8 threads against 4"
    assert "threads.torch_intraop" in told[0]["reads"]


@pytest.mark.parametrize("columns", [40, 88])
def test_lines_fit(columns: int) -> None:
    for rule in RULES:
        title, *lines = explain.explain(rule, columns).splitlines()
        assert title == f"{rule.id} ({rule.layer})"
        assert [line for line in lines if len(line) > columns and len(line[13:].split()) > 1] == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_every_rule_has_an_example_with_values_and_facts_it_reads(rule: Any) -> None:
    told = explain.examples()[rule.id]
    assert told["example"]
    assert "{" not in told["example"]
    assert told["reads"] or rule.id == "ranks-differ"


def test_no_example_is_of_a_rule_that_is_gone() -> None:
    assert set(explain.examples()) == {rule.id for rule in RULES}


def test_every_layer_has_words() -> None:
    assert {rule.layer for rule in RULES} <= set(LAYERS)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_what_remains_names_the_levels(rule: Any) -> None:
    said = explain.remains(rule)
    if rule.confidence == "suspected":
        assert said == "a note, lowers nothing"
    else:
        assert rule.expected.word in said
        assert (rule.guaranteed.word in said) or "nothing guaranteed" in said
        assert ("possible at best" in said) == (rule.possible.word != "bitwise")
