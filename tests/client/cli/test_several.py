"""``compare`` of more than two sides, ``--vary``, ``--policy`` and ``verify``: what is printed, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from loopback import says, serving

from tests.client.cli.test_compare import document, put

Run = Callable[..., Any]
SEEDS = {"random.seeds": {"torch": 43}}
FEWER = {"threads.torch_intraop": 4}


@pytest.fixture
def four(folder: Path) -> list[str]:
    """Four runs: two alike, one with another seed, one with another seed and fewer threads."""
    changes: dict[str, dict[str, Any]] = {"one": {}, "two": {}, "seed": SEEDS, "both": {**SEEDS, **FEWER}}
    made = []
    for number, (name, facts) in enumerate(changes.items()):
        value = document(name, **facts)
        value["capture"]["observation_id"] = f"00000000-0000-7000-8000-00000000000{number}"
        made.append(put(folder, f"{name}.json", value))
    return made


def test_several_are_drawn_as_a_matrix_with_classes_and_what_separates_them(four: list[str], repro_env: Run) -> None:
    done = repro_env("compare", *four)
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("4 sides, 2 environments. Comparable at level curve? Yes")
    assert "  - A: one.json, two.json, seed.json\n  - B: both.json" in done.out
    assert "torch-threads: 8 (A) against 4 (B)" in done.out
    assert max(map(len, done.out.splitlines())) <= 88


def test_the_worst_answer_of_any_two_is_the_exit_code(four: list[str], repro_env: Run) -> None:
    assert repro_env("compare", *four, "--level", "bitwise").code == 1
    assert repro_env("compare", *four[:3], "--level", "bitwise").code == 0


def test_several_as_json_hold_every_pair(four: list[str], repro_env: Run) -> None:
    told = json.loads(repro_env("compare", *four, "--json").out)
    assert told["groups"] == [["one.json", "two.json", "seed.json"], ["both.json"]]
    assert told["expected"] == [["bitwise", "curve"], ["curve", "bitwise"]]
    assert {item["level"] for item in told["classes"]} == {"bitwise", "curve", "statistical"}


def test_several_as_markdown_are_a_table(four: list[str], repro_env: Run) -> None:
    out = repro_env("compare", *four, "--format", "markdown").out
    assert "|  | A | B |\n|---|---|---|\n| A | bitwise | curve |" in out


def test_several_runs_are_asked_of_the_service(four: list[str], repro_env: Run) -> None:
    told = json.loads(repro_env("compare", *four, "--json").out)
    with serving(says("200 OK", told)) as service:
        done = repro_env("compare", "run-a", "run-b", "run-c", "--server", service.url, "--vary", "seed", "--level",
                         "bitwise")
    (asked,) = service.requests
    assert (asked.method, asked.target) == ("POST", "/v1/comparisons")
    assert json.loads(asked.body) == {"runs": ["run-a", "run-b", "run-c"], "question": "compare", "level": "bitwise",
                                      "vary": ["seed"]}
    assert done.out.startswith("4 sides, 2 environments.")


def test_what_varies_is_set_apart_and_what_moves_with_it_named(four: list[str], repro_env: Run) -> None:
    done = repro_env("compare", "one.json", "both.json", "--question", "repeat", "--vary", "seed")
    assert "threads" in done.out.split("\n\n")[0]
    assert "Differs on purpose" in done.out
    told = json.loads(repro_env("compare", "one.json", "both.json", "--question", "repeat", "--vary", "seed",
                                "--json").out)
    assert [item["rule"] for item in told["confounds"]] == ["torch-threads"]


def test_one_side_twice_is_refused_by_name(four: list[str], repro_env: Run) -> None:
    done = repro_env("compare", four[0], four[0], four[1])
    assert done.code == 65
    assert "names of their own" in done.err


def test_resume_is_asked_of_two(four: list[str], repro_env: Run) -> None:
    assert repro_env("compare", *four, "--question", "resume").code == 64


def test_a_word_that_covers_nothing_is_refused_with_near_ones(four: list[str], repro_env: Run) -> None:
    done = repro_env("compare", four[0], four[1], "--vary", "seeed")
    assert done.code == 65
    assert "--vary: nothing is known to vary under 'seeed'" in done.err
    assert "near: seed" in done.err


@pytest.mark.parametrize(("name", "text", "words"), [
    ("policy.json", '{\n "waive": {\n  "torch-thread": "measured"\n }\n}\n',
     "policy.json, line 3: policy.waive.torch-thread: no such rule (near: torch-threads"),
    ("policy.json", '{\n "waive": {\n  "torch-threads": ""\n }\n}\n', "line 3: policy.waive.torch-threads: expected"),
    ("policy.json", '{\n "waive": {},\n "waive": {}\n}\n', "stands twice in one object"),
    ("policy.json", '{\n "waive": {\n', "expected JSON: "),
    ("policy.json", '{"levels": {\n "gpu-model": {"reason": "x",\n  "expected": "same"}}}', "line 3: policy.levels."),
    ("policy.json", "[\n]\n", "expected an object with name, waive"),
], ids=["unknown rule", "no reason", "twice", "cut", "level", "list"])
def test_a_fault_of_a_policy_is_told_with_its_line(name: str, text: str, words: str, four: list[str], folder: Path,
                                                   repro_env: Run) -> None:
    put(folder, name, text)
    done = repro_env("compare", four[0], four[3], "--policy", name)
    assert done.code == 65
    assert words in done.err


def test_a_policy_waives_and_requires_a_level(four: list[str], folder: Path, repro_env: Run) -> None:
    put(folder, "policy.json", json.dumps({"waive": {"torch-threads": "measured"}, "require": "bitwise"}))
    done = repro_env("compare", four[0], four[3], "--policy", "policy.json")
    assert done.code == 0
    assert "at level bitwise? Yes" in done.out
    assert done.out.startswith("Same environment but for what the policy waives (torch-threads")
    assert "torch-threads: measured" in done.out


@pytest.fixture
def verdict(four: list[str], folder: Path, repro_env: Run) -> dict[str, Any]:
    """The verdict on the first and the last, kept in verdict.json."""
    told: dict[str, Any] = json.loads(repro_env("compare", four[0], four[3], "--json").out)
    put(folder, "verdict.json", told)
    return told


def test_a_verdict_holds_where_nothing_was_touched(verdict: dict[str, Any], repro_env: Run) -> None:
    done = repro_env("verify", "verdict.json")
    assert (done.code, done.out.split(" under")[0]) == (0, "The verdict holds")
    assert json.loads(repro_env("verify", "verdict.json", "--json").out)["holds"] is True


def test_a_level_that_was_raised_by_hand_does_not_hold(verdict: dict[str, Any], folder: Path, repro_env: Run) -> None:
    put(folder, "verdict.json", {**verdict, "expected": "bitwise"})
    done = repro_env("verify", "verdict.json")
    assert done.code == 1
    assert "its reasons make it expected curve, it says bitwise" in done.out


def test_a_reason_that_was_taken_out_does_not_hold(verdict: dict[str, Any], folder: Path, repro_env: Run) -> None:
    whole = {**verdict, "reasons": [], "guaranteed": "bitwise", "expected": "bitwise"}
    put(folder, "verdict.json", whole)
    done = repro_env("verify", "verdict.json")
    assert done.code == 1
    assert "the reason torch-threads is new" in done.out


def test_other_documents_under_the_same_ids_do_not_hold(verdict: dict[str, Any], four: list[str], folder: Path,
                                                        repro_env: Run) -> None:
    was = json.loads((folder / four[0]).read_text())["capture"]
    put(folder, four[0], {**document("one", **FEWER), "capture": was})
    done = repro_env("verify", "verdict.json")
    assert done.code == 1
    assert "one.json: the stack is not the one it was judged by" in done.out


def test_a_verdict_of_another_rule_set_is_held_against_itself(verdict: dict[str, Any], folder: Path,
                                                              repro_env: Run) -> None:
    put(folder, "verdict.json", {**verdict, "ruleset": "2020.1.1"})
    done = repro_env("verify", "verdict.json")
    assert done.code == 2
    assert "which is not at hand" in done.out
    assert "it says the same" in done.out


def test_sides_from_elsewhere_can_be_given(verdict: dict[str, Any], four: list[str], folder: Path,
                                           repro_env: Run) -> None:
    (folder / four[0]).rename(folder / "moved.json")
    assert repro_env("verify", "verdict.json").code == 64
    assert repro_env("verify", "verdict.json", "moved.json", four[3]).code == 0
    assert repro_env("verify", "verdict.json", "moved.json").code == 64


@pytest.mark.parametrize(("text", "words"), [("{}", "expected a verdict"), ("[1", "expected JSON"),
                                             ('{"reasons": []}', "verdict.")], ids=["other", "cut", "half"])
def test_what_is_no_verdict_is_refused(text: str, words: str, folder: Path, repro_env: Run) -> None:
    put(folder, "verdict.json", text)
    done = repro_env("verify", "verdict.json")
    assert done.code == 65
    assert words in done.err


def test_a_later_observation_makes_it_stale(verdict: dict[str, Any], four: list[str], folder: Path,
                                            repro_env: Run) -> None:
    first, later = (json.loads((folder / four[number]).read_text()) for number in (0, 1))
    later["capture"]["run_id"] = first["capture"]["run_id"]
    put(folder, four[0], [first, later])
    done = repro_env("verify", "verdict.json")
    assert done.code == 0
    assert "Stale: 1 later observation of its sides it did not use" in done.out
