"""What a person names by a word: a file, short facts, a run or manifest that the service knows.

Without a server a run is looked for among the documents that wait in the spool.
"""

from __future__ import annotations

import os

from ..errors import UsageError
from . import reading, sending

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..settings import Settings

RUN_PREFIX = "run:"
MANIFEST_PREFIX = "manifest:"


def is_run(word: str) -> bool:
    """Tell whether a word means a run: it says so, or it is neither file nor facts."""
    return word.startswith(RUN_PREFIX) or not (reading.is_facts(word) or reading.is_file(word))


def run_id(word: str) -> str:
    """Return the id of the run that a word names; a verdict names one start of a run after a space."""
    return word.removeprefix(RUN_PREFIX).partition(" ")[0]


def server(settings: Settings, word: str, command: str) -> str:
    """Return the address to ask about a run; raise ``UsageError`` where none is set."""
    if settings.server is None:
        raise UsageError(f"{command}: {word!r} is no file here, and no run of that id waits in the spool; for one that "
                         "the service knows, set the server with --server, REPRO_ENV_SERVER or reproenv.toml")
    return settings.server


def documents(word: str, settings: Settings, command: str) -> list[dict[str, Any]]:
    """Return the documents that a word names, from a file, from facts, from the service, or without one the spool."""
    if not is_run(word) and not word.startswith(MANIFEST_PREFIX):
        return reading.stated(word) if reading.is_facts(word) else reading.documents(word)
    waiting = [] if settings.server else _waiting(run_id(word), settings)
    if waiting:
        return waiting
    from urllib.parse import quote

    from ..fingerprint.validate import validate
    from ..transport import get

    is_manifest = word.startswith(MANIFEST_PREFIX)
    path = (f"/v1/manifests/{quote(word.removeprefix(MANIFEST_PREFIX))}" if is_manifest
            else f"/v1/runs/{quote(run_id(word), safe='')}")
    told = get(server(settings, word, command), path, timeout_s=sending.patience_s(settings), token=settings.token)
    return [validate(document) for document in ([told] if is_manifest else reading.of_entries(told))]


def _waiting(wanted: str, settings: Settings) -> list[dict[str, Any]]:
    """Return the documents of a run that wait in the spool; what is damaged there is left to ``sync``."""
    from ..canonical import parse
    from ..errors import InvalidDocument
    from ..fingerprint.validate import validate
    from ..spool import existing

    found = []
    for spool in existing(os.environ, settings.spool):
        for path in spool.pending():
            try:
                data = spool.read(path)
                document = validate(parse(data)) if wanted.encode() in data else None
            except (OSError, InvalidDocument):
                continue
            if document is not None and document["capture"]["run_id"] == wanted:
                found.append(document)
    return found
