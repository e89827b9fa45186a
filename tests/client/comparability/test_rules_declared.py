"""What only a person can state of a program: where it is judged, by which words, and what does not count."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from documents import change, complete_document, distribution, framework

from repro_env import declared as stating
from repro_env.comparability.bystanders import stands_by
from repro_env.comparability.judge import judge
from repro_env.comparability.levels import Level, Question
from repro_env.comparability.reading import Facts
from repro_env.comparability.rules import RULES_BY_ID
from repro_env.comparability.rules.declared import FACTS, INERT, NAMES, WORDS, canonical
from repro_env.comparability.rules.distributions import WATCHED
from repro_env.comparability.verdict import Verdict
from tests.client.comparability.planted import program
from tests.client.comparability.planted.planting import Planted


def repeat(left: dict[str, Any], right: dict[str, Any], question: Question = Question.REPEAT, **common: Any) -> Verdict:
    base = complete_document("exit", **common)
    return judge(Facts.of(change(base, **left)), Facts.of(change(base, **right)), question=question)


def stated(left: dict[str, str] | None, right: dict[str, str] | None) -> Verdict:
    return repeat({"declared.values": left}, {"declared.values": right})


def rules(verdict: Verdict) -> set[str]:
    return {reason.rule for reason in verdict.reasons}


def test_every_fact_that_may_be_declared_is_judged_as_a_fact() -> None:
    assert set(stating.FORMS) == FACTS


@pytest.mark.parametrize("name", ["layout.micro_batch", "program.layout.micro_batch", "data.loader_workers",
                                  "random.seeds.numpy"])
def test_a_declared_fact_is_not_judged_a_second_time_by_its_name(name: str) -> None:
    verdict = stated({name: "4"}, {name: "8"})
    assert verdict.reasons == ()


IN_PROCESS = {rule: planted for rule, planted in program.PLANTED.items() if rule != "generators"}


@pytest.mark.parametrize("planted", IN_PROCESS.values(), ids=IN_PROCESS)
def test_what_repeat_finds_resume_finds(planted: Planted) -> None:
    found = [rules(repeat(planted.left, planted.right, question)) for question in (Question.REPEAT, Question.RESUME)]
    assert found[0] == found[1] != set()


@pytest.mark.parametrize("planted", program.PLANTED.values(), ids=program.PLANTED)
def test_compare_asks_nothing_of_the_program(planted: Planted) -> None:
    assert not any(Question.COMPARE not in RULES_BY_ID[rule].questions
                   for rule in rules(repeat(planted.left, planted.right, Question.COMPARE)))


@pytest.mark.parametrize("name", ["n_jobs", "n-jobs", "N_JOBS", "sklearn.n_jobs"])
def test_a_word_is_known_however_it_is_written(name: str) -> None:
    assert rules(stated({name: "1"}, {"n_jobs": "4"})) == {"parallel-jobs", "parallel-jobs-vary"}


@pytest.mark.parametrize("word", WORDS, ids=lambda word: word.id)
def test_a_side_that_states_nothing_is_open_and_not_different(word: Any) -> None:
    verdict = stated({word.names[0]: "1"}, None)
    assert word.id not in rules(verdict)
    assert word.id in {row.rule for row in verdict.assumes}
    assert verdict.expected is Level.BITWISE
    assert verdict.guaranteed <= word.guaranteed


@pytest.mark.parametrize("name", sorted(INERT))
def test_settings_that_move_name_or_print_are_ignored(name: str) -> None:
    verdict = stated({name: "a"}, {name: "b"})
    assert (verdict.guaranteed, verdict.reasons) == (Level.BITWISE, ())
    assert [row.path for row in verdict.ignored] == [f"declared.values.{name}"]


def test_no_name_is_both_judged_and_ignored() -> None:
    assert not NAMES & set(INERT)


@pytest.mark.parametrize(("one", "other"), [("1e-3", "0.001"), ("True", "true"), ("4", "4.0"), ("0.10", ".1")])
def test_one_value_in_other_words_is_equal(one: str, other: str) -> None:
    assert stated({"rate": one}, {"rate": other}).reasons == ()


@pytest.mark.parametrize("text", ["123456789012345678901", "v1.0", "1.2.3", "0x10", "2026-01-31", "sha256:12"])
def test_what_is_no_number_stays_as_it_is(text: str) -> None:
    assert canonical(text) == text


@pytest.mark.parametrize(("one", "other"), [("foreach", "for-loop"), ("default", "foreach")])
def test_optimizer_steps_that_give_equal_bits_are_one(one: str, other: str) -> None:
    """Measured: foreach and the loop agree bit for bit; a fused step does not."""
    assert stated({"adam_impl": one}, {"adam_impl": other}).reasons == ()
    assert rules(stated({"adam_impl": one}, {"adam_impl": "fused"})) == {"optimizer-implementation"}


@pytest.mark.parametrize("told", [{"worker_randomness": "none"}, {"data.worker_seeding": "per-sample"}])
def test_workers_do_not_count_where_no_sample_depends_on_them(told: dict[str, str]) -> None:
    """Measured over three epochs with 0, 1, 2 and 4 workers."""
    verdict = repeat({"data.loader_workers": 0}, {"data.loader_workers": 4}, **{"declared.values": told})
    assert (verdict.guaranteed, verdict.reasons) == (Level.BITWISE, ())
    assert rules(repeat({"data.loader_workers": 0}, {"data.loader_workers": 4})) == {"loader-workers"}


@pytest.mark.parametrize(("torch", "differs"), [("1.8.1", True), ("1.9.0", False), ("2.13.0", False)])
def test_default_seeding_of_workers_is_that_of_the_version(torch: str, differs: bool) -> None:
    verdict = repeat({}, {"frameworks.torch": framework(torch)})
    assert ("worker-seeding" in rules(verdict)) is differs


@pytest.mark.parametrize("device", ["cuda", "mps", "xpu"])
def test_a_device_seeded_like_torch_is_no_other_seed(device: str) -> None:
    """torch.manual_seed seeds the devices as well."""
    assert repeat({}, {f"random.seeds.{device}": 42}).reasons == ()
    assert rules(repeat({f"random.seeds.{device}": 42}, {f"random.seeds.{device}": 1})) == {"seed"}


@pytest.mark.parametrize("source", ["numpy", "python"])
def test_a_generator_whose_seed_nobody_states_leaves_a_repetition_open(source: str) -> None:
    seeds = {name: 42 for name in ("numpy", "python", "torch") if name != source}
    side = Facts.of(complete_document("exit", **{"random.seeds": seeds, "random.generators": None}))
    verdict = judge(side, side, question=Question.REPEAT)
    assert (verdict.guaranteed, verdict.expected) == (Level.STATISTICAL, Level.BITWISE)
    assert {path for row in verdict.assumes for path in row.lacking["expected"]} == {f"random.seeds.{source}"}
    assert judge(side, side).guaranteed is Level.BITWISE


@pytest.mark.parametrize(("source", "kinds"), [
    ("numpy", ["torch-philox"]), ("python", ["numpy-legacy", "torch-mt19937"])])
def test_a_generator_that_is_not_in_use_needs_no_seed(source: str, kinds: list[str]) -> None:
    seeds = {name: 42 for name in ("numpy", "python", "torch") if name != source}
    side = Facts.of(complete_document("exit", **{"random.seeds": seeds, "random.generators": kinds}))
    assert f"random.seeds.{source}" not in {
        path for row in judge(side, side, question=Question.REPEAT).assumes for path in row.lacking["expected"]}


def test_two_runs_that_failed_guarantee_nothing() -> None:
    verdict = stated({"exit_status": "1"}, {"exit_status": "1"})
    assert (verdict.guaranteed, verdict.expected, verdict.reasons[0].rule) == (Level.NONE, Level.NONE, "program-failed")


@pytest.mark.parametrize(("left", "right"), [((16, None), (32, None)), ((None, 1), (None, 4))])
def test_half_of_the_batch_split_is_enough_to_see_a_difference(left: Any, right: Any) -> None:
    unread = {"unread": "not-reported"}
    sides = [{"layout.micro_batch": micro or unread, "layout.accumulation": steps or unread}
             for micro, steps in (left, right)]
    assert repeat(*sides).reasons[0].cause == "batch_split"


def with_package(name: str, version: str, question: Question) -> Verdict:
    base = complete_document()
    installed = base["stack"]["distributions"]["installed"]
    sides = [change(base, **{"distributions.installed": [*installed, distribution(name, number)]})
             for number in ("1.0", version)]
    return judge(*(Facts.of(side) for side in sides), question=question)


@pytest.mark.parametrize("name", ["my-project", "shap", "networkx"])
def test_a_package_that_nobody_vouches_for_counts_in_a_repetition(name: str) -> None:
    verdict = with_package(name, "1.1", Question.REPEAT)
    assert rules(verdict) == {"other-packages"}
    assert (verdict.guaranteed, verdict.expected) == (Level.STATISTICAL, Level.BITWISE)
    assert not with_package(name, "1.1", Question.COMPARE).reasons


@pytest.mark.parametrize("name", [
    "requests", "types-requests", "pytest-cov", "wandb", "threadpoolctl", "joblib", "tqdm", "matplotlib",
    "google-cloud-storage", "ipykernel", "repro-env", "pip", "nbformat"])
def test_tools_beside_a_computation_do_not_count(name: str) -> None:
    verdict = with_package(name, "1.1", Question.REPEAT)
    assert (verdict.guaranteed, verdict.reasons) == (Level.BITWISE, ())
    assert [row.path for row in verdict.ignored] == ["distributions.installed"]


def test_no_package_that_a_rule_watches_is_called_a_tool() -> None:
    """Plugins of pytest are tools but for those that reorder tests; a rule comes before the list of tools."""
    assert not [name for name in WATCHED if stands_by(name) and not name.startswith("pytest-")]


def test_the_page_on_what_can_be_stated_names_every_word() -> None:
    page = (Path(__file__).parents[3] / "docs" / "stating.md").read_text(encoding="utf-8")
    assert not [name for name in (*NAMES, *INERT, *FACTS) if f"`{name}" not in page and name != "mkl-warm-up"]
    assert not [word.effect for word in WORDS if f"| {word.expected.word} | {word.effect} |" not in page]
