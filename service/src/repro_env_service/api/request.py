"""What routes share: names in paths, levels and questions, cursors, and the bounded reading of a body."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any, TypeVar

from fastapi import Depends, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from repro_env.canonical import parse
from repro_env.comparability.levels import Level, Question
from repro_env.errors import InvalidDocument

from .. import answers, problems
from ..errors import Refusal
from ..ingest import NAME_PATTERN
from ..policies import PolicyWord
from ..queries import MAX_PAGE
from ..settings import Settings
from ..storage import Storage

Name = Annotated[str, Path(pattern=NAME_PATTERN, description="1 to 128 letters, digits or . _ : @ + -")]
ProjectFilter = Annotated[str | None, Query(pattern=NAME_PATTERN, description="only runs of this project")]
Cursor = Annotated[int | None, Query(ge=1, le=2**53 - 1, description="from the `next` of the page before")]
Limit = Annotated[int, Query(ge=1, le=MAX_PAGE, description="runs on one page")]
QuestionWord = Annotated[Question, Query(description="what is asked of the two sides; "
                                                         "resume of one run compares its first start with its last")]
AskedPolicy = Annotated[PolicyWord | None, Query(description=(
    "`project`: the policy of the project, of the observed run where the two belong to two; `none`: the rule set as it "
    "is; without it the policy of the project that both runs belong to, where it has one"))]

#: problems every route may answer, for the OpenAPI document.
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": answers.Problem, "content": {problems.MEDIA_TYPE: {}}, "description": text}
    for status, text in ((404, "unknown resource"), (422, "a field is not what the API says"),
                         (503, "the database does not take the request now"))}
BODY_PROBLEMS: dict[int | str, dict[str, Any]] = {
    **PROBLEMS, **{status: {"model": answers.Problem, "content": {problems.MEDIA_TYPE: {}}, "description": text}
                   for status, text in ((400, "not strict JSON"), (408, "body too slow"), (409, "taken"),
                                        (413, "too large"), (415, "not JSON"))}}
CHANGE_PROBLEMS: dict[int | str, dict[str, Any]] = {
    **BODY_PROBLEMS, 412: {"model": answers.Problem, "content": {problems.MEDIA_TYPE: {}},
                           "description": "another version is in force"}}
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
MAX_WORDS, MAX_WORD = 50, 100


def words_of(vary: Annotated[list[str] | None, Query(max_length=MAX_WORDS, description=(
        "what differs on purpose, beside what the policy says: words such as seed, code, precision.*, with commas "
        "between or given again"))] = None) -> tuple[str, ...]:
    """Return the words for what differs on purpose; an empty one is none."""
    words = tuple(word.strip() for told in vary or () for word in told.split(",") if word.strip())
    if len(words) > MAX_WORDS or any(len(word) > MAX_WORD for word in words):
        raise Refusal(problems.INVALID_REQUEST, f"expected at most {MAX_WORDS} words of at most {MAX_WORD} characters",
                      field="vary")
    return words


Vary = Annotated[tuple[str, ...], Depends(words_of)]


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
Model = TypeVar("Model", bound=BaseModel)


def strict_json(body: bytes) -> Any:
    """Return the JSON value of a body, read as strictly as a document is."""
    try:
        return parse(body)
    except InvalidDocument as error:
        raise Refusal(problems.INVALID_JSON, str(error), field=error.field) from error


def request_of(model: type[Model], body: bytes) -> Model:
    """Return the request that a body is."""
    try:
        return model.model_validate(strict_json(body))
    except ValidationError as error:
        rows = error.errors(include_url=False, include_context=False, include_input=False)
        raise RequestValidationError([{**row, "loc": ("body", *row["loc"])} for row in rows]) from error


def body_of(model: type[BaseModel]) -> dict[str, Any]:
    """Return how the OpenAPI document tells a body that a route reads itself; what the model refers to is put in."""
    schema = model.model_json_schema()
    told = _put_in(schema, schema.pop("$defs", {}))
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": told}}}}


def _put_in(value: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(value, list):
        return [_put_in(item, definitions) for item in value]
    if not isinstance(value, dict):
        return value
    if "$ref" in value:
        return _put_in(definitions[value["$ref"].rpartition("/")[2]], definitions)
    return {name: _put_in(item, definitions) for name, item in value.items()}
