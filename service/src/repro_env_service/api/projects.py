"""``/v1/projects/{project}/baseline``: what the runs of a project are held against."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from repro_env.canonical import parse
from repro_env.comparability.levels import Level, Question
from repro_env.errors import InvalidDocument
from starlette.concurrency import run_in_threadpool

from .. import answers, problems, projects
from ..errors import Refusal
from ..tables import Project
from .request import BODY_PROBLEMS, PROBLEMS, Database, JsonBody, Name

router = APIRouter(tags=["projects"])
BASELINE_BODY: dict[str, Any] = {"requestBody": {"required": True, "content": {"application/json": {
    "schema": answers.BaselineRequest.model_json_schema()}}}}


@router.put("/v1/projects/{project}/baseline", response_model=answers.BaselineAnswer, responses=BODY_PROBLEMS,
            openapi_extra=BASELINE_BODY)
async def put_baseline(project: Name, body: JsonBody, storage: Database) -> dict[str, Any]:
    """Set the baseline of a project to a run or a manifest."""
    asked = baseline_request(body)
    level = None if asked.level is None else Level.parse(asked.level)
    row = await run_in_threadpool(projects.set_baseline, storage, project, run=asked.run, manifest=asked.manifest,
                                  level=level, question=Question(asked.question))
    return baseline_answer(row)


@router.get("/v1/projects/{project}/baseline", response_model=answers.BaselineAnswer, responses=PROBLEMS)
def get_baseline(project: Name, storage: Database) -> dict[str, Any]:
    """Give the baseline of a project."""
    with storage.reading() as session:
        return baseline_answer(projects.find_baseline(session, project))


def baseline_request(body: bytes) -> answers.BaselineRequest:
    """Read the body as strictly as a document is read."""
    try:
        return answers.BaselineRequest.model_validate(parse(body))
    except InvalidDocument as error:
        raise Refusal(problems.INVALID_JSON, str(error), field=error.field) from error
    except ValidationError as error:
        rows = error.errors(include_url=False, include_context=False, include_input=False)
        raise RequestValidationError([{**row, "loc": ("body", *row["loc"])} for row in rows]) from error


def baseline_answer(row: Project) -> dict[str, Any]:
    """Return a baseline as the API tells it."""
    return {"project": row.name, "run": row.baseline if row.baseline_kind == "run" else None,
            "manifest": row.baseline if row.baseline_kind == "manifest" else None,
            "level": row.level, "question": row.question, "updated_at": row.updated_at}
