"""What routes share: names in paths, levels and questions, cursors, and the bounded reading of a body."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import Depends, Path, Query, Request
from repro_env.comparability.levels import Level, Question

from .. import answers, problems
from ..errors import Refusal
from ..ingest import NAME_PATTERN
from ..queries import MAX_PAGE
from ..settings import Settings
from ..storage import Storage

Name = Annotated[str, Path(pattern=NAME_PATTERN, description="1 to 128 letters, digits or . _ : @ + -")]
ProjectFilter = Annotated[str | None, Query(pattern=NAME_PATTERN, description="only runs of this project")]
Cursor = Annotated[int | None, Query(ge=1, le=2**53 - 1, description="from the `next` of the page before")]
Limit = Annotated[int, Query(ge=1, le=MAX_PAGE, description="runs on one page")]
QuestionWord = Annotated[Question, Query(description="what is asked of the two sides; "
                                                         "resume of one run compares its first start with its last")]

#: problems every route may answer, for the OpenAPI document.
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": answers.Problem, "content": {problems.MEDIA_TYPE: {}}, "description": text}
    for status, text in ((404, "unknown resource"), (422, "a field is not what the API says"),
                         (503, "the database does not take the request now"))}
BODY_PROBLEMS: dict[int | str, dict[str, Any]] = {
    **PROBLEMS, **{status: {"model": answers.Problem, "content": {problems.MEDIA_TYPE: {}}, "description": text}
                   for status, text in ((400, "not strict JSON"), (408, "body too slow"), (409, "taken"),
                                        (413, "too large"), (415, "not JSON"))}}
#: the body of a route that reads raw bytes, for the OpenAPI document.
DOCUMENT_BODY: dict[str, Any] = {"requestBody": {"required": True, "description": "a fingerprint document",
                                                 "content": {"application/json": {"schema": {"type": "object"}}}}}


def storage_of(request: Request) -> Storage:
    """Return the storage the application was made with."""
    storage: Storage = request.app.state.storage
    return storage


Database = Annotated[Storage, Depends(storage_of)]


def level_of(level: Annotated[answers.LevelWord | None, Query(description="level asked for; the question has a "
                                                                          "default")] = None) -> Level | None:
    """Return the level asked for, or ``None`` for the default of the question."""
    return None if level is None else Level.parse(level)


AskedLevel = Annotated[Level | None, Depends(level_of)]


async def json_body(request: Request) -> bytes:
    """Return the body, counted while it streams and bounded in time; refuse what is not declared as plain JSON."""
    settings: Settings = request.app.state.settings
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media != "application/json" and not (media.startswith("application/") and media.endswith("+json")):
        raise Refusal(problems.NOT_JSON, f"expected application/json, got {ascii(media) if media else 'none'}",
                      field="Content-Type")
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        raise Refusal(problems.NOT_JSON, "expected a body without Content-Encoding", field="Content-Encoding")
    try:
        async with asyncio.timeout(settings.body_timeout_s):
            return await _bounded(request, settings.max_body_bytes)
    except TimeoutError as error:
        raise Refusal(problems.TOO_SLOW, f"the body took longer than {settings.body_timeout_s:g} s") from error


async def _bounded(request: Request, limit: int) -> bytes:
    declared = request.headers.get("content-length", "0")
    if declared.isascii() and declared.isdigit() and int(declared[:20]) > limit:
        raise _too_large(limit)
    chunks: list[bytes] = []
    received = 0
    async for chunk in request.stream():
        received += len(chunk)
        if received > limit:
            raise _too_large(limit)
        chunks.append(chunk)
    return b"".join(chunks)


def _too_large(limit: int) -> Refusal:
    return Refusal(problems.TOO_LARGE, f"expected at most {limit} bytes")


JsonBody = Annotated[bytes, Depends(json_body)]
