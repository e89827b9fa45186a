"""Lightning's ``collect_env_details.py``: four lists under ``* CUDA``, ``* Lightning``, ``* Packages``, ``* System``.

Its GPUs are those that torch sees, its CUDA "version" is what torch was built with.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from . import devices, host, inventory, listing
from .format import Reading, Text
from .plain import FENCE
from .processor import ARCHITECTURES
from .rows import Row, normalised
from .words import NOT_RECORDED, NOT_REPORTED, is_silent, switch_fact, version_fact

NAME = "lightning-collect-env"
MADE_BY = "Lightning's collect_env_details.py"

_TITLE = re.compile(r"[*\u2022-]?\s{0,4}\**(CUDA|Lightning|Packages|System)\**\s?:?\**\s{0,4}")
_TITLES = re.compile(r"CUDA|Lightning|Packages|System")
_STARRED = re.compile(r"[*\u2022]\s{0,4}\**(?:CUDA|Lightning|Packages|System)\**\s?:\**\s{0,4}")
_ITEM = re.compile(r"[-*\u2022]\s{0,40}([\w.()\[\]-][\w .()\[\]-]{0,80}?)\s{0,40}:\s{0,200}(.{0,400})")
_BARE_ITEM = re.compile(r"[-*\u2022]\s{1,40}(\S.{0,120})")
#: the titles of the first versions, which mark neither titles nor rows.
_FIRST_TITLES = {"cuda:": "* CUDA:", "packages:": "* Packages:", "system:": "* System:"}
_TORCH_NAMES = {"pytorch_version": "torch", "pytorch version": "torch"}
_FAMILIES = {"linux": "linux", "darwin": "macos", "windows": "windows"}
_PROCESSOR = re.compile(r"(?:Intel64|AMD64|x86) Family (\d{1,3}) Model (\d{1,3}) Stepping \d{1,3}, (\w{4,20})")
_MOST_LINES = 5000


@dataclass
class Details:
    """What stands under each title: values by label, and the GPUs in their order."""

    first_line: int
    lists: dict[str, dict[str, str]] = field(default_factory=dict)
    gpus: list[str] = field(default_factory=list)
    #: something follows the list of GPUs, so it is whole.
    gpus_end: bool = False
    cut: bool = False


def read(text: Text) -> Reading | None:
    """Return what the first report states."""
    found, notes = _find(text), []  # type: tuple[Details | None, list[str]]
    if found is None:
        return None
    sections = _software(found, notes)
    sections.update(_system(found.lists.get("System", {})))
    gpus = [devices.named(name) for name in found.gpus if not is_silent(name)]
    if gpus:
        sections["accelerators"] = devices.section(gpus, notes, whole=found.gpus_end)
        if not found.gpus_end:
            notes.append("the text ends in the list of GPUs: there may be more than it shows")
    elif "GPU" in found.lists.get("CUDA", {}):
        sections["accelerators"] = {"devices": NOT_REPORTED}
    available = found.lists.get("CUDA", {}).get("available")
    if available in ("True", "False"):
        notes.append(f"Is CUDA available: {available}")
    keys = len(found.gpus) + sum(map(len, found.lists.values())) + len(found.lists)
    return Reading(NAME, sections, tuple(notes), found.first_line, found.cut, keys)


def _find(text: Text) -> Details | None:
    lines = listing.whole_lines(text) if _TITLES.search(text.joined) else ()
    lines = lines or (_marked(listing.whole_lines(text)) if "pyTorch_version:" in text.joined else ())
    first = next((number for number, line in enumerate(lines) if _STARRED.fullmatch(line[:60])), None)
    if first is None:
        return None
    found = Details(first)
    title = label = ""
    for number in range(first, min(len(lines), first + _MOST_LINES)):
        line = lines[number][:600]
        heading = _TITLE.fullmatch(line) if ":" in line else None
        if heading and (heading[1] in found.lists or line == FENCE):
            break
        if heading:
            title, label = heading[1], ""
            found.lists[title] = {}
        elif line == FENCE or not _take(found, title, label, line):
            break
        else:
            label = _label(line) or label
        found.gpus_end = found.gpus_end or bool(found.gpus and (heading or label != "GPU"))
    else:
        number += 1
    found.gpus_end = found.gpus_end or (bool(found.gpus) and any(lines[number:]))
    found.cut = "System" not in found.lists
    return found if _is_one(found) else None


def _marked(lines: Sequence[str]) -> Sequence[str]:
    """Return the lines of a report of the first versions with the marks that later ones set."""
    if "cuda:" not in lines:
        return ()
    return [_FIRST_TITLES.get(line, line if not line or line == FENCE else f"- {line}") for line in lines]


def _is_one(found: Details) -> bool:
    """Tell whether what stands under the titles is Lightning's: a list of that name may stand anywhere."""
    cuda, system = found.lists.get("CUDA", {}), found.lists.get("System", {})
    return bool({"available", "GPU", "version"} & cuda.keys() or {"OS", "python", "processor"} & system.keys()
                or found.lists.get("Lightning") or "pyTorch_version" in found.lists.get("Packages", {}))


def _label(line: str) -> str:
    item = _ITEM.fullmatch(line)
    return item[1] if item else ""


def _take(found: Details, title: str, label: str, line: str) -> bool:
    """Read one line below a title; tell whether it belongs to the report."""
    if not line:
        return True
    item = _ITEM.fullmatch(line)
    if title == "CUDA" and label == "GPU" and (item is None or item[1] not in ("available", "version")):
        bare = _BARE_ITEM.fullmatch(line)
        if bare:
            found.gpus.append(bare[1])
        return bare is not None
    if item:
        found.lists[title].setdefault(item[1], item[2].strip())
        if title == "CUDA" and item[1] == "GPU" and not is_silent(item[2]):
            found.gpus += [name.strip() for name in item[2].split(", ")]
        return True
    return line.startswith(("-", "*", "\u2022"))


def _software(found: Details, notes: list[str]) -> dict[str, dict[str, Any]]:
    packages = {**found.lists.get("Packages", {}), **found.lists.get("Lightning", {})}
    rows: list[Row] = []
    for label, value in packages.items():
        name = _TORCH_NAMES.get(label.lower(), normalised(label))
        version = version_fact(value)
        if isinstance(version, str) and name != "pytorch-debug":
            rows.append(inventory.pip_row(name, version))
    sections = inventory.sections(rows, notes)
    torch = sections["frameworks"]["torch"]
    told = found.lists.get("CUDA", {}).get("version")
    if isinstance(torch, dict) and "version" in torch and told is not None:
        if told == "None":
            torch["cuda_build"] = None
        else:
            torch.update(cuda_build=version_fact(told), rocm_build=None)
    debug = packages.get("pyTorch_debug")
    if isinstance(torch, dict) and "version" in torch and debug is not None:
        torch["debug"] = switch_fact(debug)
    return sections


def _system(told: dict[str, str]) -> dict[str, dict[str, Any]]:
    """Return system, processor and Python; the "version" of a system says when its kernel was built."""
    sections: dict[str, dict[str, Any]] = {}
    family = _FAMILIES.get(told.get("OS", "").lower())
    if family:
        sections["system"] = {"os_family": family}
        release = told.get("release", "")
        if family in ("linux", "macos") and release[:1].isdigit():
            sections["system"]["kernel"] = release
            if "microsoft" in release:
                sections["system"]["virtualisation"] = "wsl2"
    processor = told.get("processor", "")
    windows = _PROCESSOR.fullmatch(processor)
    if family == "macos":
        sections["cpu"] = {"architecture": "arm64" if processor == "arm" else NOT_RECORDED}
    elif processor in ARCHITECTURES:
        sections["cpu"] = {"architecture": processor}
    elif windows:
        sections["cpu"] = {"vendor": windows[3], "microarchitecture": f"{windows[1]}-{windows[2]}"}
    if not is_silent(told.get("python", "")):
        sections["python"] = {**host.python_of(told["python"])}
    return {path: {key: value for key, value in facts.items() if value != NOT_RECORDED}
            for path, facts in sections.items()}
