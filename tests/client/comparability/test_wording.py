"""How findings are put: sides as people see them, grammar, and values that stay readable."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from documents import change, complete_document

from repro_env.comparability.judge import judge
from repro_env.comparability.reading import Facts
from repro_env.comparability.rules import RULES_BY_ID
from repro_env.comparability.wording import brief, failing, model_name, said, singular
from repro_env.render import render_markdown, render_text

PLANTED = {
    rule: line for path in sorted((Path(__file__).parent / "planted").glob("[!_]*.py"))
    for rule, line in getattr(importlib.import_module(f"tests.client.comparability.planted.{path.stem}"), "PLANTED",
                              {}).items()}


@pytest.mark.parametrize(("details", "detail", "side"), [
    ({"expected": "x is on"}, "x is on", "(left side)"), ({"observed": "x is on"}, "x is on", "(right side)"),
    ({"expected": "x is on", "observed": "x is on"}, "x is on", "(both sides)"),
    ({"expected": "x is 1", "observed": "x is 2"}, "x is 1 (left side), x is 2", "(right side)")],
    ids=["left", "right", "both alike", "both apart"])
def test_a_failure_is_told_with_the_side_it_is_on(details: dict[str, str], detail: str, side: str) -> None:
    assert failing(details) == (detail, side)


@pytest.mark.parametrize(("text", "said"), [
    ("1 torch threads against 8", "1 torch thread against 8"),
    ("8 torch threads against 1", "8 torch threads against 1"),
    ("1 ranks against 2", "1 rank against 2"), ("a step of 1 passes of 64", "a step of 1 pass of 64"),
    ("11 threads against 21 threads", "11 threads against 21 threads"), ("torch 2.1 devices", "torch 2.1 devices"),
    ("NTHREADS=1 threads", "NTHREADS=1 threads"), ("1 loader workers against 4", "1 loader worker against 4")])
def test_one_thing_is_in_the_singular(text: str, said: str) -> None:
    assert singular(text) == said


@pytest.mark.parametrize(("text", "words"), [
    ("compiled off against on", "compiled: off against on"),
    ("oneDNN in torch on against off", "oneDNN in torch: on against off"),
    ("deterministic mode strict against off", "deterministic mode strict against off"),
    ("denormals (CPU) on against off", "denormals (CPU): on against off"),
    ("already told: off against on", "already told: off against on"), ("off against on", "off against on"),
    ("1 ranks kept off against on", "1 rank kept: off against on")])
def test_a_switch_stands_after_a_colon(text: str, words: str) -> None:
    assert said(text) == words


def test_digests_and_revisions_are_cut_for_people() -> None:
    left, right = "sha256:" + "1" * 64, "sha256:" + "2" * 64
    assert brief(f"data set {left} against {right}.", left, right) == (
        "data set sha256:111111111111 against sha256:222222222222")
    assert brief(f"commit {'a' * 40} against {'b' * 40}", "a" * 40, "b" * 40) == (
        "commit aaaaaaaaaaaa against bbbbbbbbbbbb")


def test_long_enumerations_are_reduced_to_what_differs() -> None:
    left = ", ".join(f"setting-{number}=a-rather-long-value" for number in range(6))
    right = left.replace("setting-3=a", "setting-3=b")
    assert brief(f"built with {left} against {right}", left, right) == (
        "built with setting-3=a-rather-long-value against setting-3=b-rather-long-value")
    assert brief(f"built with {left} against {left}, x=1", left, f"{left}, x=1") == (
        "built with nothing further against x=1")


def test_a_long_value_that_differs_is_cut_and_says_so() -> None:
    left, right = "a" * 300, "b" * 300
    told = brief(f"{left} against {right}", left, right)
    assert len(told) < 200
    assert told.count("…") == 2


@pytest.mark.parametrize("rule", PLANTED)
def test_sides_are_left_and_right_and_no_two_ends_share_their_words(rule: str) -> None:
    planted = PLANTED[rule]
    base = complete_document("process", machine=planted.machine)
    verdict = judge(Facts.of(change(base, **planted.left)), Facts.of(change(base, **planted.right)),
                    question=RULES_BY_ID[rule].questions[-2])
    text = render_text(verdict, columns=1000)
    for words in (text, render_markdown(verdict)):
        assert "observed side" not in words
        assert "expected side" not in words
        assert " on on " not in words
    ends = [line.split(maxsplit=2)[2] for line in text.splitlines()
            if line.startswith(("  expected ", "  guaranteed ", "  possible "))]
    assert len(set(ends)) == 3


@pytest.mark.parametrize(("model", "name"), [
    ("a100", "A100"), ("2060 super", "2060 Super"), ("titan v", "Titan V"), ("m2 pro", "M2 Pro"),
    ("AMD Radeon Pro 5500M", "AMD Radeon Pro 5500M"), ("rtx 6000 ada", "RTX 6000 Ada"), ("gfx1151", "gfx1151")])
def test_a_model_is_named_as_its_maker_names_it(model: str, name: str) -> None:
    assert model_name(model) == name
