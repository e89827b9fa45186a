"""What ``nvidia-smi -q`` and ``nvidia-smi --query-gpu=… --format=csv`` print."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from .smi_table import MOST_GPUS, nvidia_device
from .words import NOT_RECORDED, NOT_REPORTED, version_fact

_BANNER = re.compile(r"={5,}\s*NVSMI LOG\s*={5,}")
_ADDRESS = re.compile(r"GPU [0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f]")
_ROW = re.compile(r"([A-Za-z][^:]{0,60}?)\s{0,60}:(?:\s(.{0,300}))?")
_MIB = re.compile(r"(\d{1,9})(?: MiB)?")
_XML, _XML_END = "<nvidia_smi_log>", "</nvidia_smi_log>"
_ELEMENT = re.compile(r"<([a-z_]{2,60})(?: [^<>]{0,200})?>(?:([^<>]{0,200})</[a-z_]{2,60}>)?")
_XML_WORDS = {
    "driver_version": "Driver Version", "cuda_version": "CUDA Version", "attached_gpus": "Attached GPUs",
    "product_name": "Product Name", "mig_mode": "MIG Mode", "current_mig": "Current", "mig_device": "MIG Device",
    "ecc_mode": "ECC Mode", "current_ecc": "Current", "fb_memory_usage": "FB Memory Usage", "total": "Total",
    "bar1_memory_usage": "BAR1 Memory Usage", "accounting_mode": "Accounting Mode", "driver_model": "Driver Model",
    "multiprocessor_count": "Multiprocessor count",
}
#: rows that stand below the MIG devices of a GPU.
_AFTER_SLICES = ("Accounting Mode", "Accounting Mode Buffer Size", "Driver Model", "Serial Number")
_ECC: dict[str, Any] = {"Enabled": True, "Disabled": False, "N/A": None, "[N/A]": None, "[Not Supported]": None}
_QUERY = re.compile(r"--query-gpu[= ]\"?([\w.,]{4,600})")
_UNIT = re.compile(r"\s*\[(MiB|W|MHz|%)\]$")
#: names of columns that make a line the head of such a table.
_TELLING = frozenset(("driver_version", "memory.total", "compute_cap", "gpu_name", "gpu_uuid", "uuid", "pci.bus_id",
                      "ecc.mode.current", "mig.mode.current", "memory.used", "memory.free", "utilization.gpu"))
_COLUMNS = _TELLING | {"name", "index", "count", "timestamp", "pstate", "serial"}


@dataclass
class Queried:
    """What one query tells: driver, devices in index order, whether there can be no others."""

    first_line: int
    driver: Any = field(default_factory=lambda: NOT_RECORDED)
    cuda: Any = field(default_factory=lambda: NOT_RECORDED)
    rows: list[dict[str, str]] = field(default_factory=list)
    #: of each row the slices: memory, multiprocessors.
    slices: list[list[dict[str, str]]] = field(default_factory=list)
    whole: bool = True
    keys: int = 0


def logs(lines: Sequence[str], unfinished: int) -> list[Queried]:
    """Return what each text of ``nvidia-smi -q`` tells, printed or in XML.

    The line of the number ``unfinished`` may be broken.
    """
    found: list[Queried] = []
    for number, line in enumerate(lines):
        if _BANNER.fullmatch(line[:200]) and len(found) < MOST_GPUS:
            found.append(Queried(number))
            _read_log(found[-1], _rows(lines, number + 1, unfinished))
        elif line == _XML and len(found) < MOST_GPUS:
            found.append(Queried(number))
            _read_log(found[-1], _xml_rows(lines, number + 1, unfinished))
    return found


def _read_log(log: Queried, rows: Iterable[tuple[str, str | None]]) -> None:
    attached, heading, sliced = None, "", False
    for key, value in rows:
        log.keys += 1
        if key == "GPU":
            if len(log.rows) >= MOST_GPUS:
                break
            log.rows.append({})
            log.slices.append([])
            heading, sliced = "", False
        elif value is None:
            heading = key
            if log.rows and key in ("MIG Device", "MIG Devices"):
                sliced = True
                log.slices[-1].append({})
        elif not log.rows:
            attached = _of_driver(log, key, value, attached)
        else:
            sliced = sliced and key not in _AFTER_SLICES and heading not in _AFTER_SLICES
            target = log.slices[-1][-1] if sliced else log.rows[-1]
            target.setdefault(f"{heading}/{key}", value)
            target.setdefault(key, value)
    finished = bool(log.rows) and "FB Memory Usage/Total" in log.rows[-1]
    log.whole = finished and attached == len(log.rows)


def _rows(lines: Sequence[str], start: int, unfinished: int) -> Iterator[tuple[str, str | None]]:
    """Yield label and value of each row, ``None`` for a heading; ``GPU`` begins a device."""
    for number in range(start, len(lines)):
        line = lines[number][:400]
        if number == unfinished or _BANNER.match(line):
            return
        if _ADDRESS.match(line):
            yield "GPU", ""
            continue
        row = _ROW.fullmatch(line)
        if row:
            yield row[1], (row[2] or "").strip()
        elif line and ":" not in line:
            yield line, None


def _xml_rows(lines: Sequence[str], start: int, unfinished: int) -> Iterator[tuple[str, str | None]]:
    """Yield the same of the log in XML, by the words of the printed one."""
    for number in range(start, len(lines)):
        line = lines[number][:400]
        if number == unfinished or line in (_XML, _XML_END):
            return
        element = _ELEMENT.fullmatch(line)
        if element is None:
            continue
        key = _XML_WORDS.get(element[1], element[1])
        if element[1] == "gpu":
            yield "GPU", ""
        elif element[2] is not None or element[1] in _XML_WORDS:
            yield key, element[2]


def _of_driver(log: Queried, key: str, value: str, attached: int | None) -> int | None:
    first = value.split(" ", 1)[0]
    if key in ("Driver Version", "KMD Version"):
        log.driver = version_fact(first)
    elif key in ("CUDA Version", "CUDA UMD Version") and first[:1].isdigit():
        log.cuda = version_fact(first)
    elif key == "Attached GPUs" and value.isascii() and value.isdigit():
        return int(value[:6])
    return attached


def log_devices(log: Queried, notes: list[str]) -> tuple[list[dict[str, Any]], bool]:
    """Return the devices of a log in index order, and whether there can be no others."""
    found, whole = [], log.whole
    for index, (row, slices) in enumerate(zip(log.rows, log.slices)):
        mode = row.get("MIG Mode/Current")
        device = {**_named(row.get("Product Name"), index, notes),
                  "ecc": _ecc(row.get("ECC Mode/Current", row.get("Ecc Mode/Current"))),
                  "memory_bytes": _bytes(row.get("FB Memory Usage/Total")), "mig_profile": _mig(mode)}
        if mode != "Enabled":
            found.append(device)
        elif slices:
            found += [{**device, "memory_bytes": _bytes(part.get("FB Memory Usage/Total")),
                       "sm_count": _number(part.get("Multiprocessor count"))} for part in slices]
        else:
            whole = False
    return found, whole


def tables(lines: Sequence[str], unfinished: int) -> list[Queried]:
    """Return what each comma-separated table tells, its columns known by its head or by the command above it."""
    found: list[Queried] = []
    for number, line in enumerate(lines):
        columns = _columns(line) if "," in line or line.startswith(("name", "gpu_name", "driver_version")) else None
        asked = _QUERY.search(line[:1000]) if "--query-gpu" in line else None
        if asked and "noheader" in line:
            columns = [column for column in asked[1].split(",") if column]
        if columns and len(found) < MOST_GPUS:
            table = _read_table(lines, number, columns, unfinished)
            if table.rows:
                found.append(table)
    return found


def _columns(line: str) -> list[str] | None:
    cells = [_UNIT.sub("", cell.strip()) for cell in line[:1000].split(",")]
    known = [cell for cell in cells if cell in _COLUMNS]
    if known == cells and cells in (["name"], ["gpu_name"]):
        return cells
    return cells if len(known) * 2 >= len(cells) and set(known) & _TELLING else None


def _read_table(lines: Sequence[str], head: int, columns: list[str], unfinished: int) -> Queried:
    table = Queried(head, keys=1)
    for number in range(head + 1, min(len(lines), head + 1 + MOST_GPUS)):
        cells = [cell.strip() for cell in lines[number][:1000].split(",")]
        if number == unfinished and lines[number]:
            table.whole = False
            break
        row = dict(zip(columns, cells))
        if len(cells) != len(columns) or _columns(lines[number]) or not _is_gpu(row):
            break
        table.rows.append(row)
        table.keys += 1
    versions = {row["driver_version"] for row in table.rows if row.get("driver_version")}
    if len(versions) == 1:
        table.driver = version_fact(versions.pop())
    return table


def _is_gpu(row: dict[str, str]) -> bool:
    """Tell whether the cells can be a device's: something in them has the form that its column has."""
    name = row.get("name", row.get("gpu_name", ""))
    if name:
        return re.match(r"(?:NVIDIA|Tesla|GeForce|Quadro|GRID|TITAN|A\d|H\d|Graphics)", name, re.IGNORECASE) is not None
    telling = row.get("uuid", row.get("gpu_uuid", row.get("memory.total", "")))
    return re.match(r"GPU-|[\d.]+( MiB)?$", telling) is not None


def table_devices(table: Queried, notes: list[str]) -> tuple[list[dict[str, Any]], bool]:
    """Return the devices of a table in index order, and whether there can be no others: slices are not in it."""
    found, whole = [], table.whole
    for index, row in enumerate(table.rows):
        mode = row.get("mig.mode.current")
        if mode == "Enabled":
            whole = False
            continue
        capability = row.get("compute_cap")
        found.append({**_named(row.get("name", row.get("gpu_name")), index, notes),
                      "ecc": _ecc(row.get("ecc.mode.current")), "memory_bytes": _bytes(row.get("memory.total")),
                      "mig_profile": _mig(mode), "compute_capability": version_fact(capability)})
    return found, whole


def _named(name: str | None, index: int, notes: list[str]) -> dict[str, Any]:
    return nvidia_device(name or "N/A", f"GPU {index}", notes if name else [])


def _ecc(value: str | None) -> Any:
    return NOT_RECORDED if value is None else _ECC.get(value, NOT_REPORTED)


def _mig(mode: str | None) -> Any:
    if mode is None:
        return NOT_RECORDED
    return None if mode in ("Disabled", "N/A", "[N/A]", "[Not Supported]") else NOT_REPORTED


def _bytes(value: str | None) -> Any:
    match = _MIB.fullmatch(value) if value else None
    return int(match[1]) << 20 if match else NOT_RECORDED if value is None else NOT_REPORTED


def _number(value: str | None) -> Any:
    return int(value) if value and value.isascii() and value.isdigit() and len(value) < 6 else NOT_REPORTED
