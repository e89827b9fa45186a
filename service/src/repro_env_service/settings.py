"""The settings of the service: written once here, read from flags first, then variables, then these defaults."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from repro_env.canonical import MAX_BYTES

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8765
LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")


@dataclass(frozen=True)
class Setting:
    """One setting: its flag, its variable, what it means. ``docs`` are generated from these rows."""

    name: str
    flag: str
    variable: str
    meaning: str


SETTINGS = (
    Setting("data", "--data", "REPRO_ENV_SERVICE_DATA", "folder that holds the database"),
    Setting("host", "--host", "REPRO_ENV_SERVICE_HOST", "loopback address to listen on"),
    Setting("port", "--port", "REPRO_ENV_SERVICE_PORT", "port to listen on; 0 takes a free one and prints it"),
)


@dataclass(frozen=True)
class Settings:
    """Settings in force. ``data`` is made when it does not exist; times are in seconds, sizes in bytes."""

    data: Path
    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    hosts: tuple[str, ...] = field(default=LOOPBACK_HOSTS)
    max_body_bytes: int = MAX_BYTES
    body_timeout_s: float = 10.0
    busy_timeout_s: float = 5.0


def default_data_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the data folder when none is named: under XDG_DATA_HOME, else under the home folder."""
    base = environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(base) / "repro-env-service"


def from_variables(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the settings that variables set, by name; an empty variable counts as unset."""
    return {row.name: environ[row.variable] for row in SETTINGS if environ.get(row.variable)}
