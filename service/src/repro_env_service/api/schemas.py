"""``/v1/schema/document``: the JSON Schema of the document."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from ..schema import document_schema

router = APIRouter(tags=["schema"])


@router.get("/v1/schema/document")
def get_document_schema() -> dict[str, Any]:
    """Give the JSON Schema of the document version that this service judges."""
    return document_schema()
