"""``/v1/manifests/{name}/{version}``: what the inside of an image must look like."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter, Response
from starlette.concurrency import run_in_threadpool

from .. import answers, documents, sides
from ..manifests import store_manifest
from .request import BODY_PROBLEMS, DOCUMENT_BODY, PROBLEMS, Database, JsonBody, Name

router = APIRouter(tags=["manifests"])


@router.put("/v1/manifests/{name}/{version}", response_model=answers.ManifestReceipt, openapi_extra=DOCUMENT_BODY,
            responses={**BODY_PROBLEMS, 201: {"model": answers.ManifestReceipt, "description": "stored"}})
async def put_manifest(name: Name, version: Name, body: JsonBody, storage: Database, response: Response
                       ) -> dict[str, Any]:
    """Store a manifest: a document of vantage image. It cannot be changed; a new version can be added."""
    receipt = await run_in_threadpool(store_manifest, storage, body, name, version)
    response.status_code = 201 if receipt.created else 200
    return asdict(receipt)


@router.get("/v1/manifests/{name}/{version}", responses=PROBLEMS)
def get_manifest(name: Name, version: Name, storage: Database) -> dict[str, Any]:
    """Give back the document of a manifest as it was received."""
    with storage.reading() as session:
        return documents.load(session, sides.find_manifest(session, f"{name}/{version}"))
