"""Manifests: documents of vantage ``image`` under a name and version, and which of them holds for a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from repro_env.errors import InvalidDocument
from repro_env.fingerprint.facts import is_captured
from sqlalchemy import select
from sqlalchemy.orm import Session

from . import documents, problems
from .baselines import baseline_of
from .errors import Refusal
from .ingest import notes_on, now, read_document, refuse_other_document
from .sides import Judged, find_manifest
from .storage import Storage
from .tables import Manifest


@dataclass(frozen=True)
class ManifestReceipt:
    """What the service acknowledges of a manifest."""

    name: str
    version: str
    digests: dict[str, str]
    created: bool
    notes: tuple[str, ...]


def store_manifest(storage: Storage, body: bytes, name: str, version: str) -> ManifestReceipt:
    """Store the document in ``body`` as a manifest. The same again is no error, another under the name is."""
    sent, document = read_document(body)
    vantage = document["capture"]["vantage"]
    if vantage != "image":
        raise InvalidDocument("capture.vantage", f"expected image for a manifest, got {vantage}")
    encoded = documents.encode(sent)
    container = document["stack"]["container"]
    with storage.writing() as session:
        known = session.get(Manifest, (name, version))
        if known is not None:
            refuse_other_document(known.document_digest, encoded, f"manifest {name}/{version}")
        else:
            received_at = now()
            documents.store_parts(session, encoded, received_at)
            session.add(Manifest(
                name=name, version=version, document_digest=encoded.document_digest,
                stack_digest=encoded.digests["stack"], program_digest=encoded.digests["program"], rest=encoded.rest,
                image_digest=_captured(container["image_digest"]), image_key=_captured(container["image_key"]),
                received_at=received_at))
    return ManifestReceipt(name, version, {**encoded.digests, "document": encoded.document_digest}, known is None,
                           notes_on(document))


def manifest_for(session: Session, run: Judged, named: str | None) -> tuple[Manifest, str]:
    """Return the manifest a run is held against and how it was found: ``named``, ``image`` or ``baseline``.

    An image is recognised by its digest or by repro-env's key, never by its name: names are given again.
    """
    if named is not None:
        return find_manifest(session, named), "named"
    for fact, column in (("container.image_digest", Manifest.image_digest),
                         ("container.image_key", Manifest.image_key)):
        value = _captured(run.facts.look(fact))
        if value is not None:
            found = session.scalar(select(Manifest).where(column == value).order_by(Manifest.received_at.desc()))
            if found is not None:
                return found, "image"
    held = baseline_of(session, run.project) if run.project is not None else None
    if held is not None and held.manifest is not None:
        return find_manifest(session, held.manifest), "baseline"
    raise Refusal(problems.NO_MANIFEST, f"no stored manifest has the image of run {run.name}, and its project has no "
                                        "manifest as its baseline")


def _captured(value: Any) -> Any:
    return value if is_captured(value) else None
