"""The table that ``nvidia-smi`` prints: of every era, with the table of MIG devices under it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..comparability.devices import resolve
from ..probes.keys import ACCELERATOR, blank_of
from ..probes.nvml import form_factor
from .devices import named
from .plain import FENCE
from .words import NOT_RECORDED, NOT_REPORTED, is_silent, version_fact

#: the first line of the table; since driver 595 with other words for driver and CUDA.
HEAD = re.compile(r"[|\s]{0,6}NVIDIA-SMI\s+(\S+)\s+(?:Driver|KMD) Version:\s*([^\s|]+)(\s)?\s*"
                  r"(?:CUDA (?:UMD )?Version:\s*([^\s|]+)(\s)?)?")
_GPU = re.compile(
    r"\|?\s*(\d{1,3})\s+(\S.{0,60}?)\s+(On|Off|N/A|WDDM|TCC|MCDM|ERR!|Enabled|Disabled)\s*\|\s*"
    r"(?:[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f]|N/A)\s+(?:On|Off|N/A|ERR!)\s*\|"
    r"\s*(\S.{0,20}?)\s*\|")
_MEMORY = re.compile(r"\d+MiB\s*/\s*(\d{1,9})MiB\s*\|")
_MIG_MODE = re.compile(r"\|?\s*\|\s*\|\s*(Disabled|Enabled\*?|N/A|ERR!)\s*\|")
_SLICE = re.compile(r"\|?\s*(\d{1,3})\s+(\d{1,3})\s+(\d{1,3})\s+(\d{1,3})\s*\|\s*(?:\d+MiB\s*/\s*(\d{1,9})MiB|\S+)\s*\|"
                    r"\s*(\d{1,4})\s+\S+\s*\|")
_BORDER = re.compile(r"[+|]?[-=+|]{10,}$")
_WINDOWS = frozenset(("WDDM", "TCC", "MCDM"))
_ECC: dict[str, Any] = {"On": True, "Off": False, "N/A": None}
MOST_GPUS = 500


@dataclass
class Gpu:
    """One row of the table, three lines of it."""

    index: str
    name: str
    model: str
    ecc: str
    memory_mib: int | None = None
    mig: str | None = None
    closed: bool = False
    #: number of the slice, memory, multiprocessors.
    slices: list[tuple[int, int | None, int]] = field(default_factory=list)


@dataclass
class Table:
    """One table: its head, its GPUs in index order, and whether their list is surely whole."""

    first_line: int
    smi: str
    driver: Any
    cuda: Any
    gpus: list[Gpu] = field(default_factory=list)
    has_mig_column: bool = False
    whole: bool = False
    last_line: int = 0

    @property
    def windows(self) -> bool:
        """Whether a driver model that only Windows has stands in the table."""
        return any(gpu.model in _WINDOWS for gpu in self.gpus)


def tables(lines: Sequence[str], unfinished: int) -> list[Table]:
    """Return every table; the line of the number ``unfinished`` may be broken."""
    found: list[Table] = []
    for number, line in enumerate(lines):
        head = HEAD.match(line[:300]) if "NVIDIA-SMI" in line else None
        if head:
            if found:
                found[-1].whole = found[-1].whole or bool(found[-1].gpus)
            whole = number != unfinished
            driver = version_fact(head[2]) if whole or head[3] else NOT_RECORDED
            cuda = version_fact(head[4]) if whole or head[5] else NOT_RECORDED
            found.append(Table(number, head[1], driver, cuda, last_line=number))
            if len(found) > MOST_GPUS:
                break
        elif found and number > found[-1].first_line and not _ended(found[-1], number, lines):
            _read_line(found[-1], line, number)
    return found


def _ended(table: Table, number: int, lines: Sequence[str]) -> bool:
    """Tell whether the table is over; text below its last border shows that the list of GPUs is whole."""
    line = lines[number]
    if table.whole or table.last_line < 0:
        return True
    foreign = line == FENCE or (bool(line) and "|" not in line and not line.startswith("+"))
    if foreign and not _BORDER.match(line) and not any(part in line for part in ("-----", "=====")):
        table.whole = bool(table.gpus) and all(gpu.closed for gpu in table.gpus)
        table.last_line = -1
        return True
    return False


def _read_line(table: Table, line: str, number: int) -> None:
    if not line:
        return
    table.last_line = number
    if "MIG M." in line:
        table.has_mig_column = True
    elif "Processes:" in line:
        table.whole = bool(table.gpus)
    elif _BORDER.match(line):
        if table.gpus:
            table.gpus[-1].closed = True
    else:
        _read_row(table, line[:300])


def _read_row(table: Table, line: str) -> None:
    gpu = _GPU.match(line)
    if gpu:
        if len(table.gpus) < MOST_GPUS:
            table.gpus.append(Gpu(gpu[1], gpu[2], gpu[3], gpu[4]))
        return
    sliced = _SLICE.match(line)
    owner = next((gpu for gpu in table.gpus if sliced and gpu.index == sliced[1]), None)
    if sliced and owner is not None:
        owner.slices.append((int(sliced[4]), int(sliced[5]) if sliced[5] else None, int(sliced[6])))
    elif table.gpus and not table.gpus[-1].closed:
        memory, mode = _MEMORY.search(line), _MIG_MODE.match(line)
        if memory and table.gpus[-1].memory_mib is None:
            table.gpus[-1].memory_mib = int(memory[1])
        elif mode:
            table.gpus[-1].mig = mode[1].rstrip("*")


def devices(table: Table, notes: list[str]) -> tuple[list[dict[str, Any]], bool]:
    """Return the devices of a table in index order, and whether there can be no others."""
    found: list[dict[str, Any]] = []
    whole = table.whole
    for gpu in table.gpus:
        device = _device(gpu, table, notes)
        if gpu.mig != "Enabled":
            found.append(device)
        elif gpu.slices:
            found += [{**device, "mig_profile": NOT_REPORTED, "sm_count": multiprocessors,
                       "memory_bytes": NOT_REPORTED if mib is None else mib << 20}
                      for _, mib, multiprocessors in sorted(gpu.slices)]
        else:
            notes.append(f"MIG is on for GPU {gpu.index} ({gpu.name}), and the table shows no slice of it")
            whole = False
            if not table.whole:  # slices stand further on, of which nothing is known but whose they are
                found.append({**device, "memory_bytes": NOT_REPORTED})
    return found, whole


def _device(gpu: Gpu, table: Table, notes: list[str]) -> dict[str, Any]:
    if gpu.mig is None:
        mig = NOT_RECORDED if table.has_mig_column or not gpu.closed else None
    else:
        mig = None if gpu.mig in ("Disabled", "N/A") else NOT_REPORTED
    ecc = True if gpu.ecc.isdigit() else _ECC.get(gpu.ecc, NOT_REPORTED)
    memory = NOT_RECORDED if gpu.memory_mib is None else gpu.memory_mib << 20
    facts = {"mig_profile": mig, "ecc": ecc, "memory_bytes": memory}
    return {**nvidia_device(gpu.name, f"GPU {gpu.index}", notes), **facts}


def nvidia_device(name: str, place: str, notes: list[str]) -> dict[str, Any]:
    """Return a device by the name that nvidia-smi prints; of a name that the column cut only what its words decide."""
    unknown = {**blank_of(ACCELERATOR, "not-recorded"), "vendor": "nvidia", "gfx_target": None}
    if is_silent(name) or name == "ERR!":
        notes.append(f"{place} gives no name: {name}")
        return {**unknown, "name": NOT_REPORTED}
    if not name.endswith("..."):
        return named(name, vendor="nvidia", gfx_target=None)
    notes.append(f"the table cuts the name of {place}: {name}")
    beginning = name[:-3]
    whole_words = re.split(r"[\s-](?=[^\s-]*$)", beginning)[0]
    return {**unknown, "name": NOT_REPORTED, "form_factor": form_factor(beginning),
            "compute_capability": resolve(whole_words).compute_capability or NOT_REPORTED}
