"""``/v1/stacks/{digest}``: a stack by its digest."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path

from .. import answers, documents, problems, queries
from ..errors import Refusal
from ..tables import Part
from .request import PROBLEMS, Database

router = APIRouter(tags=["stacks"])
NEWEST_RUNS = 20


@router.get("/v1/stacks/{digest}", response_model=answers.StackDetail, responses=PROBLEMS)
def get_stack(digest: Annotated[str, Path(pattern=r"^sha256:[0-9a-f]{64}$")], storage: Database) -> dict[str, Any]:
    """Give a stack and the newest runs on it."""
    with storage.reading() as session:
        part = session.get(Part, digest)
        count, newest = queries.runs_on_stack(session, digest, NEWEST_RUNS)
    if part is None or count == 0:
        raise Refusal(problems.UNKNOWN_STACK, f"no observation has stack {digest}")
    return {"digest": digest, "stack": documents.decode(part.content), "first_received_at": part.first_received_at,
            "run_count": count, "newest_runs": newest}
