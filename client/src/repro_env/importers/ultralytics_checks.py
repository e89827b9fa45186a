"""Ultralytics' ``yolo checks``, and the line with which YOLOv5 and its followers begin every run.

The line packs package, Python, torch and devices; the rows below say more since 2024. Its memory is what torch can
use, its processor's name is shortened, and what stands behind ``>=`` is what a package must be at least.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from . import devices, host, inventory, listing, platforms
from .format import Reading, Text
from .plain import FENCE
from .rows import Row
from .words import NOT_RECORDED, is_silent, version_fact

NAME = "ultralytics-checks"
MADE_BY = "yolo checks"

_HEAD = re.compile(r".{0,40}?(?:Ultralytics|YOLOv\d)\s.{0,60}?torch[- ](\d[\w.+]{1,40})\s(.{1,200})")
_PACKAGE = re.compile(r"Ultralytics (?:YOLOv?)?(\d+\.\d+\.\d+)\b")
_PYTHON = re.compile(r"Python-(\d+\.\d+\.\d+\S*)\s")
_DEVICE = re.compile(r"CUDA:(\d{1,3}) \(([^()]{2,80}(?:\([^()]{0,20}\)[^()]{0,40})?), (\d{1,7}(?:\.\d+)?)M(?:i?B)\)")
_CPUS = re.compile(r"Setup complete .{0,4}\((\d{1,4}) CPUs, ")
_LABELS = ("OS", "Environment", "Python", "Install", "Path", "RAM", "Disk", "CPU", "CPU count", "GPU", "GPU count",
           "CUDA")
_ROW = re.compile(r"(" + "|".join(sorted(_LABELS, key=len, reverse=True)) + r")\s{1,60}(\S.{0,300})")
#: a copy may lose the mark; what the package must be tells the row then.
_REQUIREMENT = re.compile(r"([A-Za-z][\w.-]{0,60})\s{1,60}(?:(?:\u2705|\u274c)\ufe0f?\s{0,4}"
                          r"|(?=\d[\w.+-]{0,60}[<>=!~]=?\d))(\d[\w.+-]{0,60})(?:\s*[<>=!~;,].{0,200})?")
_NAMED = re.compile(r"(.{2,100}), (\d{1,7})MiB")
_MOST_LINES = 200


def read(text: Text) -> Reading | None:
    """Return what the first report states."""
    lines = listing.whole_lines(text) if "torch" in text.joined or "Environment" in text.joined else ()
    first = next((number for number, line in enumerate(lines)
                  if "torch" in line and _HEAD.match(line[:400])), None)
    if first is None:
        first = _first_row(lines)
        if first is None:
            return None
    notes: list[str] = []
    head = _HEAD.match(lines[first][:400])
    gpus, below = _chosen(lines, first)
    values, packages = _below(lines, below)
    keys = len(values) + len(packages) + 3 * bool(head)
    packages[:0] = _packages_of(lines[first])
    sections = _sections(values, packages, notes)
    python = _PYTHON.search(lines[first] + " ") if head else None
    told = python[1] if python else values.get("Python", "")
    if told:
        sections["python"] = host.python_of(told)
    sections.update(_machine(values, lines, first, told, notes))
    sections.update(_gpus(values, gpus, notes, whole=any(lines[below:])))
    return Reading(NAME, sections, tuple(notes), first, keys=keys)


def _first_row(lines: Sequence[str]) -> int | None:
    """Return where the rows begin when the line above them is missing: three in their order."""
    for number, line in enumerate(lines):
        match = _ROW.fullmatch(line[:400])
        if match and match[1] == "OS":
            following = [_ROW.fullmatch(other[:400]) for other in lines[number + 1:number + 4]]
            if [row[1] for row in following if row] == ["Environment", "Python", "Install"]:
                return number
    return None


def _chosen(lines: Sequence[str], first: int) -> tuple[list[tuple[str, str]], int]:
    """Return name and memory of the devices that the run chose, one a line, and where the lines below begin."""
    gpus = _DEVICE.findall(lines[first][:4000])
    number = first + (_HEAD.match(lines[first][:400]) is not None)
    while gpus and number < len(lines) and _DEVICE.fullmatch(lines[number][:200]):
        gpus += _DEVICE.findall(lines[number][:200])
        number += 1
    return [(name, memory) for _, name, memory in gpus], number


def _below(lines: Sequence[str], first: int) -> tuple[dict[str, str], list[Row]]:
    """Return the rows and the packages below the first line."""
    values: dict[str, str] = {}
    packages: list[Row] = []
    for line in lines[first:first + _MOST_LINES]:
        if line == FENCE or _HEAD.match(line[:400]):
            break
        row, requirement = _ROW.fullmatch(line[:400]), _REQUIREMENT.fullmatch(line[:400])
        if row:
            values.setdefault(row[1], row[2].strip())
        elif requirement:
            packages.append(inventory.pip_row(requirement[1], requirement[2]))
    return values, packages


def _packages_of(line: str) -> list[Row]:
    head, package = _HEAD.match(line[:400]), _PACKAGE.search(line)
    rows = [inventory.pip_row("torch", head[1])] if head else []
    return [*rows, *([inventory.pip_row("ultralytics", package[1])] if package else [])]


def _sections(values: dict[str, str], packages: list[Row], notes: list[str]) -> dict[str, dict[str, Any]]:
    """Return frameworks and distributions: torch by its own word, whose row may lack the label."""
    own = next((row.version for row in packages if row.name == "torch"), None)
    rows = [row for row in packages if row.name != "torch" or row.version == own]
    sections = inventory.sections(rows, notes)
    torch = sections["frameworks"]["torch"]
    cuda = version_fact(values.get("CUDA"))
    if isinstance(torch, dict) and "version" in torch and isinstance(cuda, str):
        torch.update(cuda_build=cuda, rocm_build=None)
    return sections


def _machine(values: dict[str, str], lines: Sequence[str], first: int, python: str,
             notes: list[str]) -> dict[str, dict[str, Any]]:
    sections = platforms.sections(values.get("OS", ""), python or NOT_RECORDED, notes)
    cores = next((match[1] for match in map(_CPUS.match, lines[first:first + 12]) if match), values.get("CPU count"))
    if _count(cores or ""):
        sections.setdefault("cpu", {})["cores"] = _count(cores or "")
    if not is_silent(values.get("CPU", "")):
        notes.append(f"processor, its name shortened: {values['CPU']}")
    if values.get("Environment") == "Docker":
        notes.append("the report was made inside a container")
    return sections


def _gpus(values: dict[str, str], found: list[tuple[str, str]], notes: list[str], *,
          whole: bool) -> dict[str, dict[str, Any]]:
    """Return the devices: those that the run chose, else the first, whose name stands for as many as are counted."""
    row = _NAMED.fullmatch(values.get("GPU", ""))
    count = _count(values.get("GPU count", ""))
    if row and not found:
        found, whole = [(row[1], row[2])] * max(1, count), count > 0
        if count > 1:
            notes.append(f"{count} GPUs are counted and one is named: taken for all")
    if not found:
        return {}
    notes.append("memory that torch can use: " + ", ".join(f"{memory} MiB" for _, memory in found))
    return {"accelerators": devices.section([devices.named(name) for name, _ in found], notes,
                                            whole=whole and count <= len(found))}


def _count(told: str) -> int:
    return int(told) if told.isascii() and told.isdigit() and len(told) < 4 else 0
