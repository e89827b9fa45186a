"""``/v1/projects/{project}``: the baseline that its runs are held against, and the policy they are judged by."""

from __future__ import annotations

import re
from typing import Annotated, Any

from fastapi import APIRouter, Header, Path, Query, Response
from repro_env.comparability.levels import Level, Question
from repro_env.comparability.rules import RULESET
from starlette.concurrency import run_in_threadpool

from .. import answers, baselines, policies, policy_answers, problems
from ..baselines import Baseline
from ..errors import Refusal
from ..queries import MAX_PAGE
from ..tables import PolicyVersion
from .request import (
    BODY_PROBLEMS,
    CHANGE_PROBLEMS,
    PROBLEMS,
    Cursor,
    Database,
    JsonBody,
    Name,
    body_of,
    request_of,
    strict_json,
)

router = APIRouter(tags=["projects"])
Version = Annotated[int, Path(ge=1, le=2**53 - 1, description="counts from 1")]
Versions = Annotated[int, Query(ge=1, le=MAX_PAGE, description="versions on one page")]
IfMatch = Annotated[str | None, Header(max_length=200, description=(
    'the ETag of the version that is to be changed, as in "3"; * for any there is'))]
_TAG = re.compile(r'"([1-9][0-9]{0,15})"', re.ASCII)
POLICY_BODY = body_of(policy_answers.PolicyTerms)


@router.put("/v1/projects/{project}/baseline", response_model=answers.BaselineAnswer, responses=BODY_PROBLEMS,
            openapi_extra=body_of(answers.BaselineRequest))
async def put_baseline(project: Name, body: JsonBody, storage: Database) -> dict[str, Any]:
    """Set the baseline of a project to a run or a manifest."""
    asked = request_of(answers.BaselineRequest, body)
    level = None if asked.level is None else Level.parse(asked.level)
    return baseline_answer(await run_in_threadpool(
        baselines.set_baseline, storage, project, run=asked.run, manifest=asked.manifest, level=level,
        question=Question(asked.question)))


@router.get("/v1/projects/{project}/baseline", response_model=answers.BaselineAnswer, responses=PROBLEMS)
def get_baseline(project: Name, storage: Database) -> dict[str, Any]:
    """Give the baseline of a project."""
    with storage.reading() as session:
        return baseline_answer(baselines.find_baseline(session, project))


@router.put("/v1/projects/{project}/policy", response_model=policy_answers.PolicyAnswer, openapi_extra=POLICY_BODY,
            responses={**CHANGE_PROBLEMS, 201: {"model": policy_answers.PolicyAnswer, "description": "a new version"}})
async def put_policy(project: Name, body: JsonBody, storage: Database, response: Response, if_match: IfMatch = None
                     ) -> dict[str, Any]:
    """Set the policy of a project. What is in force already stays the version it is; anything else is a new one."""
    row, created = await run_in_threadpool(policies.store_policy, storage, project, strict_json(body),
                                           expected_version(if_match), text=body.decode())
    response.status_code = 201 if created else 200
    return policy_answer(row, response)


@router.get("/v1/projects/{project}/policy", response_model=policy_answers.PolicyAnswer, responses=PROBLEMS)
def get_policy(project: Name, storage: Database, response: Response) -> dict[str, Any]:
    """Give the policy of a project that is in force."""
    with storage.reading() as session:
        return policy_answer(policies.find_version(session, project), response)


@router.get("/v1/projects/{project}/policy/versions", response_model=policy_answers.PolicyVersions, responses=PROBLEMS)
def list_versions(project: Name, storage: Database, cursor: Cursor = None, limit: Versions = 50) -> dict[str, Any]:
    """List the versions of a project's policy, newest first."""
    with storage.reading() as session:
        policies.find_version(session, project)
        rows, following = policies.versions_of(session, project, cursor, limit)
    address = f"/v1/projects/{project.replace('+', '%2B')}/policy/versions?limit={limit}&cursor={following}"
    return {"project": project, "versions": [version_summary(row) for row in rows],
            "next": address if following is not None else None}


@router.get("/v1/projects/{project}/policy/versions/{version}", response_model=policy_answers.PolicyAnswer,
            responses=PROBLEMS)
def get_version(project: Name, version: Version, storage: Database, response: Response) -> dict[str, Any]:
    """Give one version of a project's policy."""
    with storage.reading() as session:
        return policy_answer(policies.find_version(session, project, version), response)


def expected_version(header: str | None) -> policies.Expected:
    """Return what ``If-Match`` expects; a tag that no version has matches none."""
    if header is None:
        return policies.Expected()
    if header.strip() == "*":
        return policies.Expected(())
    tags = [tag.strip() for tag in header.split(",")]
    found = tuple(int(match[1]) for tag in tags if (match := _TAG.fullmatch(tag)))
    if not found:
        raise Refusal(problems.OTHER_VERSION, f'expected the ETag of a version, as in "3", got {header!a}',
                      field="If-Match")
    return policies.Expected(found)


def policy_answer(row: PolicyVersion, response: Response) -> dict[str, Any]:
    """Return one version as the API tells it, and name it as the ETag of the answer."""
    response.headers["ETag"] = f'"{row.version}"'
    acting = policies.of_version(row)
    return {**version_summary(row), "project": row.project, "digest": acting.policy.digest, "ruleset": RULESET,
            "policy": policies.content_of(row), "notes": list(acting.notes)}


def version_summary(row: PolicyVersion) -> dict[str, Any]:
    """Return one version as a list shows it."""
    return {"version": row.version, "name": row.name, "digest": row.digest, "received_at": row.received_at}


def baseline_answer(held: Baseline) -> dict[str, Any]:
    """Return a baseline as the API tells it."""
    return {"project": held.project, "run": held.run, "manifest": held.manifest, "level": held.level.word,
            "question": held.question.value, "source": held.source, "updated_at": held.updated_at}
