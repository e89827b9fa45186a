"""Commands are run as people run them: another process, its exit code, its two outputs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


class Done:
    """How a command ended."""

    def __init__(self, code: int, out: str, err: str, took_s: float) -> None:
        self.code = code
        self.out = out
        self.err = err
        self.took_s = took_s

    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        return self.err.splitlines()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The working folder of commands: empty, so that there is no repository and no settings file."""
    place = tmp_path / "work"
    place.mkdir()
    return place


@pytest.fixture
def spool(tmp_path: Path) -> Path:
    return tmp_path / "spool"


@pytest.fixture
def repro_env(folder: Path, spool: Path) -> Callable[..., Done]:
    """Run ``repro-env`` with arguments; ``env`` adds variables, ``None`` takes one away."""

    def run(*arguments: str, env: dict[str, str | None] | None = None, data: bytes | None = None,
            out: Any = subprocess.PIPE) -> Done:
        environ = {**os.environ, "REPRO_ENV_SPOOL": str(spool), "COLUMNS": "88"}
        for name, value in (env or {}).items():
            environ.pop(name, None)
            if value is not None:
                environ[name] = value
        started = time.monotonic()
        done = subprocess.run([sys.executable, "-m", "repro_env", *arguments], cwd=folder, env=environ, timeout=60,
                              check=False, stdout=out, stderr=subprocess.PIPE, input=data or b"")
        took_s = time.monotonic() - started
        assert b"Traceback" not in done.stderr, done.stderr.decode()
        return Done(done.returncode, (done.stdout or b"").decode(), done.stderr.decode(), took_s)

    return run


def waiting(spool: Path) -> list[Path]:
    """The documents that wait in a spool."""
    return sorted(spool.glob("*.json"))
