"""Receive one document: check it, store it once, bring its run up to date. Acknowledged after a synced commit only."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from repro_env.canonical import parse
from repro_env.comparability.segments import Look
from repro_env.errors import InvalidDocument
from repro_env.fingerprint.facts import SCHEMA_VERSION, is_captured
from repro_env.fingerprint.validate import validate
from sqlalchemy import select
from sqlalchemy.orm import Session

from . import documents, problems
from .errors import Refusal
from .folding import affected_runs, refresh_run
from .storage import Storage
from .tables import Observation, Run

NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._:@+-]{0,127}$"
_NAME = re.compile(NAME_PATTERN, re.ASCII)
_NAME_WORDS = "1 to 128 letters, digits or . _ : @ + - starting with a letter or digit"


@dataclass(frozen=True)
class Receipt:
    """What the service acknowledges: the document is on disk. ``created`` is false for a document that was there."""

    observation_id: str
    run_id: str
    project: str | None
    digests: dict[str, str]
    created: bool
    notes: tuple[str, ...]


def ingest(storage: Storage, body: bytes, observation_id: str) -> Receipt:
    """Store the document in ``body`` as ``observation_id`` and return the receipt.

    Raise ``Refusal`` or ``InvalidDocument`` with nothing stored. The same document again is no error.
    """
    # 1. Strict JSON, then the schema; claimed digests are held against the computed ones.
    sent, document = read_document(body)
    # 2. The names the document is stored under.
    capture = document["capture"]
    check_names(capture, observation_id)
    # 3. Canonical bytes and digests, of what was sent: an upgrade of an older document happens on reading.
    encoded = documents.encode(sent)
    row = observation_row(document, encoded, observation_id)
    # 4. One transaction: known already, or stored with its parts, and every run it bears on folded anew.
    with storage.writing() as session:
        known = session.get(Observation, observation_id)
        if known is not None:
            refuse_other_document(known.document_digest, encoded, f"observation {observation_id}")
        else:
            refuse_other_project(session, row)
            documents.store_parts(session, encoded, row.received_at)
            session.add(row)
            session.flush()
            for run_id in affected_runs(session, row):
                refresh_run(session, run_id)
        project = session.scalar(select(Run.project).where(Run.id == row.run_id))
    # 5. The commit is synced: acknowledge.
    return Receipt(observation_id, row.run_id, project, {**encoded.digests, "document": encoded.document_digest},
                   known is None, notes_on(document))


def read_document(body: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the document as sent and as the current schema has it; refuse what is not strict JSON or not valid."""
    try:
        sent = parse(body)
    except InvalidDocument as error:
        raise Refusal(problems.INVALID_JSON, str(error), field=error.field) from error
    return sent, validate(sent)


def check_names(capture: dict[str, Any], observation_id: str) -> None:
    """Refuse an id that is not the one of the path, and names that cannot stand in an address."""
    if capture["observation_id"] != observation_id:
        raise InvalidDocument("capture.observation_id",
                              f"expected {observation_id}, the id in the path, got {capture['observation_id']!a}")
    check_name("capture.observation_id", observation_id)
    for field in ("run_id", "project"):
        if is_captured(capture[field]):
            check_name(f"capture.{field}", capture[field])
    if is_captured(capture["run_id"]) and capture["run_id"].startswith("manifest:"):
        raise InvalidDocument("capture.run_id", "expected no id that starts with manifest:, which names a manifest")
    if is_captured(capture["group"]) and len(capture["group"]) > 128:
        raise InvalidDocument("capture.group", f"expected at most 128 characters, got {len(capture['group'])}")


def check_name(field: str, value: str) -> None:
    """Refuse a name that cannot stand in an address."""
    if not _NAME.match(value) or value.endswith("\n"):
        raise InvalidDocument(field, f"expected {_NAME_WORDS}, got {ascii(value)[:80]}")


def observation_row(document: dict[str, Any], encoded: documents.Encoded, observation_id: str) -> Observation:
    """Return the row of a valid document. A document without a run id is a run of its own."""
    capture, look = document["capture"], Look.of(document)
    run_id = capture["run_id"] if is_captured(capture["run_id"]) else observation_id
    return Observation(
        id=observation_id, run_id=run_id, project=_captured(capture["project"]), group=_captured(capture["group"]),
        document_digest=encoded.document_digest, stack_digest=encoded.digests["stack"],
        program_digest=encoded.digests["program"], rest=encoded.rest, schema_version=document["schema"],
        vantage=look.vantage, subject=look.subject, sequence=look.sequence, captured_at=look.captured_at,
        node=look.node, rank=look.rank, pid=look.pid, world_size=look.world_size, job_key=look.job,
        restart=look.restart, segment=look.segment, received_at=now())


def refuse_other_document(known_digest: str, encoded: documents.Encoded, what: str) -> None:
    """Refuse another document under an id that is taken: the first one stays."""
    if known_digest != encoded.document_digest:
        raise Refusal(problems.OTHER_DOCUMENT, f"{what} is stored with document {known_digest}, "
                                               f"this one has {encoded.document_digest}")


def refuse_other_project(session: Session, row: Observation) -> None:
    """Refuse a document that names another project than its run has. A document without one joins any run."""
    project = session.scalar(select(Run.project).where(Run.id == row.run_id))
    if project is not None and row.project is not None and project != row.project:
        raise Refusal(problems.OTHER_PROJECT, f"run {row.run_id} belongs to another project than {row.project}",
                      field="capture.project")


def notes_on(document: dict[str, Any]) -> tuple[str, ...]:
    """Say what was stored without being understood."""
    if document["schema"] == SCHEMA_VERSION:
        return ()
    return (f"schema {document['schema']} is newer than {SCHEMA_VERSION}: stored whole, judged on the facts that "
            f"{SCHEMA_VERSION} knows; upgrade the service to judge the rest",)


def now() -> str:
    """Return the time as RFC 3339 UTC with microseconds."""
    return datetime.now(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def _captured(value: Any) -> Any:
    return value if is_captured(value) else None
