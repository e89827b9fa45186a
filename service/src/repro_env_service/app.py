"""The application: opens the storage, brings its schema up to date, wires routes and errors. Nothing else wires."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from . import __version__, problems
from .api import ROUTERS
from .folding import refresh_stale
from .guard import Guard
from .settings import Settings
from .storage import Storage
from .upgrade import upgrade


def create_app(settings: Settings) -> FastAPI:
    """Return the application on an open, migrated database; raise ``StartError`` where it cannot be had.

    The data folder stays locked until the application shuts down (its lifespan ends) or ``app.state.storage.close()``.
    """
    storage = open_storage(settings)

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        yield
        storage.close()

    app = FastAPI(title="repro-env", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None,
                  summary="May these two results be compared, and if not, what in their environments stands between?",
                  openapi_url="/openapi.json", redirect_slashes=False)
    app.state.storage = storage
    app.state.settings = settings
    app.state.routes = [route for router in ROUTERS for route in router.routes]
    problems.install(app)
    for router in ROUTERS:
        app.include_router(router)
    app.add_middleware(Guard, hosts=settings.hosts)
    return app


def open_storage(settings: Settings) -> Storage:
    """Return the storage with the schema and the rule set of this service."""
    storage = Storage(settings)
    try:
        upgrade(storage)
        refreshed = True
        while refreshed:
            with storage.opening(), storage.writing() as session:
                refreshed = refresh_stale(session) > 0
    except BaseException:
        storage.close()
        raise
    return storage
