"""What is counted, and as what: pairs of launches, their verdicts, their bits."""

from __future__ import annotations

from typing import Any

import pytest

from repro_env.comparability.levels import Level
from repro_env.selftest.report import Report
from repro_env.selftest.scoring import Figure, Row, figures, rows

from .made import OTHER, STILL, outcome, plain


def judged(*outcomes: Any) -> list[Row]:
    return rows(outcomes)


def seen(found: list[Row], words: str) -> tuple[int, int]:
    figure = next(figure for figure in figures(found, whole=False) if words in figure.name)
    return figure.seen, figure.of


def test_two_launches_of_a_base_are_a_harmless_pair_under_both_questions() -> None:
    found = judged(*plain(**STILL))

    assert [(row.question, row.factor, row.quiet, row.equal, row.settled) for row in found] == [
        ("repeat", "", True, True, True), ("compare", "", True, True, True)]
    assert {row.guaranteed for row in found} == {Level.BITWISE}


def test_equal_facts_with_differing_bits_are_a_wrong_guarantee() -> None:
    found = judged(*plain(**STILL), outcome("seed", OTHER, **STILL))

    assert seen(found, "guaranteed bitwise where bits differ") == (1, 1)


def test_a_difference_that_was_seen_is_no_wrong_guarantee() -> None:
    found = judged(*plain(**STILL), outcome("seed", OTHER, **STILL, **{"random.seeds": {"torch": 1}}))

    assert seen(found, "guaranteed bitwise where bits differ") == (0, 1)
    assert seen(found, "without a reason") == (0, 1)


def test_a_base_that_does_not_repeat_is_counted_apart() -> None:
    found = judged(outcome(**STILL), outcome(digest=OTHER, number=1, **STILL), outcome("nice", **STILL))

    assert not any(row.settled for row in found)
    assert {figure.of for figure in figures(found, whole=False)} == {0}


def test_a_base_that_need_not_repeat_has_no_harmless_pairs() -> None:
    assert not any(row.quiet for row in judged(*plain(base="unsettled", workload="scatter", **STILL)))


def test_what_people_vary_on_purpose_is_judged_as_repeat_only() -> None:
    found = judged(*plain(**STILL), outcome("seed", **STILL), outcome("nice", **STILL))

    assert [row.question for row in found if row.factor == "seed"] == ["repeat"]
    assert [row.question for row in found if row.factor == "nice"] == ["repeat", "compare"]


def test_a_quiet_factor_that_leaves_everything_as_it_was_is_silent() -> None:
    found = judged(*plain(**STILL), outcome("nice", **STILL, **{"system.kernel": "6.9"}))

    assert seen(found, "raise no alarm") == (2, 2)
    assert {row.ignored for row in found if row.factor} == {("system.kernel",)}


@pytest.mark.parametrize("facts", [{"threads.torch_intraop": 4}, {"frameworks.torch.version": {"unread": "failed"}}],
                         ids=["a reason", "an open rule"])
def test_a_quiet_factor_with_a_new_reason_or_a_new_open_rule_is_an_alarm(facts: dict[str, Any]) -> None:
    found = judged(*plain(**STILL), outcome("nice", **{**STILL, **facts}))

    assert seen(found, "raise no alarm")[0] < 2


def test_a_side_against_another_factor_is_judged_against_its_launches() -> None:
    same = {"base": "two-threads", "workload": "linear"}
    one = {**STILL, "variables.values.OMP_NUM_THREADS": "1"}
    found = judged(*plain(**same, **{**STILL, "threads.torch_intraop": 2}), outcome("threads-1", OTHER, **same, **one),
                   outcome("two-routes", OTHER, **same, **STILL))

    row = next(row for row in found if row.factor == "two-routes")
    assert (row.equal, row.guaranteed) == (True, Level.BITWISE)


def test_launches_that_failed_and_bases_that_ran_once_are_not_judged() -> None:
    assert judged(outcome(**STILL), outcome(digest=None, number=1, error="exit code 1", **STILL)) == []


@pytest.mark.parametrize(("seen_of", "bound"), [((0, 100), 0.0295), ((0, 1), 0.95), ((1, 100), None), ((0, 0), None)])
def test_a_count_of_none_has_its_upper_bound(seen_of: tuple[int, int], bound: float | None) -> None:
    found = Figure("x", *seen_of, "0", met=True).bound

    assert found == (None if bound is None else pytest.approx(bound, abs=1e-3))


def test_the_whole_test_needs_thirty_harmless_pairs() -> None:
    found = judged(*plain(**STILL))

    met = {whole: figures(found, whole=whole)[3].met for whole in (False, True)}
    assert met == {False: True, True: False}


def test_a_report_says_what_is_wrong_the_worst_first() -> None:
    report = Report([*plain(**STILL), outcome("nice", **{**STILL, "threads.torch_intraop": 4}),
                     outcome("seed", OTHER, **STILL), outcome("umask", None, error="exit code 3: no such thing")],
                    ["workload scipy: not importable here"], whole=False)

    text = report.text()
    assert [word for word, _ in report.named()] == ["WRONG", "ALARM", "ALARM"]
    assert "1 of 1 (100.0%); aim 0: MISSED" in text
    assert "failed: python arithmetic: umask: exit code 3: no such thing" in text
    assert "left out: workload scipy: not importable here" in text
    assert not report.met
    assert report.to_json()["rows"][0]["guaranteed"] == "bitwise"


def test_a_report_on_nothing_meets_no_aim() -> None:
    assert not Report([], [], whole=False).met


def test_bits_of_an_environment_that_does_not_repeat_are_told_apart() -> None:
    report = Report([outcome(**STILL), outcome(digest=OTHER, number=1, **STILL)], [], whole=False)

    told = "environments that did not give one result: 2 verdicts, 2 on differing bits, 2 of them guaranteed bitwise"
    assert told in report.text()
