"""Keep first, send second: the order that loses nothing. Used by the commands and by an observed process.

Printing is left to the caller; files to ``spool``, the network to ``transport``.
"""

from __future__ import annotations

import os

from .errors import SpoolError, TransportError, UsageError
from .spool import Spool, keep
from .transport import submit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .settings import Settings

SENT, KEPT, REFUSED, LOST = "sent", "kept", "refused", "lost"


class Outcome:
    """What became of a document.

    ``state``: ``sent`` (``receipt`` is the service's answer), ``kept`` (waits at ``path``), ``refused`` (set aside at
    ``path``), ``lost`` (neither sent nor kept). ``problem`` says in words what went wrong, if anything did.
    """

    __slots__ = ("path", "problem", "receipt", "state")

    def __init__(self, state: str, *, path: str | None = None, problem: str | None = None,
                 receipt: dict[str, Any] | None = None) -> None:
        self.state = state
        self.path = path
        self.problem = problem
        self.receipt = receipt


def encode_document(document: dict[str, Any]) -> bytes:
    """Return the bytes of a document as they are kept and sent."""
    from .canonical import encode

    return encode(document)


def deliver(document: dict[str, Any], settings: Settings, *, timeout_s: float, send: bool = True) -> Outcome:
    """Keep a document durably, then send it if a server is set and ``send`` allows; never raises for the world."""
    data = encode_document(document)
    observation_id = document["capture"]["observation_id"]
    spool, path, problem = None, None, None
    try:
        spool, path = keep(os.environ, settings.spool, observation_id, data)
    except SpoolError as error:
        problem = str(error)
    if not send or settings.server is None:
        return Outcome(KEPT if path else LOST, path=path, problem=problem)
    return send_kept(data, observation_id, settings, timeout_s=timeout_s, spool=spool, path=path)


def send_kept(data: bytes, observation_id: str, settings: Settings, *, timeout_s: float, spool: Spool | None,
              path: str | None) -> Outcome:
    """Send a document that lies at ``path`` of ``spool`` (or nowhere, where no folder took it)."""
    try:
        receipt = submit(settings.server or "", data, observation_id, timeout_s=timeout_s, token=settings.token)
    except UsageError as error:
        return Outcome(KEPT if path else LOST, path=path, problem=str(error))
    except TransportError as error:
        if error.retry or spool is None or path is None:
            return Outcome(KEPT if path else LOST, path=path, problem=str(error))
        return _refused(spool, path, str(error))
    if spool is not None and path is not None:
        spool.delivered(path)
    return Outcome(SENT, receipt=receipt)


def _refused(spool: Spool, path: str, problem: str) -> Outcome:
    try:
        return Outcome(REFUSED, path=spool.set_aside(path, f"the service refused it: {problem}"), problem=problem)
    except SpoolError as error:
        return Outcome(REFUSED, path=path, problem=f"{problem}; {error}")
