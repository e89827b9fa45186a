"""What ``conda env export`` prints, and environment files that people write in the same form."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from .. import variables
from . import inventory, pip_freeze, plain, rows, yaml_subset
from .format import Reading, Text
from .rows import Row
from .words import NOT_RECORDED

NAME = "conda-env-export"
MADE_BY = "conda env export"

_DEPENDENCIES = re.compile(r"dependencies\s*:\s*(?:#.*)?")
_ABOVE = re.compile(r"[A-Za-z_]\w{0,40}\s*:(?: .*)?|- .*|#.*|")
_SPEC = re.compile(r"(?:([\w./:-]{1,200})::)?([A-Za-z0-9_][\w.-]{0,120})(?:\s{0,4}(={1,2})\s{0,4}(\d[\w.+!-]{0,120})"
                   r"(?:=([\w.+-]{1,120}))?)?")
#: keys by which an environment file of conda is told from other files with dependencies.
_OWN = frozenset(("channels", "prefix", "name"))
#: files of other tools that have dependencies too.
_FOREIGN = frozenset(("build_dependencies", "apiVersion", "services", "environment"))
_PARTS_OF_A_RELEASE = 3


@dataclass(frozen=True)
class Environment:
    """An environment file: its keys, and what was understood of the packages."""

    value: dict[str, Any]
    conda: tuple[Row, ...]
    pip: tuple[Row, ...]
    bounds: int  #: packages that are named without the version that was installed
    exported: bool  #: every package of conda stands there with its build: a tool wrote down what it found
    first_line: int
    last_line: int
    refused: int  #: lines that were not understood
    cut: bool

    @property
    def is_mlflows(self) -> bool:
        """Whether MLflow wrote it beside a model."""
        return self.value.get("name") == "mlflow-env" or any(row.name.startswith("mlflow") for row in self.pip)

    @property
    def keys(self) -> int:
        """How many lines were recognised."""
        return self.last_line - self.first_line + 1 - self.refused


def read(text: Text) -> Reading | None:
    """Return what an environment file states that no other tool wrote."""
    found = find(text)
    if found is None or (found.is_mlflows and not found.exported):
        return None
    notes = remarks(found)
    if not found.exported:
        notes.insert(0, "an environment file without builds says what was asked for, not what was installed")
    whole = (not found.cut and list(found.value)[-1] != "dependencies") or None
    sections = inventory.sections([*found.pip, *found.conda], notes, whole=whole) if found.exported \
        else asked_for(found, notes)
    values = _variables(found.value.get("variables"))
    if values:
        sections["variables"] = {"values": values}
    return Reading(NAME, sections, tuple(notes), found.first_line, found.cut, found.keys)


def find(text: Text) -> Environment | None:
    """Return the first environment file in a text."""
    if "dependencies" not in text.joined:
        return None
    place = next((number for number, line in enumerate(text.lines) if _DEPENDENCIES.fullmatch(line)), None)
    if place is None:
        return None
    lines = plain.indented(text.raw)
    return _at(lines, _first_line(lines, place))


def asked_for(found: Environment, notes: list[str]) -> inventory.Sections:
    """Return the facts of a file that names packages without builds; its Python is the interpreter, no distribution."""
    python = next((row for row in found.conda if row.name == "python"), None)
    sections = inventory.sections([*found.pip, *(row for row in found.conda if row is not python)], notes)
    return {**sections, "python": {"version": python.version}} if python is not None else sections


def remarks(found: Environment) -> list[str]:
    """Return what is to be said of a file beside its facts."""
    notes = []
    if found.bounds:
        notes.append(f"{found.bounds} packages are named without an installed version: not imported")
    if found.refused:
        notes.append(f"{found.refused} lines of the file are of a kind that is not read: left out")
    return notes


def _first_line(lines: list[str], place: int) -> int:
    """Return where the file begins that has its dependencies at ``place``."""
    base = len(lines[place]) - len(lines[place].lstrip())
    first = place
    for number in range(place - 1, max(-1, place - 200), -1):
        content = lines[number].strip()
        indent = len(lines[number]) - len(lines[number].lstrip())
        if not _ABOVE.fullmatch(content[:600]) or (content and indent < base):
            break
        if content and not content.startswith(("#", "- ")) and indent == base:
            first = number
    return first


def _at(lines: list[str], first: int) -> Environment | None:
    document = yaml_subset.parse(lines, first)
    value = document.value
    items = value.get("dependencies") if isinstance(value, dict) else None
    if not isinstance(items, list) or _FOREIGN & value.keys():
        return None
    specs = [item for item in items if isinstance(item, str)]
    matches = [match for match in (_SPEC.fullmatch(spec.strip()[:500]) for spec in specs) if match]
    pip = [line for item in items if isinstance(item, dict) for line in item.get("pip") or () if isinstance(line, str)]
    if not matches or not (_OWN & value.keys() or any(match[2] == "python" for match in matches)):
        return None
    exported = all(match[5] for match in matches) and len(matches) == len(specs)
    conda = [row for row in (_row(match, exact=exported) for match in matches) if row.version is not None]
    found = [row for row in map(pip_freeze.row_of, pip) if row]
    if exported:
        found = [_of_pip(row) for row in found]
    bounds = len(specs) - len(conda) + len(pip) - len(found)
    return Environment(value, tuple(conda), tuple(found), bounds, exported, first, document.last_line,
                       len(document.refused), document.cut)


def _row(match: re.Match[str], *, exact: bool) -> Row:
    """Return the row of one package; a version of two parts behind one sign of equality stands for all that follow."""
    version = match[4]
    if version is not None and not exact and match[3] == "=" and not match[5] \
            and version.count(".") + 1 < _PARTS_OF_A_RELEASE and match[2] != "python":
        version = None
    row = rows.of_conda(match[2], version or "", match[5] or "", match[1] or rows.BROKEN)
    return row if version is not None else Row(row.name, None, conda=True, build=row.build, channel=row.channel)


def _of_pip(row: Row) -> Row:
    """Return a row that conda lists as installed by pip."""
    return Row(row.name, row.version, conda=True, build="pypi_0", channel="pypi", source=row.source)


def _variables(value: Any) -> dict[str, Any]:
    """Return the variables that the environment sets, as far as they are allow-listed."""
    if not isinstance(value, dict):
        return {}
    environ = {name: text for name, text in value.items() if isinstance(text, str)}
    values, _ = variables.read(environ)
    return {name: values[name] for name in environ if name in values and values[name] != NOT_RECORDED}
