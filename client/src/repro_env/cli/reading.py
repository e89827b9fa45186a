"""What a person hands over: a document, several in one file, a text that the importers know, or short facts."""

from __future__ import annotations

import os
import sys

from ..errors import InvalidDocument, UnknownFormat, UsageError
from .console import say

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: a file of many documents, or a dump with a long log around it.
MAX_BYTES = 32 << 20
#: how the name of a file of facts ends.
FACTS_FILE = ".toml"
_FILE_ENDS = (".json", ".txt", ".log", FACTS_FILE)


def read_bytes(path: str, wanted: str = "a document or an environment dump") -> bytes:
    """Return the bytes of a file, or of standard input for ``-``; raise ``UsageError`` or ``InvalidDocument``.

    ``wanted`` says what an empty file lacks.
    """
    name = "standard input" if path == "-" else path
    try:
        if path == "-":
            data = sys.stdin.buffer.read(MAX_BYTES + 1)
        else:
            with open(path, "rb") as file:
                data = file.read(MAX_BYTES + 1)
    except IsADirectoryError as error:
        raise UsageError(f"{name}: expected a file, got a folder") from error
    except OSError as error:
        raise UsageError(f"{name}: could not be read ({error.strerror})") from error
    if len(data) > MAX_BYTES:
        raise InvalidDocument(name, f"expected at most {MAX_BYTES} bytes")
    if not data.strip():
        raise InvalidDocument(name, f"expected {wanted}, got an empty file")
    return data


def documents(path: str, **options: Any) -> list[dict[str, Any]]:
    """Return the documents in a file: one, a list, an answer of ``/v1/runs/ID``, or a dump (with import ``options``).

    Raise ``InvalidDocument`` naming file and field, ``UnknownFormat`` for a text nobody knows.
    """
    name = "standard input" if path == "-" else path
    data = read_bytes(path)
    if path.endswith(FACTS_FILE):
        return [_of_facts_file(name, data)]
    if data.lstrip()[:1] not in (b"{", b"["):
        return [imported(name, data, **options)]
    value = _json(data)
    if any(isinstance(row, dict) and ("schema" in row or "entries" in row) for row in value or ()):
        return _validated(name, data)
    try:
        return [imported(name, data, **options)]
    except UnknownFormat:
        if value is None and data.lstrip()[:1] == b"[":
            raise
        return _validated(name, data)


def stated(word: str) -> list[dict[str, Any]]:
    """Return the document that short facts state; raise ``UsageError`` or ``InvalidDocument`` naming the key."""
    from ..whatif import document

    try:
        return [document(word, say)]
    except InvalidDocument as error:
        raise InvalidDocument(f"facts: {error.field}", error.problem) from error


def _of_facts_file(name: str, data: bytes) -> dict[str, Any]:
    from ..settings import parse_toml
    from ..whatif import document_of_table

    try:
        table = parse_toml(decoded(data), "", name)
        return document_of_table(table, name, say)
    except InvalidDocument as error:
        raise InvalidDocument(f"{name}: {error.field}", error.problem) from error
    except UsageError as error:  # what stands in a file is input, however it is wrong
        raise InvalidDocument(name, str(error).removeprefix(f"{name}: ").removeprefix("facts: ")) from error


def _json(data: bytes) -> list[Any] | None:
    """Return the rows of JSON, ``None`` for a text that only begins as JSON does: cut, or lines of a log."""
    import json

    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, list) else [value]


def imported(name: str, data: bytes, **options: Any) -> dict[str, Any]:
    """Return the document that a dump states; raise ``UnknownFormat``."""
    from ..importers import import_text

    try:
        return import_text(decoded(data), name=name, **options)
    except InvalidDocument as error:
        raise InvalidDocument(f"{name}: {error.field}", error.problem) from error


def decoded(data: bytes) -> str:
    """Return text from the encodings that shells write: UTF-8, and UTF-16 with a mark (PowerShell)."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        return data.decode("utf-16", "replace")
    return data.decode("utf-8-sig", "replace")


def _validated(name: str, data: bytes) -> list[dict[str, Any]]:
    from ..canonical import parse
    from ..fingerprint.validate import validate

    try:
        value = parse(data, max_bytes=MAX_BYTES)
        rows = _rows(value)
        return [validate(row) for row in rows]
    except InvalidDocument as error:
        raise InvalidDocument(f"{name}: {error.field}", error.problem) from error


def _rows(value: Any) -> list[Any]:
    """Return the documents in a parsed file."""
    if isinstance(value, dict) and isinstance(value.get("entries"), list):
        return of_entries(value)
    rows = value if isinstance(value, list) else [value]
    if not rows:
        raise InvalidDocument("$", "expected at least one document, got an empty list")
    objects = [row for row in rows if isinstance(row, dict)]
    if objects and not any("schema" in row for row in objects):
        raise InvalidDocument("$", "this JSON is no document of repro-env, which would name its schema; expected what "
                                   "`repro-env capture -o FILE` writes, or a report that `repro-env import` knows")
    return rows


def of_entries(answer: dict[str, Any]) -> list[Any]:
    """Return the documents of a run as ``GET /v1/runs/ID`` answers them, with those of prologues that fill them."""
    seen = (*(answer.get("entries") or ()), *(answer.get("fillers") or ()))
    rows = [entry.get("document") for entry in seen if isinstance(entry, dict)]
    if not rows or None in rows:
        raise InvalidDocument("entries", "expected a run with its documents")
    return rows


def is_file(word: str) -> bool:
    """Tell whether an argument means a file: it is there, or it is written as files are."""
    return word == "-" or os.path.exists(word) or os.sep in word or word.endswith(_FILE_ENDS)


def is_facts(word: str) -> bool:
    """Tell whether an argument states facts: it begins with a key and an equals sign, and no file has that name."""
    from ..whatif.short import is_facts as has_their_form

    return "=" in word and has_their_form(word) and not word.endswith(_FILE_ENDS) and not os.path.exists(word)
