"""Every error answer is RFC 9457 ``application/problem+json`` with a stable ``type``; this module owns the kinds.

Details name fields and what was expected. They never carry internals of the service.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from repro_env.errors import InvalidDocument, UnknownSchema
from sqlalchemy.exc import OperationalError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Match, Route

from .errors import ProblemType, Refusal

log = logging.getLogger(__name__)

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_S = "5"

INVALID_JSON = ProblemType("invalid-json", 400, "The body is not strict JSON",
                           "send UTF-8 JSON with unique keys and finite numbers")
INVALID_DOCUMENT = ProblemType("invalid-document", 422, "The document is not what the schema says",
                               "correct the field; /v1/schema/document holds the schema")
UNKNOWN_SCHEMA = ProblemType("unknown-schema", 422, "The document's major schema version is not known here",
                             "upgrade the older of client and service, then send the document again")
INVALID_REQUEST = ProblemType("invalid-request", 422, "A parameter of the request is not what the API says",
                              "correct the parameter; /openapi.json holds the API")
UNKNOWN_RUN = ProblemType("unknown-run", 404, "No run with this id",
                          "look at /v1/runs for the runs that are known; on the client `repro-env sync` delivers "
                          "observations that still wait")
UNKNOWN_SEGMENT = ProblemType("unknown-segment", 404, "The run has no segment of this name",
                              "look at `segments` of /v1/runs/{id} for those it has")
ONE_SEGMENT = ProblemType("one-segment", 422, "The run was started once, as far as it was seen",
                          "ask `repeat` of two runs, or give the starts of one job the same REPRO_ENV_RUN_ID")
UNKNOWN_STACK = ProblemType("unknown-stack", 404, "No stack with this digest",
                            "take the digest from an observation of /v1/runs/{id}")
UNKNOWN_OBSERVATION = ProblemType("unknown-observation", 404, "No observation with this id",
                                  "look at /v1/runs/{id} for the observations of a run")
UNKNOWN_MANIFEST = ProblemType("unknown-manifest", 404, "No manifest with this name and version",
                               "store it with PUT /v1/manifests/{name}/{version}")
NO_BASELINE = ProblemType("no-baseline", 404, "The project has no baseline",
                          'set one with PUT /v1/projects/{project}/baseline and {"run": id} or '
                          '{"manifest": "name/version"}')
INVALID_POLICY = ProblemType("invalid-policy", 422, "The policy is not what a policy may say",
                             "correct the field; `repro-env rules` lists the rules, and every waiver and every change "
                             "of levels needs its reason")
NO_POLICY = ProblemType("no-policy", 404, "The project has no such policy",
                        "set one with PUT /v1/projects/{project}/policy, or ask with policy=none")
OTHER_VERSION = ProblemType("other-version", 412, "Another version of the policy is in force",
                            "read the policy again, make the change on that, and send its version as If-Match")
POLICY_HAS_BASELINE = ProblemType("baseline-in-policy", 409, "The policy of the project states its baseline",
                                  "change `baseline` of the policy, or take it out there and set this one again")
NO_MANIFEST = ProblemType("no-manifest-for-run", 404, "No manifest is known for this run",
                          "name one with ?manifest=name/version, or set a manifest as the project's baseline")
OTHER_DOCUMENT = ProblemType("other-document", 409, "Another document is stored under this id",
                             "the first document stays; give a new observation its own id")
OTHER_PROJECT = ProblemType("other-project", 409, "The run belongs to another project",
                            "use another run id, or the project that the run belongs to")
TOO_LARGE = ProblemType("too-large", 413, "The body is larger than the service takes",
                        "send a smaller document")
NOT_JSON = ProblemType("unsupported-media-type", 415, "The body is not declared as plain JSON",
                       "send Content-Type: application/json without a Content-Encoding")
TOO_SLOW = ProblemType("body-timeout", 408, "The body did not arrive in time",
                       "send it again; the service keeps what it has acknowledged")
CUT_OFF = ProblemType("body-cut-off", 400, "The connection ended before the body did",
                      "send it again")
WRONG_HOST = ProblemType("unknown-host", 421, "The Host header names another host",
                         "address the service as 127.0.0.1 or localhost")
NOT_FOUND = ProblemType("not-found", 404, "No such resource", "/openapi.json lists every route")
WRONG_METHOD = ProblemType("method-not-allowed", 405, "The resource does not take this method",
                           "the Allow header lists the methods it takes")
UNAVAILABLE = ProblemType("storage-unavailable", 503, "The database does not take the request now",
                          "send it again later; look at free disk space and permissions of the data folder")
BUSY = ProblemType("busy", 503, "The service is busy with large comparisons",
                   "send it again later, or ask for fewer runs")
INTERNAL = ProblemType("internal-error", 500, "The service failed on this request",
                       "its log has the cause; the request changed nothing")
OTHER = ProblemType("refused", 400, "The request is refused", "/openapi.json describes the API")

KINDS: dict[str, ProblemType] = {kind.slug: kind for kind in list(globals().values()) if isinstance(kind, ProblemType)}


def problem(kind: ProblemType, detail: str, *, instance: str, field: str | None = None, status: int | None = None,
            headers: Mapping[str, str] | None = None) -> Response:
    """Return the answer for one problem; ``instance`` is the path that was asked for."""
    body: dict[str, Any] = {"type": f"/problems/{kind.slug}", "title": kind.title, "status": status or kind.status,
                            "detail": detail, "instance": instance, "remedy": kind.remedy}
    if field is not None:
        body["field"] = field
    content = json.dumps({key: _clean(value) for key, value in body.items()}).encode("ascii")
    return Response(content, body["status"], dict(headers or {}), MEDIA_TYPE)


def _clean(value: Any) -> Any:
    """Return text that every JSON reader takes: a lone surrogate of a refused body is shown escaped."""
    return value.encode("utf-8", "backslashreplace").decode("utf-8") if isinstance(value, str) else value


def install(app: FastAPI) -> None:
    """Make every error of ``app`` a problem."""
    app.exception_handler(Refusal)(on_refusal)
    app.exception_handler(InvalidDocument)(on_invalid_document)
    app.exception_handler(RequestValidationError)(on_invalid_request)
    app.exception_handler(HTTPException)(on_http_exception)
    app.exception_handler(OperationalError)(on_storage_error)
    app.exception_handler(ClientDisconnect)(on_disconnect)


async def on_refusal(request: Request, error: Refusal) -> Response:
    """Answer what a handler refused."""
    later = {"Retry-After": RETRY_AFTER_S} if error.kind.status == UNAVAILABLE.status else None
    return problem(error.kind, error.detail, instance=request.url.path, field=error.field, headers=later)


async def on_invalid_document(request: Request, error: InvalidDocument) -> Response:
    """Answer a document that the validator refused."""
    kind = UNKNOWN_SCHEMA if isinstance(error, UnknownSchema) else INVALID_DOCUMENT
    return problem(kind, str(error), instance=request.url.path, field=error.field)


async def on_invalid_request(request: Request, error: RequestValidationError) -> Response:
    """Answer parameters or a body that the route's model refused; the first field is named, all are told."""
    places = [(".".join(str(step) for step in item["loc"][1:]) or str(item["loc"][0]), str(item["msg"]))
              for item in error.errors()]
    return problem(INVALID_REQUEST, "; ".join(f"{place}: {message}" for place, message in places),
                   instance=request.url.path, field=places[0][0] if places else None)


async def on_http_exception(request: Request, error: HTTPException) -> Response:
    """Answer what routing refused: unknown routes and methods."""
    kind = {404: NOT_FOUND, 405: WRONG_METHOD}.get(error.status_code, OTHER)
    detail = f"{request.method} {request.url.path}: {error.detail}"
    headers = {**(error.headers or {}), **({"Allow": allowed(request)} if kind is WRONG_METHOD else {})}
    return problem(kind, detail, instance=request.url.path, status=error.status_code, headers=headers)


def allowed(request: Request) -> str:
    """Return the methods that the path takes: several routes can share one."""
    known: Sequence[Route] = request.app.state.routes
    found = {method for route in known if route.matches(request.scope)[0] is not Match.NONE
             for method in route.methods or ()}
    return ", ".join(sorted(found))


async def on_storage_error(request: Request, error: OperationalError) -> Response:
    """Answer a database that is full, locked, read-only or gone. Nothing was acknowledged, so nothing is lost."""
    log.error("storage failed on %s %s: %s", request.method, request.url.path, error.orig)
    return problem(UNAVAILABLE, "the database refused the request; nothing was stored", instance=request.url.path,
                   headers={"Retry-After": RETRY_AFTER_S})


async def on_disconnect(request: Request, error: ClientDisconnect) -> Response:
    """End a request whose sender went away; nobody reads the answer."""
    return problem(CUT_OFF, "the sender closed the connection", instance=request.url.path)
