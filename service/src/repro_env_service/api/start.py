"""``/``: what this is, for a person who opened the address in a browser."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files

from fastapi import APIRouter
from jinja2 import Environment
from starlette.responses import HTMLResponse

from .. import __version__
from ..queries import list_runs
from .request import Database

router = APIRouter(include_in_schema=False)
_FOLDER = files("repro_env_service") / "templates"
STYLE = (_FOLDER / "start.css").read_text(encoding="utf-8")
PAGE = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True).from_string(
    (_FOLDER / "start.html").read_text(encoding="utf-8"))
NEWEST = 10
POLICY = ("default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'; style-src 'sha256-"
          + base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode() + "'")


@router.get("/")
def start(storage: Database) -> HTMLResponse:
    """Give the start page: no script, no asset from elsewhere."""
    with storage.reading() as session:
        runs = list_runs(session, project=None, before=None, limit=NEWEST).runs
    return HTMLResponse(PAGE.render(version=__version__, runs=runs, style=STYLE),
                        headers={"Content-Security-Policy": POLICY})
