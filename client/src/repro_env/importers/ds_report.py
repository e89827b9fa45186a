"""DeepSpeed's ``ds_report``: labels and values joined by rows of dots.

Its "nvcc version" is the toolkit on the machine, its "torch cuda version" what torch was built with; the words behind
"wheel compiled w." are of the machine that built DeepSpeed.
"""

from __future__ import annotations

import re
from typing import Any

from . import inventory, listing
from .format import Reading, Text
from .words import NOT_RECORDED, is_silent, version_fact

NAME = "ds-report"
MADE_BY = "ds_report"

_MARK = re.compile(r"DeepSpeed (?:C\+\+/CUDA extension op report|general environment info)")
_ROW = re.compile(r"(torch install path|torch version|deepspeed install path|deepspeed info|torch cuda version"
                  r"|torch hip version|nvcc version|deepspeed wheel compiled w\.|shared memory \(/dev/shm\) size)"
                  r"\s*\.{2,}\s*(.{0,400})", re.IGNORECASE)
_ACCELERATOR = re.compile(r"Setting (?:ds_accelerator|accelerator) to (\w+)(?: \(([\w -]{1,40})\))?")
_OPERATOR = re.compile(r"([a-z]\w{1,40})[ .]*\[(YES|NO)\][ .]*\[(?:OKAY|NO)\]")
_SITE = re.compile(r"[/\\]python(3\.\d{1,2})[/\\](?:site|dist)-packages[/\\]")
_MOST_LINES = 5000


def read(text: Text) -> Reading | None:
    """Return what the first report states."""
    if not any(word in text.joined for word in ("DeepSpeed", "torch version", "torch install path")):
        return None
    lines = listing.whole_lines(text)
    marks = [number for number, line in enumerate(lines) if _MARK.match(line[:120])]
    rows = [(number, match) for number, match in enumerate(_ROW.match(line[:500]) for line in lines) if match]
    if not marks and len(rows) < 2:
        return None
    first = min([*marks[:1], *(number for number, _ in rows[:1])])
    notes: list[str] = []
    values: dict[str, str] = {}
    for number, match in rows:
        label = match[1].lower()
        if label in values:
            notes.append(f"the text holds another such report at line {number + 1}: not imported")
            break
        values[label] = match[2].strip()
    if not is_silent(values.get("deepspeed wheel compiled w.", "")):
        notes.append(f"DeepSpeed was compiled with: {values['deepspeed wheel compiled w.']}")
    _remark(text, notes)
    return Reading(NAME, _sections(values, notes), tuple(notes), first, "nvcc version" not in values,
                   len(values) + len(marks))


def _sections(values: dict[str, str], notes: list[str]) -> dict[str, dict[str, Any]]:
    info = values.get("deepspeed info", "").split(", ")
    rows = []
    version = version_fact(values.get("torch version"))
    if isinstance(version, str):
        rows.append(inventory.pip_row("torch", version))
    if isinstance(version_fact(info[0] or None), str):
        rows.append(inventory.pip_row("deepspeed", info[0]))
    sections = inventory.sections(rows, notes)
    torch = sections["frameworks"]["torch"]
    if isinstance(version, str):
        torch.update(_builds(values, torch))
    toolkit = values.get("nvcc version")
    sections["libraries"]["cuda_toolkit"] = version_fact(toolkit)
    sites = {match[1] for path in ("torch install path", "deepspeed install path")
             for match in _SITE.finditer(values.get(path, ""))}
    if len(sites) == 1:
        sections["python"] = {"version": sites.pop()}
    return sections


def _builds(values: dict[str, str], torch: dict[str, Any]) -> dict[str, Any]:
    """Return what torch was built with: by the report's own rows where they say it."""
    told, hip = values.get("torch cuda version"), values.get("torch hip version")
    cuda = torch["cuda_build"] if told is None else None if told == "None" else version_fact(told)
    rocm = torch["rocm_build"] if hip is None else None if hip == "None" else version_fact(hip)
    return {"cuda_build": cuda, "rocm_build": rocm,
            "arch_list": None if cuda is None and rocm is None else NOT_RECORDED}


def _remark(text: Text, notes: list[str]) -> None:
    """Note the accelerator that the report's own process chose, and operators that were built beforehand."""
    lines = [line[:400] for line in listing.whole_lines(text)[:_MOST_LINES]]
    chosen = list(filter(None, map(_ACCELERATOR.search, lines)))
    if chosen:
        how = f" ({chosen[-1][2]})" if chosen[-1][2] else ""
        notes.append(f"accelerator that DeepSpeed chose: {chosen[-1][1]}{how}")
    built = [match[1] for match in map(_OPERATOR.match, lines) if match and match[2] == "YES"]
    if built:
        notes.append("operators built beforehand: " + ", ".join(dict.fromkeys(built)))
