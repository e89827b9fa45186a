"""Errors of the client.

ReproEnvError
├── InvalidDocument      a document is not what the schema says; names the field
│   └── UnknownSchema    its major version is not known to this client
├── UsageError           a setting or argument is wrong; says what was expected
├── UnknownFormat        an imported text is of no known format
├── ProbeFailed          a look at the machine failed; carries the unread code of the facts it was for
├── SpoolError           a document or file could not be kept on the disk
└── TransportError       the service could not be reached or did not take the document
"""

from __future__ import annotations


class ReproEnvError(Exception):
    """Base of every error this client raises on purpose."""


class InvalidDocument(ReproEnvError):
    """A document breaks a rule at ``field`` (dotted path, ``$`` for the whole)."""

    def __init__(self, field: str, problem: str) -> None:
        super().__init__(f"{field}: {problem}")
        self.field = field
        self.problem = problem


class UnknownSchema(InvalidDocument):
    """The document's major schema version is not known here."""


class UsageError(ReproEnvError):
    """A setting or an argument is wrong."""


class UnknownFormat(ReproEnvError):
    """A text that should be imported is of no known format."""


class ProbeFailed(ReproEnvError):
    """A look at the machine failed; ``code`` is the unread code, ``message`` says what failed, without values."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class SpoolError(ReproEnvError):
    """A document or a file that the user named could not be kept on the disk; names the folder and why."""


class TransportError(ReproEnvError):
    """The service could not be reached or refused the document; ``retry`` says whether later may help."""

    def __init__(self, problem: str, *, retry: bool, status: int | None = None) -> None:
        super().__init__(problem)
        self.retry = retry
        self.status = status
