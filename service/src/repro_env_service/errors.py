"""Errors of the service.

ServiceError
├── Refusal                  a request gets an answer of the 4xx or 503 family; carries the problem
└── StartError               the service cannot start; carries the exit code
    ├── DataFolderInUse      another process of the service holds the data folder
    ├── SchemaTooNew         the database was written by a newer service
    ├── PortTaken            the address is in use
    └── WrongSetting         a setting is not what it may be
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ProblemType:
    """One kind of problem. ``slug`` is part of the contract: ``type`` of the answer is ``/problems/<slug>``."""

    slug: str
    status: int
    title: str
    remedy: str


class ServiceError(Exception):
    """Base of every error the service raises on purpose."""


class Refusal(ServiceError):
    """A request is refused: ``kind`` says how, ``detail`` what was expected and what came, ``field`` where."""

    def __init__(self, kind: ProblemType, detail: str, *, field: str | None = None) -> None:
        super().__init__(f"{kind.slug}: {detail}")
        self.kind = kind
        self.detail = detail
        self.field = field


class StartError(ServiceError):
    """The service cannot start; ``exit_code`` follows sysexits.h."""

    exit_code = 70


class DataFolderInUse(StartError):
    """Another process of the service holds the data folder."""

    exit_code = 75


class SchemaTooNew(StartError):
    """The database was written by a newer service."""

    exit_code = 78


class PortTaken(StartError):
    """The address is in use by another program."""

    exit_code = 69


class WrongSetting(StartError):
    """A setting is not what it may be, for instance an address beyond this machine."""

    exit_code = 64
