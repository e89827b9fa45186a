"""``/livez`` and ``/readyz``: the process is there; the database answers."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from .. import __version__, answers
from .request import PROBLEMS, Database

router = APIRouter(tags=["health"])


@router.get("/livez", response_model=answers.Health)
async def live() -> dict[str, Any]:
    """Tell that the process answers. Does not touch the database."""
    return {"status": "ok", "version": __version__}


@router.get("/readyz", response_model=answers.Health, responses=PROBLEMS)
def ready(storage: Database) -> dict[str, Any]:
    """Tell that the database answers; 503 where it does not."""
    storage.ready()
    return {"status": "ok", "version": __version__}
