"""``/v1/observations/{id}``: receive a document once, give it back unchanged."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import APIRouter, Response
from starlette.concurrency import run_in_threadpool

from .. import answers, documents, problems
from ..errors import Refusal
from ..ingest import Receipt, ingest
from ..judging import Heed, hold_against_baseline
from ..storage import Storage
from ..tables import Observation
from .request import BODY_PROBLEMS, DOCUMENT_BODY, PROBLEMS, Database, JsonBody, Name

log = logging.getLogger(__name__)
router = APIRouter(tags=["observations"])


@router.put("/v1/observations/{observation_id}", response_model=answers.ObservationReceipt,
            openapi_extra=DOCUMENT_BODY,
            responses={**BODY_PROBLEMS, 201: {"model": answers.ObservationReceipt, "description": "stored"}})
async def put_observation(observation_id: Name, body: JsonBody, storage: Database, response: Response
                          ) -> dict[str, Any]:
    """Store an observation. The same document again answers 200 and stores nothing; another one answers 409."""
    receipt, heed = await run_in_threadpool(_receive, storage, body, observation_id)
    response.status_code = 201 if receipt.created else 200
    return {"observation_id": receipt.observation_id, "run_id": receipt.run_id, "project": receipt.project,
            "digests": receipt.digests, "created": receipt.created, "warnings": list(heed.warnings),
            "notes": [*receipt.notes, *heed.notes]}


def _receive(storage: Storage, body: bytes, observation_id: str) -> tuple[Receipt, Heed]:
    """Store, then judge. The document is safe once stored: a failing judgement costs its warnings, not the receipt."""
    receipt = ingest(storage, body, observation_id)
    try:
        with storage.reading() as session:
            return receipt, hold_against_baseline(session, receipt.run_id)
    except Exception:
        log.exception("run %s was stored and could not be held against its baseline", receipt.run_id)
        return receipt, Heed(notes=("stored; holding the run against the baseline of its project failed",))


@router.get("/v1/observations/{observation_id}", responses=PROBLEMS)
def get_observation(observation_id: Name, storage: Database) -> dict[str, Any]:
    """Give back the document as it was received."""
    with storage.reading() as session:
        row = session.get(Observation, observation_id)
        if row is None:
            raise Refusal(problems.UNKNOWN_OBSERVATION, f"no observation {observation_id} is stored")
        return documents.load(session, row)
