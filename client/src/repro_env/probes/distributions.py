"""Section ``distributions``: what is installed on the interpreter's path, from the names of metadata folders.

A name like ``numpy-2.1.0.dist-info`` says all that is needed; METADATA is read only where the name does not decide.
"""

from __future__ import annotations

import json

from ..fingerprint.facts import unread
from ..variables import without_credentials

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..system import System
    from .look import Look

#: how the names of metadata end; pip marks what it failed to remove with ``~`` in front.
_METADATA = (".dist-info", ".egg-info", ".egg-link")
_INDEX = {"origin": None, "revision": None, "editable": False}


class Found:
    """One distribution on the path: where its metadata lies and where its packages do."""

    __slots__ = ("folder", "metadata", "name", "version")

    def __init__(self, name: str, version: str | None, folder: str, metadata: str) -> None:
        self.name = name
        self.version = version
        self.folder = folder
        self.metadata = metadata


def probe(system: System, look: Look) -> dict[str, Any]:
    """Return every distribution on the path, with origin, and whether an earlier copy shadows it."""
    found, complete = scan(system, look)
    look.sources["distributions"] = "distribution-metadata"
    seen: dict[str, Found] = {}
    rows = []
    for item in found:
        first = seen.setdefault(item.name, item)
        if first is not item and first.version == item.version and item.metadata.endswith(".egg-info"):
            continue  # the build folder of an editable install says the same again
        rows.append({"name": item.name, "version": item.version or unread("not-reported"), **origin(system, item),
                     "shadowed": first is not item, "record_digest": unread("not-recorded")})
    rows.sort(key=lambda row: (row["name"], str(row["version"]), row["shadowed"]))
    return {"installed": rows, "complete": complete}


def scan(system: System, look: Look) -> tuple[list[Found], bool]:
    """Return the distributions in the order of the path, and whether all its folders could be read; read once."""
    if "distributions" not in look.findings:
        found: list[Found] = []
        entries: list[tuple[str, list[str]]] = []
        complete = True
        for folder in look.interpreter.path:
            try:
                names = system.list_dir(folder)
            except OSError:
                complete = False
                look.failed("distributions", "denied", "a folder on the interpreter's path could not be read")
                continue
            entries.append((folder, names))
            found.extend(item for item in (_found(system, folder, name) for name in names
                                           if name.endswith(_METADATA) and name[0] != "~") if item)
        look.findings["distributions"] = (found, complete)
        look.findings["entries"] = entries
    return look.findings["distributions"]  # type: ignore[no-any-return]  # findings hold values of any kind


def in_folder(system: System, folder: str, names: list[str]) -> dict[str, Found]:
    """Return the distributions among the ``names`` in a folder, by normalised name."""
    items = (_found(system, folder, name) for name in names if name.endswith(_METADATA) and name[0] != "~")
    return {item.name: item for item in items if item}


def first_by_name(system: System, look: Look) -> dict[str, Found]:
    """Return the distribution that an import would find, by normalised name."""
    found, _ = scan(system, look)
    first: dict[str, Found] = {}
    for item in found:
        first.setdefault(item.name, item)
    return first


def holding(system: System, look: Look, entry: str) -> str | None:
    """Return the first folder on the path with an entry of that name, whether or not a distribution owns it."""
    scan(system, look)
    for folder, names in look.findings["entries"]:
        if entry in names:
            return str(folder)
    return None


def normalised(name: str) -> str:
    """Return the PEP 503 form of a distribution name."""
    return "-".join(part for part in name.lower().replace("_", "-").replace(".", "-").split("-") if part)


def _found(system: System, folder: str, entry: str) -> Found | None:
    metadata = f"{folder}/{entry}"
    stem, _, kind = entry.rpartition(".")
    if kind == "egg-link":
        return _linked(system, folder, stem, metadata)
    parts = stem.split("-")
    if kind == "egg-info" and len(parts) == 3 and parts[2].startswith("py"):
        parts = parts[:2]
    if len(parts) == 2 and parts[1][:1].isdigit():
        return Found(normalised(parts[0]), parts[1], folder, metadata)
    name, version = _headers(system, [f"{metadata}/METADATA", f"{metadata}/PKG-INFO", metadata])
    if name is None and kind == "dist-info" and len(parts) != 2:
        return None
    return Found(normalised(name or parts[0]), version, folder, metadata)


def _linked(system: System, folder: str, name: str, link: str) -> Found | None:
    """Return a distribution that setuptools' develop mode linked to its source folder."""
    try:
        target = system.read_text(link, 4096).splitlines()[0].strip()
    except (OSError, IndexError):
        return None
    _, version = _headers(system, [f"{target}/{name.replace('-', '_')}.egg-info/PKG-INFO"])
    return Found(normalised(name), version, target, link)


def _headers(system: System, paths: list[str]) -> tuple[str | None, str | None]:
    """Return Name and Version from the first file of ``paths`` that can be read."""
    for path in paths:
        try:
            lines = system.read_text(path, 8192).splitlines()
        except OSError:
            continue
        fields: dict[str, str] = {}
        for line in lines:
            if not line:
                break
            key, _, value = line.partition(":")
            fields.setdefault(key.lower(), value.strip())
        return fields.get("name"), fields.get("version")
    return None, None


def origin(system: System, item: Found) -> dict[str, Any]:
    """Return origin, revision and editable of a distribution from its PEP 610 record; an index leaves none."""
    if item.metadata.endswith(".egg-link"):
        return {"origin": f"file://{item.folder}", "revision": None, "editable": True}
    if not item.metadata.endswith(".dist-info"):
        return _INDEX
    try:
        record = direct_url(system, item)
    except FileNotFoundError:
        return _INDEX
    except (OSError, ValueError):
        return dict.fromkeys(_INDEX, unread("failed"))
    return parse_origin(record)


def direct_url(system: System, item: Found) -> Any:
    """Return the PEP 610 record as it stands, with names of people in it; raise ``OSError`` or ``ValueError``."""
    return json.loads(system.read_text(f"{item.metadata}/direct_url.json"))


def parse_origin(record: Any) -> dict[str, Any]:
    """Return the facts of a parsed ``direct_url.json``, without credentials."""
    if not isinstance(record, dict) or not isinstance(record.get("url"), str):
        return dict.fromkeys(_INDEX, unread("failed"))
    url = without_credentials(record["url"])
    vcs, folder = (record[key] if isinstance(record.get(key), dict) else {} for key in ("vcs_info", "dir_info"))
    kind, revision = vcs.get("vcs"), vcs.get("commit_id")
    return {"origin": f"{kind}+{url}" if isinstance(kind, str) else url,
            "revision": revision if isinstance(revision, str) else None,
            "editable": bool(folder.get("editable", False))}
