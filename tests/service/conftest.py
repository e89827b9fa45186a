"""The application in this process (``api``), the real service in its own process (``start_service``), documents."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from documents import Document, complete_document
from sqlalchemy import func, select, text

from repro_env_service.app import create_app
from repro_env_service.settings import Settings
from repro_env_service.storage import Storage
from repro_env_service.tables import Base

JSON = {"Content-Type": "application/json"}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("golden files")
    known = {name for option in group.options for name in option.names()}
    if "--regenerate" not in known:
        group.addoption("--regenerate", action="store_true", help="write golden files anew instead of comparing")


class Api:
    """The application over ASGI: every request takes the whole path but the socket."""

    def __init__(self, data: Path, **settings: Any) -> None:
        self.app = create_app(Settings(data=data, **settings))
        self.storage: Storage = self.app.state.storage
        self._runner = asyncio.Runner()
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=True)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")

    def request(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        return self._runner.run(self._client.request(method, path, **arguments))

    def get(self, path: str, **query: Any) -> httpx.Response:
        return self.request("GET", path, params=query or None)

    def put(self, path: str, body: Any, **headers: str) -> httpx.Response:
        return self._with_body("PUT", path, body, headers)

    def post(self, path: str, body: Any) -> httpx.Response:
        return self._with_body("POST", path, body, {})

    def _with_body(self, method: str, path: str, body: Any, headers: dict[str, str]) -> httpx.Response:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.request(method, path, content=content, headers={**JSON, **headers})

    def send(self, document: Document) -> httpx.Response:
        return self.put(f"/v1/observations/{document['capture']['observation_id']}", document)

    def rows(self) -> dict[str, int]:
        """Count the rows of every table."""
        with self.storage.reading() as session:
            return {name: session.scalar(select(func.count()).select_from(table)) or 0
                    for name, table in Base.metadata.tables.items()}

    def explain(self, statement: str) -> str:
        with self.storage.reading() as session:
            return "\n".join(str(row[-1]) for row in session.execute(text(f"EXPLAIN QUERY PLAN {statement}")))

    def close(self) -> None:
        self._runner.run(self._client.aclose())
        self._runner.close()
        self.storage.close()


@pytest.fixture
def api(tmp_path: Path) -> Iterator[Api]:
    api = Api(tmp_path / "data")
    yield api
    api.close()


@pytest.fixture
def make_api() -> Iterator[Callable[..., Api]]:
    made: list[Api] = []

    def make(data: Path, **settings: Any) -> Api:
        made.append(Api(data, **settings))
        return made[-1]

    yield make
    for api in made:
        api.close()


@pytest.fixture
def observation() -> Callable[..., Document]:
    """A document of run ``run`` under id ``name``; overrides as in ``complete_document``."""

    def make(name: str = "o1", run: str | None = "r1", *, vantage: str = "process", machine: str = "cpu",
             **overrides: Any) -> Document:
        return complete_document(vantage, machine, **{"capture.observation_id": name, "capture.run_id": run,
                                                      **overrides})

    return make


@dataclass
class Service:
    """The service in a process of its own."""

    process: subprocess.Popen[str]
    address: str

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        self.process.terminate()
        return self.process.wait(20)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "repro_env_service", *arguments]


@pytest.fixture
def start_service() -> Iterator[Callable[[Path], Service]]:
    """Start the real service on a free port; it is ready once its address is printed."""
    running: list[Service] = []

    def start(data: Path) -> Service:
        process = subprocess.Popen(command("serve", "--port", "0", "--data", str(data)), stdout=subprocess.PIPE,
                                   text=True)
        assert process.stdout is not None
        line = process.stdout.readline()
        service = Service(process, next(word.rstrip(",") for word in line.split() if word.startswith("http://")))
        running.append(service)
        return service

    yield start
    for service in running:
        service.kill()
        assert service.process.stdout is not None
        service.process.stdout.close()
