"""Real programs, started as a user starts them: with and without ``repro-env run``."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from repro_env.fingerprint.validate import validate

RUN = [sys.executable, "-m", "repro_env", "run"]


@dataclass(frozen=True)
class Ended:
    """A program that has ended, and what was kept of it."""

    returncode: int
    stdout: str
    stderr: str  #: without the one line that says where the documents are kept
    documents: list[dict[str, Any]]
    notice: str = ""  #: that line

    def of(self, vantage: str) -> dict[str, Any]:
        (document,) = [item for item in self.documents if item["capture"]["vantage"] == vantage]
        return document


def kept(spool: Path) -> list[dict[str, Any]]:
    """The documents in a spool folder, each valid, in order of their looks."""
    documents = [validate(json.loads(path.read_bytes())) for path in spool.glob("*.json")]
    return sorted(documents, key=lambda document: (document["capture"]["process"]["pid"],
                                                   document["capture"]["sequence"]))


def without_notice(text: str) -> tuple[str, str]:
    """What a program wrote to stderr, and what was said at its end of where its documents are kept."""
    lines = text.splitlines(keepends=True)
    notices = [line for line in lines if "observed; no server is set, so it is kept in" in line]
    assert len(set(notices)) == len(notices), text  # one for each run
    return "".join(line for line in lines if line not in notices), "".join(notices)


def environment(spool: Path, extra: dict[str, str]) -> dict[str, str]:
    kept_as_is = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept_as_is, "REPRO_ENV_SPOOL": str(spool), **extra}


Start = Callable[..., Ended]


@pytest.fixture
def started(tmp_path: Path) -> Start:
    """Start a command, plain or observed, in its own folder, and wait for its end."""
    def start(*command: str, observed: bool = True, options: tuple[str, ...] = (), stdin: str = "",
              cwd: Path | None = None, **variables: str) -> Ended:
        spool = tmp_path / f"spool-{len(list(tmp_path.glob('spool-*')))}"
        line = [*RUN, *options, "--", *command] if observed else list(command)
        ended = subprocess.run(line, input=stdin, capture_output=True, text=True, timeout=120, check=False,
                               cwd=cwd or tmp_path, env=environment(spool, variables))
        said, notice = without_notice(ended.stderr)
        return Ended(ended.returncode, ended.stdout, said, kept(spool), notice)

    return start


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., str]:
    """Write a program and return its path."""
    def write(text: str, name: str = "train.py") -> str:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return str(path)

    return write
