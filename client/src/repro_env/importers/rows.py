"""The rows under "Versions of relevant libraries": pip's and conda's words on what is installed.

Owns which rows are believed: pip's row is the importable one, conda rows of another environment are not this one's.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from ..variables import without_credentials
from .dump import MOST_LINES, Dump
from .words import NOT_RECORDED, is_silent

_PIP = re.compile(r"\[(?:pip\d?|uv)\]\s+([A-Za-z0-9][\w.-]{0,120})(?:\s*===?\s*|\s+\(?)([\w.+!-]{1,120})\)?(?:\s.*)?")
_PIP_DIRECT = re.compile(r"\[(?:pip\d?|uv)\]\s+([A-Za-z0-9][\w.-]{0,120})\s+@\s+\S+.*")
_CONDA = re.compile(
    r"\[conda\]\s+([A-Za-z0-9_][\w.-]{0,120})\s+(\d[\w.+!-]{0,120})\s+(\S{1,200})(?:\s+(\S{1,200}))?(?:\s.*)?")
_TAG = re.compile(r"py([23])\.?(\d{1,2})(?=\D|$)")
_CHANNEL_TOKEN = re.compile(r"^(https?://[^/]*)/t/[^/]*/")
_SECTION = "Versions of relevant libraries"
#: stands for a build or channel of which the text may hold only the beginning.
BROKEN = "?"
_CONDA_MARK = "[conda]"
#: conda's names for the distribution torch.
_TORCH_NAMES = ("pytorch", "pytorch-nightly")


@dataclass(frozen=True)
class Row:
    """One package as one installer lists it."""

    name: str
    version: str | None
    conda: bool
    build: str = ""
    channel: str = ""
    #: origin, revision and editable as ``distributions`` has them, where the list tells them.
    source: dict[str, Any] = field(default_factory=dict)

    @property
    def by_pip(self) -> bool:
        """Whether pip installed it, though conda may list it."""
        return not self.conda or self.build.startswith("pypi") or self.build == "<pip>" or self.channel == "pypi"


@dataclass(frozen=True)
class Packages:
    """Rows that are believed, by normalised name, and how much of the list the text holds."""

    rows: dict[str, Row]
    #: conda said something after pip's rows, so pip's list is whole.
    pip_is_whole: bool
    #: conda's rows, which are sorted, reach to where torch would stand.
    conda_reaches_torch: bool
    notes: tuple[str, ...]

    def version(self, name: str) -> str | None:
        """Return the version of a believed row."""
        row = self.rows.get(name)
        return row.version if row else None


def normalised(name: str) -> str:
    """Return the PEP 503 form of a distribution's name."""
    return re.sub(r"[-_.]+", "-", name).strip("-").lower()


def packages(dump: Dump, python: Any) -> Packages:
    """Return what the rows say, with a note for each thing that was not believed."""
    field = dump.fields.get(_SECTION)
    lines = _joined(field.lines[:MOST_LINES]) if field else []
    if field is not None and field.cut and len(field.lines) > 1:
        lines = lines[:-1]
    elif field is not None and field.at_end and lines:
        lines = [*lines[:-1], _without_last_column(lines[-1])]
    pip = [row for row in map(_pip_row, lines) if row]
    conda = [row for row in map(_conda_row, lines) if row]
    notes: list[str] = []
    rows_of_conda = [line[len(_CONDA_MARK):].strip() for line in lines if line.startswith(_CONDA_MARK)]
    reaches = any(row.lower() == "could not collect" or row.lower() >= "torch" for row in rows_of_conda)
    tags = _python_tags(conda)
    if tags and isinstance(python, str) and ".".join(python.split(".")[:2]) not in tags:
        notes.append("the conda rows are of another environment (built for another Python): not believed")
        conda = []
    elif not tags and not reaches:
        conda = []  # rows further on would have told of which environment they are
    return Packages(chosen([*pip, *conda], notes), bool(rows_of_conda), reaches, tuple(notes))


def distributions(found: Packages) -> dict[str, Any]:
    """Return the section ``distributions``: a selection, as the text holds no more."""
    return listed(found.rows, complete=False)


def listed(rows: dict[str, Row], *, complete: bool | None) -> dict[str, Any]:
    """Return the section ``distributions`` of rows by name. ``complete``: ``None`` where the text does not show it."""
    whole = NOT_RECORDED if complete is None else complete
    if not rows:
        return {"installed": NOT_RECORDED, "complete": whole if complete is None else False}
    installed = [{
        "name": name, "version": row.version if row.version is not None else NOT_RECORDED,
        "origin": NOT_RECORDED if row.by_pip or BROKEN in (row.build, row.channel)
        else f"conda:{channel_of(row)}",
        "revision": NOT_RECORDED, "editable": NOT_RECORDED, "shadowed": NOT_RECORDED, "record_digest": NOT_RECORDED,
        **row.source,
    } for name, row in sorted(rows.items())]
    return {"installed": installed, "complete": whole}


def channel_of(row: Row) -> str:
    """Return the channel of a row; an address without its password, or the token that conda has after ``/t/``."""
    return _CHANNEL_TOKEN.sub(r"\1/", without_credentials(row.channel)) if row.channel else "defaults"


def _joined(lines: list[str]) -> list[str]:
    """Return the rows, each with the lines it was wrapped to."""
    rows: list[str] = []
    after_row = False
    for line in lines:
        if line.startswith("["):
            rows.append(line)
            after_row = True
        elif line and after_row and len(line.split()) <= 3 and len(rows[-1]) < 400:
            rows[-1] = f"{rows[-1]} {line}"
        else:
            after_row = False
    return rows


def _without_last_column(row: str) -> str:
    """Return a row at the very end of a text with the column that may be broken replaced by ``BROKEN``."""
    columns = row.split()
    whole = len(columns) < 4 or row.lower().endswith("could not collect") or columns[-1] in ("<pip>", "pypi", "pypi_0")
    return row if whole else " ".join([*columns[:-1], BROKEN])


def _pip_row(line: str) -> Row | None:
    match = _PIP.fullmatch(line[:600])
    if match and match[2][0].isdigit():
        return Row(normalised(match[1]), match[2], conda=False)
    direct = _PIP_DIRECT.fullmatch(line[:600])
    return Row(normalised(direct[1]), None, conda=False) if direct else None


def _conda_row(line: str) -> Row | None:
    match = _CONDA.fullmatch(line[:600])
    if match is None or is_silent(line.partition("]")[2]):
        return None
    return of_conda(match[1], match[2], match[3], match[4] or "")


def of_conda(name: str, version: str, build: str, channel: str) -> Row:
    """Return a row of conda's, torch by the name of its distribution."""
    row = Row(normalised(name), version, conda=True, build=build, channel=channel)
    return replace(row, name="torch") if row.name in _TORCH_NAMES and not row.by_pip else row


def _python_tags(conda: list[Row]) -> set[str]:
    """Return the Pythons that conda's builds are for."""
    return {f"{match[1]}.{match[2]}" for row in conda if not row.by_pip for match in _TAG.finditer(row.build)}


def chosen(rows: Iterable[Row], notes: list[str]) -> dict[str, Row]:
    """Return the believed row of each name, which is the first, and note what a later one says otherwise."""
    believed: dict[str, Row] = {}
    for row in rows:
        first = believed.get(row.name)
        if first is None:
            believed[row.name] = row
        elif first.version != row.version and first.version is not None and row.version is not None:
            whose = "conda" if row.conda else "pip"
            notes.append(f"{row.name} is listed as {first.version} and, by {whose}, as {row.version}: "
                         "the first is kept")
    return believed


def conda_build(dump: Dump, version: str) -> Row | None:
    """Return conda's own row of torch when it is the torch that was imported."""
    field = dump.fields.get(_SECTION)
    for line in _joined(field.lines[:MOST_LINES]) if field else []:
        row = _conda_row(line)
        if row and row.name == "torch" and row.version == version and not row.by_pip:
            return row
    return None
