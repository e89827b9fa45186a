"""Real reports: no guarantee goes beyond what was seen, first causes are right in most, facts hold to the form."""

from __future__ import annotations

import dataclasses
import json
import typing
from pathlib import Path
from typing import Any

import pytest
import yaml

from repro_env.comparability.judge import judge
from repro_env.comparability.levels import Level, Question
from repro_env.comparability.reading import Facts
from repro_env.comparability.verdict import Verdict
from repro_env.fingerprint.document import Program, Stack

REPORTS = Path(__file__).parents[2] / "reports"
LEVELS = {"bitwise": Level.BITWISE, "same_curve": Level.CURVE, "statistically_equivalent": Level.STATISTICAL,
          "not_comparable": Level.NONE}
LABELS = {row["id"]: row["verdict"] for row in yaml.safe_load((REPORTS / "labels.yaml").read_text(encoding="utf-8"))}
IDS = sorted(LABELS)


def transcription(report: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads((REPORTS / f"{report}.json").read_text(encoding="utf-8"))
    return value


def verdict_on(report: str) -> Verdict:
    facts = transcription(report)
    return judge(Facts.of(facts["left"]), Facts.of(facts["right"]), question=Question(facts["question"]))


def first_cause(verdict: Verdict) -> str:
    return verdict.reasons[0].cause if verdict.reasons else "none"


@pytest.mark.parametrize("report", IDS)
def test_guarantee_stays_within_what_was_seen(report: str) -> None:
    assert verdict_on(report).guaranteed <= LEVELS[LABELS[report]["level"]]


@pytest.mark.parametrize("report", IDS)
def test_verdict_does_not_depend_on_the_side(report: str) -> None:
    facts = transcription(report)
    there, back = (judge(Facts.of(facts[one]), Facts.of(facts[other]), question=Question(facts["question"]))
                   for one, other in (("left", "right"), ("right", "left")))
    assert (there.guaranteed, there.expected, there.possible) == (back.guaranteed, back.expected, back.possible)
    assert [reason.rule for reason in there.reasons] == [reason.rule for reason in back.reasons]


@pytest.mark.parametrize("report", IDS)
def test_transcription_uses_fields_of_the_document(report: str) -> None:
    facts = transcription(report)
    for side in ("left", "right"):
        check(Stack, facts[side].get("stack", {}), "stack")
        check(Program, facts[side].get("program", {}), "program")


def check(kind: Any, value: dict[str, Any], path: str) -> None:
    """Hold the keys of a sparse part against the definition."""
    hints = typing.get_type_hints(kind)
    for name, inner in value.items():
        assert name in hints, f"{path}.{name}"
        for member in dataclass_members(hints[name]):
            for item in inner if isinstance(inner, list) else [inner]:
                if isinstance(item, dict):
                    check(member, item, f"{path}.{name}")


def dataclass_members(hint: Any) -> list[Any]:
    if dataclasses.is_dataclass(hint):
        return [] if hint.__name__ == "Unread" else [hint]
    return [found for argument in typing.get_args(hint) for found in dataclass_members(argument)]


def test_first_causes_and_levels_are_right_in_most() -> None:
    verdicts = {report: verdict_on(report) for report in IDS}
    right = [report for report in IDS if first_cause(verdicts[report]) == LABELS[report]["first_reason"]]
    exact = [report for report in IDS if verdicts[report].expected is LEVELS[LABELS[report]["level"]]]
    assert len(right) >= 60, sorted(set(IDS) - set(right))
    assert len({LABELS[report]["first_reason"] for report in right}) >= 20
    assert len(exact) >= 55, sorted(set(IDS) - set(exact))
