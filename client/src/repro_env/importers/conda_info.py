"""What ``conda info`` prints: its virtual packages tell what conda found of driver, C library and system.

Its "python version" is the one conda itself runs on, whatever environment is active.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from typing import Any

from . import inventory, open_json
from .format import Reading, Text

NAME = "conda-info"
MADE_BY = "conda info, mamba info"

_ROW = re.compile(r"([A-Za-z][A-Za-z. _-]{2,40}?) {0,40}: ?(.*)")
_VIRTUAL = re.compile(r"(__[a-z_]{2,30})=([\w.]{1,40})(?:=([\w.-]{1,60}))?")
#: rows that no other tool prints.
_OWN = frozenset(("active environment", "active env location", "shell level", "conda version", "conda-build version",
                  "virtual packages", "base environment", "populated config files", "channel URLs", "package cache",
                  "envs directories", "user config file", "libmamba version", "micromamba version", "mamba version",
                  "environment", "env location", "channels"))
_FEWEST = 3
_AGENT_KERNEL = re.compile(r" Linux/(\S{3,80})")
_AGENT_LIBC = re.compile(r" glibc/(\d\.\d{1,3})(?: |$)")
_CHANNEL_PLATFORM = re.compile(r"\S+/((?:linux|osx|win)-[a-z0-9]{2,8})")
_OVERRIDDEN = re.compile(r"CONDA_OVERRIDE_(CUDA|GLIBC|LINUX)\b")
_CUDA = re.compile(r"\d{1,2}\.\d{1,2}")
_MOST_LINES = 300
#: places at which a report is tried to begin.
_MOST_STARTS = 10

Virtual = list[tuple[str, str]]


def read(text: Text) -> Reading | None:
    """Return what the first report states, printed or as JSON."""
    printed = _printed(text.lines) if "conda version" in text.joined or "virtual packages" in text.joined else None
    return printed or (_json(text.lines) if '"conda_version"' in text.joined else None)


def _printed(lines: Sequence[str]) -> Reading | None:
    starts = (number for number, line in enumerate(lines) if ":" in line and _key(line) in _OWN)
    for start in itertools.islice(starts, _MOST_STARTS):
        rows, end = _rows(lines, start)
        if sum(key in _OWN for key in rows) >= _FEWEST:
            return _stated(lines, start, rows, end)
    return None


def _stated(lines: Sequence[str], start: int, rows: dict[str, list[str]], end: int) -> Reading:
    """Return what the rows of a printed report state."""
    virtual = [(match[1], match[2]) for line in rows.get("virtual packages", ())
               if (match := _VIRTUAL.fullmatch(line))]
    notes: list[str] = []
    platform = next(iter(rows.get("platform", ())), "") or _platform_of(rows.get("channel URLs", ()))
    sections = _sections(virtual, platform, _overridden(lines[start:start + _MOST_LINES]), notes)
    agent = next(iter(rows.get("user-agent", ())), "")
    kernel, libc = _AGENT_KERNEL.search(agent), _AGENT_LIBC.search(agent)
    if kernel:
        sections.setdefault("system", {})["kernel"] = kernel[1]
    if libc:
        sections.setdefault("system", {}).setdefault("libc", f"glibc {libc[1]}")
    if "python version" in rows:
        notes.append("python version is the one conda runs on, not the environment's")
    return Reading(NAME, sections, tuple(notes), start, not any(lines[end:]), end - start)


def _key(line: str) -> str | None:
    match = _ROW.fullmatch(line[:1000])
    return match[1] if match else None


def _rows(lines: Sequence[str], start: int) -> tuple[dict[str, list[str]], int]:
    """Return what stands behind each key and below it; the last line of the text may be broken."""
    rows: dict[str, list[str]] = {}
    current: list[str] = []
    end = start
    for number in range(start, min(start + _MOST_LINES, len(lines) - 1)):
        line = lines[number]
        match = _ROW.fullmatch(line[:1000])
        if match and not _VIRTUAL.fullmatch(line) and "://" not in match[1]:
            if match[1] in rows:
                break
            current = rows.setdefault(match[1], [match[2].strip()])
        elif not line or line == "```":
            break
        else:
            current.append(line)
        end = number + 1
    return rows, end


def _platform_of(channels: Iterable[str]) -> str:
    """Return the platform that the addresses of the channels name."""
    found = {match[1] for match in map(_CHANNEL_PLATFORM.fullmatch, channels) if match}
    return found.pop() if len(found) == 1 else ""


def _overridden(lines: Iterable[str]) -> set[str]:
    """Return the virtual packages that a variable sets, whatever the machine has."""
    return {f"__{match[1].lower()}" for line in lines if (match := _OVERRIDDEN.match(line))}


def _sections(virtual: Virtual, platform: str, overridden: set[str], notes: list[str]) -> inventory.Sections:
    """Return driver, C library and system as the virtual packages tell them."""
    sections: inventory.Sections = {}
    known = inventory.platform(platform)
    if known:
        sections.update(inventory.of_platform(*known))
    for name, version in virtual:
        if name in overridden:
            notes.append(f"{name} is set by a variable, not found: not believed")
        elif name == "__cuda" and _CUDA.fullmatch(version):
            sections["driver"] = {"cuda_level": version}
        elif name == "__glibc" and re.fullmatch(r"\d+\.\d+(?:\.\d+)?", version):
            sections.setdefault("system", {})["libc"] = f"glibc {version}"
    return sections


def _json(lines: Sequence[str]) -> Reading | None:
    opened = open_json.find(lines, lambda value: isinstance(value, dict) and "conda_version" in value)
    if opened is None:
        return None
    told: dict[str, Any] = opened.value
    virtual = [(str(item[0]), str(item[1])) for item in _list(told.get("virtual_pkgs"))
               if isinstance(item, list) and len(item) > 1]
    overridden = _overridden(told["env_vars"]) if isinstance(told.get("env_vars"), dict) else set()
    notes: list[str] = []
    sections = _sections(virtual, str(told.get("platform", "")), overridden, notes)
    return Reading(NAME, sections, tuple(notes), opened.first_line, opened.cut, opened.length)


def _list(value: Any) -> list[Any]:
    return value[:100] if isinstance(value, list) else []
