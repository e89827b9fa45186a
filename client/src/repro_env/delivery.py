"""Keep first, send second: the order that loses nothing. Used by the commands and by an observed process.

Printing is left to the caller; files to ``spool``, the network to ``transport``.
"""

from __future__ import annotations

import os
from time import monotonic

from .errors import InvalidDocument, SpoolError, TransportError, UsageError
from .spool import Spool, existing, keep
from .transport import submit

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from .settings import Settings

SENT, KEPT, REFUSED, LOST = "sent", "kept", "refused", "lost"
#: documents of earlier programs that one delivery takes along.
WAITING = 32
#: of an id, which stands in an address: no service takes another, so waiting for one would never end.
_ID_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:@+-")


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


class Kept:
    """A document on its way: its bytes, and where they lie (``spool`` is ``None`` where no folder took them)."""

    __slots__ = ("data", "observation_id", "path", "problem", "spool")

    def __init__(self, data: bytes, observation_id: str, spool: Spool | None, path: str | None,
                 problem: str | None = None) -> None:
        self.data = data
        self.observation_id = observation_id
        self.spool = spool
        self.path = path
        self.problem = problem


def deliver(document: dict[str, Any], settings: Settings, *, timeout_s: float, send: bool = True) -> Outcome:
    """Keep a document durably, then send it if a server is set and ``send`` allows; never raises for the world."""
    kept = keep_document(document, settings)
    if not send or settings.server is None:
        return Outcome(KEPT if kept.path else LOST, path=kept.path, problem=kept.problem)
    return send_kept(kept, settings, timeout_s=timeout_s)


def keep_document(document: dict[str, Any], settings: Settings) -> Kept:
    """Keep a document durably in the first spool that takes it; ``problem`` says why none did."""
    data = encode_document(document)
    observation_id = document["capture"]["observation_id"]
    try:
        spool, path = keep(os.environ, settings.spool, observation_id, data)
    except SpoolError as error:
        return Kept(data, observation_id, None, None, str(error))
    if settings.spool and spool.folder != Spool(settings.spool).folder:
        return Kept(data, observation_id, spool, path,
                    f"{settings.spool}: no document could be kept there, so it lies in {spool.folder}")
    return Kept(data, observation_id, spool, path)


def send_kept(kept: Kept, settings: Settings, *, timeout_s: float) -> Outcome:
    """Send a kept document to the server of ``settings``; taken, it leaves the spool; refused, it is set aside."""
    unsent = KEPT if kept.path else LOST
    try:
        receipt = submit(settings.server or "", kept.data, kept.observation_id, timeout_s=timeout_s,
                         token=settings.token)
    except UsageError as error:
        return Outcome(unsent, path=kept.path, problem=str(error))
    except TransportError as error:
        if error.retry or kept.spool is None or kept.path is None:
            return Outcome(unsent, path=kept.path, problem=str(error))
        return _refused(kept.spool, kept.path, str(error))
    if kept.spool is not None and kept.path is not None:
        kept.spool.delivered(kept.path)
    return Outcome(SENT, receipt=receipt)


def send_waiting(environ: Mapping[str, str], settings: Settings, *, timeout_s: float, limit: int = WAITING) -> int:
    """Send what killed programs left in the spools, the oldest first; return how many the service took.

    Called where the service has just answered. Stops at the first document that it does not take, and leaves what is
    damaged to ``repro-env sync``, which says so.
    """
    deadline = monotonic() + timeout_s
    sent = 0
    try:
        for spool in existing(environ, settings.spool):
            for path in spool.pending()[:limit - sent]:
                left_s = deadline - monotonic()
                if left_s <= 0 or not _send_one(spool, path, settings, left_s):
                    return sent
                sent += 1
    except SpoolError:
        return sent
    return sent


def _send_one(spool: Spool, path: str, settings: Settings, timeout_s: float) -> bool:
    from .canonical import parse

    try:
        data = spool.read(path)
        waiting = observation_id_of(parse(data))
    except (OSError, InvalidDocument):
        return True  # sent by somebody else meanwhile, or damaged
    return send_kept(Kept(data, waiting, spool, path), settings, timeout_s=timeout_s).state == SENT


def observation_id_of(document: Any) -> str:
    """Return the id of a document that waited; raise ``InvalidDocument`` for one that no service would take."""
    record = document.get("capture") if isinstance(document, dict) else None
    found = record.get("observation_id") if isinstance(record, dict) else None
    if not isinstance(found, str) or not found:
        raise InvalidDocument("capture.observation_id", "missing")
    if len(found) > 128 or not found[0].isalnum() or set(found) - _ID_CHARACTERS:
        raise InvalidDocument("capture.observation_id", "expected 1 to 128 letters, digits or . _ : @ + -")
    return found


def _refused(spool: Spool, path: str, problem: str) -> Outcome:
    try:
        return Outcome(REFUSED, path=spool.set_aside(path, f"the service refused it: {problem}"), problem=problem)
    except SpoolError as error:
        return Outcome(REFUSED, path=path, problem=f"{problem}; {error}")
