"""Documents in the database: split into parts that are stored once, and put together again.

Owns the stored form (zlib over canonical bytes) and the digests of a whole document.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from repro_env import canonical
from repro_env.canonical import digest_bytes
from sqlalchemy import select
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.orm import Session

from .tables import Part

PARTS = ("stack", "program")


@dataclass(frozen=True)
class Encoded:
    """A document ready to be stored: compressed bytes and digests of its parts and of the rest."""

    parts: dict[str, bytes]
    digests: dict[str, str]
    rest: bytes
    document_digest: str


class Stored(Protocol):
    """A row that a document can be read from: an observation or a manifest."""

    stack_digest: Any
    program_digest: Any
    rest: Any


def encode(document: dict[str, Any]) -> Encoded:
    """Return the stored form of a document that was validated, and so is known to have canonical bytes.

    The digest of the document leaves out the digests its sender claims.
    """
    plain = {name: canonical.encode(document[name]) for name in PARTS}
    digests = {name: digest_bytes(content) for name, content in plain.items()}
    rest = {name: value for name, value in document.items() if name not in PARTS}
    told = {**digests, "rest": {name: value for name, value in rest.items() if name != "digests"}}
    return Encoded({name: zlib.compress(content) for name, content in plain.items()}, digests,
                   zlib.compress(canonical.encode(rest)), digest_bytes(canonical.encode(told)))


def store_parts(session: Session, encoded: Encoded, received_at: str) -> None:
    """Store the parts that are not there yet."""
    for name, digest in encoded.digests.items():
        session.execute(insert(Part).values(digest=digest, content=encoded.parts[name], first_received_at=received_at)
                        .on_conflict_do_nothing())


def load(session: Session, row: Stored) -> dict[str, Any]:
    """Return the whole document of a row, equal to what was received."""
    parts = load_parts(session, {row.stack_digest, row.program_digest})
    return {**load_rest(row), "stack": parts[row.stack_digest], "program": parts[row.program_digest]}


def load_rest(row: Stored) -> dict[str, Any]:
    """Return everything of a document but its stack and program."""
    rest: dict[str, Any] = decode(row.rest)
    return rest


def load_parts(session: Session, digests: Iterable[str]) -> dict[str, Any]:
    """Return parts by digest."""
    rows = session.execute(select(Part.digest, Part.content).where(Part.digest.in_(set(digests))))
    return {digest: decode(content) for digest, content in rows}


def decode(content: bytes) -> Any:
    """Return the JSON value of a stored part."""
    return json.loads(zlib.decompress(content))
