"""``nvidia-smi`` in all its forms: the table, the list of ``-L``, the log of ``-q``, and tables of ``--query-gpu``.

Its "CUDA Version" is what the driver supports at most: neither the toolkit nor what torch was built with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from ..comparability.devices import resolve
from . import devices, smi_query, smi_table
from .dump import Field
from .format import Reading, Text
from .merging import join
from .smi_query import Queried
from .smi_table import Table
from .words import NOT_REPORTED

NAME = "nvidia-smi"
MADE_BY = "nvidia-smi, also with -L, -q or --query-gpu"

_LISTED = re.compile(r"GPU \d{1,3}: .{1,120}\(UUID: GPU-")
_IN_LIST = re.compile(r"GPU \d{1,3}: |MIG \S+\s+Device\s+\d+:")
_FAILED = re.compile(r"(?:NVIDIA-SMI has failed because|Failed to initialize NVML|No devices were found"
                     r"|Unable to determine the device handle for GPU).{0,160}")
#: driver branch -> CUDA that it brings (CUDA toolkit release notes, table of driver versions).
_BRINGS = {410: "10.0", 418: "10.1", 440: "10.2", 450: "11.0", 455: "11.1", 460: "11.2", 465: "11.3", 470: "11.4",
           495: "11.5", 510: "11.6", 515: "11.7", 520: "11.8", 525: "12.0", 530: "12.1", 535: "12.2", 545: "12.3",
           550: "12.4", 555: "12.5", 560: "12.6", 565: "12.7", 570: "12.8", 575: "12.9", 580: "13.0", 590: "13.1"}
#: words of which one is in the head of every table of a query.
_COLUMNS = ("name", "driver_version", "uuid", "memory.", "compute_cap", "pci.bus_id", "mig.mode", "ecc.mode")
_SIZE_IN_NAME = re.compile(r"(?<![\d.])(\d{1,3}) ?GB\b")


def read(text: Text) -> Reading | None:
    """Return what every form of it in the text states together; a failed call is a text of it too."""
    parts = _parts(text)
    if not parts:
        return _failed(text)
    joined = join(parts)
    found = joined.sections.get("accelerators", {}).get("devices", [])
    for device in found:
        _hold_against_name(device, joined.notes)
    return Reading(NAME, joined.sections, tuple(joined.notes), min(part.first_line for part in parts),
                   any(part.cut for part in parts), sum(part.keys for part in parts))


def _parts(text: Text) -> list[Reading]:
    lines = text.lines
    unfinished = len(lines) - 1
    parts: list[Reading | None] = [_list(lines, unfinished) if "(UUID: " in text.joined else None]
    if "NVIDIA-SMI" in text.joined:
        parts += [_table(table) for table in smi_table.tables(lines, unfinished)]
    if "NVSMI LOG" in text.joined or "<nvidia_smi_log>" in text.joined:
        parts += [_queried(log, smi_query.log_devices) for log in smi_query.logs(lines, unfinished)]
    if any(word in text.joined for word in _COLUMNS):
        parts += [_queried(table, smi_query.table_devices) for table in smi_query.tables(lines, unfinished)]
    return list(filter(None, parts))


def _list(lines: Sequence[str], unfinished: int) -> Reading | None:
    """Return the first list of ``-L``."""
    first = next((number for number, line in enumerate(lines) if _LISTED.match(line)), None)
    if first is None:
        return None
    end = first
    while end < len(lines) and _IN_LIST.match(lines[end]):
        end += 1
    following = lines[end] if end == unfinished else ""
    broken = end > unfinished or bool(following and "GPU MIG".find(following[:3]) >= 0)
    closed = not broken and any(lines[end:])
    field = Field("list", first, list(lines[first:end]), closed=closed, cut=")" not in lines[end - 1])
    notes: list[str] = []
    found = devices.nvidia(field, notes)
    return _reading(first, {}, found, notes, end - first, whole=not broken)


def _table(table: Table) -> Reading:
    notes: list[str] = []
    found, whole = smi_table.devices(table, notes)
    if isinstance(table.driver, str) and table.smi != table.driver:
        notes.append(f"nvidia-smi is of {table.smi}, the driver is {table.driver}")
    driver = {"kernel_module": table.driver, "cuda_level": table.cuda}
    _note_newer_cuda(driver, notes)
    reading = _reading(table.first_line, driver, found, notes, 3 + 3 * len(found), whole=whole, listed=bool(table.gpus))
    if not table.windows:
        return reading
    return replace(reading, sections={**reading.sections, "system": {"os_family": "windows"}})


def _queried(part: Queried, devices_of: Callable[[Queried, list[str]], tuple[list[dict[str, Any]], bool]]) -> Reading:
    notes: list[str] = []
    found, whole = devices_of(part, notes)
    driver = {"kernel_module": part.driver, "cuda_level": part.cuda}
    _note_newer_cuda(driver, notes)
    return _reading(part.first_line, driver, found, notes, part.keys, whole=whole, listed=bool(part.rows))


def _reading(first: int, driver: dict[str, Any], found: list[dict[str, Any]], notes: list[str], keys: int, *,
             whole: bool, listed: bool = True) -> Reading:
    sections: dict[str, dict[str, Any]] = {"driver": driver} if driver else {}
    if listed:
        if not whole:
            notes.append("the list of GPUs may not be whole")
        sections["accelerators"] = {"devices": devices.section(found, notes, whole=whole)["devices"]}
    return Reading(NAME, sections, tuple(notes), first, not whole, max(1, keys))


def _note_newer_cuda(driver: dict[str, Any], notes: list[str]) -> None:
    """Note a CUDA that the driver does not bring itself: a newer libcuda stands before the driver's own."""
    version, level = driver["kernel_module"], driver["cuda_level"]
    if not isinstance(version, str) or not isinstance(level, str):
        return
    brought = _BRINGS.get(int(version.partition(".")[0][:6]))
    if brought is not None and _parts_of(level) > _parts_of(brought):
        notes.append(f"driver {version} brings CUDA {brought}: CUDA {level} shows a forward-compatibility libcuda")


def _parts_of(version: str) -> tuple[int, ...]:
    return tuple(int(part[:6]) for part in version.split(".") if part.isascii() and part.isdigit())


def _hold_against_name(device: dict[str, Any], notes: list[str]) -> None:
    """Note a memory far from what the device's name says: one of the two is not to be trusted."""
    name, memory = device["name"], device["memory_bytes"]
    if not isinstance(name, str) or not isinstance(memory, int) or isinstance(device["mig_profile"], str):
        return
    stated = _SIZE_IN_NAME.search(name)
    gib = int(stated[1]) if stated else resolve(name).memory_gib
    sliced = device["mig_profile"] is not None or "vGPU" in name or "GRID" in name
    if gib and not sliced and not 0.8 < memory / (gib << 30) < 1.15:
        notes.append(f"{name} has {memory >> 20} MiB, which no such device has: name or memory is not to be trusted")


def _failed(text: Text) -> Reading | None:
    """Return the reading of a call that failed: it says nothing of the machine."""
    lines = text.lines if _FAILED.search(text.joined) else ()
    for number, line in enumerate(lines):
        match = _FAILED.match(line)
        if match:
            return Reading(NAME, {"accelerators": {"devices": NOT_REPORTED}}, (f"nvidia-smi failed: {match[0]}",),
                           number, keys=1)
    return None
