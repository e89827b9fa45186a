"""``/v1/comparisons``: the verdict on two runs or manifests, and what holds among several."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from repro_env.comparability.levels import Level, Question
from starlette.concurrency import run_in_threadpool
from starlette.responses import JSONResponse

from .. import answers, judging, several
from ..several_answers import SIDE_PATTERN, SeveralAnswer, SeveralRequest
from .request import (
    BODY_PROBLEMS,
    PROBLEMS,
    AskedLevel,
    AskedPolicy,
    Database,
    JsonBody,
    QuestionWord,
    Vary,
    body_of,
    request_of,
)

router = APIRouter(tags=["comparisons"])
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


@router.post("/v1/comparisons", response_model=SeveralAnswer, responses=BODY_PROBLEMS,
             openapi_extra=body_of(SeveralRequest))
async def compare_several(body: JsonBody, storage: Database) -> JSONResponse:
    """Judge several sides: every pair, the classes of each level, what separates them, what those in no class lack.

    Sides with equal environments form one group, and the ends of pairs are rows over groups.
    """
    asked = request_of(SeveralRequest, body)
    level = None if asked.level is None else Level.parse(asked.level)
    wanted = several.AskedOfSeveral(tuple(asked.runs), Question(asked.question), level, asked.policy,
                                    tuple(asked.vary), asked.matrix)
    # plain JSON, made where it is computed: checking a million ends against a model costs more than judging them
    return await run_in_threadpool(lambda: JSONResponse(several.compare_several(storage, wanted)))


def comparison_answer(comparison: judging.Comparison) -> dict[str, Any]:
    """Return a comparison as the API tells it."""
    return {**comparison.verdict.to_json(), "left": comparison.left.summary, "right": comparison.right.summary,
            "same_run": comparison.same_run, "in_force": comparison.in_force.to_json(),
            "results": {"equal": comparison.equal_results, "different": comparison.different_results}}
