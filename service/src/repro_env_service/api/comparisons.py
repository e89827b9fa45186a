"""``/v1/comparisons``: the verdict on two runs or manifests."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from repro_env.comparability.levels import Question

from .. import answers, judging
from ..ingest import NAME_PATTERN
from .request import PROBLEMS, AskedLevel, AskedPolicy, Database, QuestionWord, Vary

router = APIRouter(tags=["comparisons"])
SIDE_PATTERN = r"^(manifest:[A-Za-z0-9][A-Za-z0-9._:@+-]{0,127}/)?" + NAME_PATTERN[1:]
Side = Annotated[str, Query(pattern=SIDE_PATTERN, description="run id, or manifest:name/version")]
SegmentName = Annotated[str | None, Query(max_length=300, description="one start of the run, as /v1/runs/{id} names "
                                                                      "it; without it the whole run")]


def asked_of(level: AskedLevel = None, question: QuestionWord = Question.COMPARE, policy: AskedPolicy = None,
             vary: Vary = ()) -> judging.Asked:
    """Return what a request asks of two sides."""
    return judging.Asked(question, level, policy, vary)


AskedOfSides = Annotated[judging.Asked, Depends(asked_of)]


@router.get("/v1/comparisons", response_model=answers.ComparisonAnswer, responses=PROBLEMS)
def compare(left: Side, right: Side, asked: AskedOfSides, storage: Database, *, left_segment: SegmentName = None,
            right_segment: SegmentName = None) -> dict[str, Any]:
    """Judge two sides: left is what was expected, right what was observed."""
    with storage.reading() as session:
        return comparison_answer(judging.compare(session, left, right, asked, left_segment=left_segment,
                                                 right_segment=right_segment))


def comparison_answer(comparison: judging.Comparison) -> dict[str, Any]:
    """Return a comparison as the API tells it."""
    return {**comparison.verdict.to_json(), "left": comparison.left.summary, "right": comparison.right.summary,
            "same_run": comparison.same_run, "in_force": comparison.in_force.to_json(),
            "results": {"equal": comparison.equal_results, "different": comparison.different_results}}
