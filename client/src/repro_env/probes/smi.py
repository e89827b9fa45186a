"""``nvidia-smi``, for a process that cannot load NVML itself: its table of devices, and its list of MIG slices."""

from __future__ import annotations

from ..errors import ProbeFailed
from ..fingerprint.facts import unread
from . import nvml
from .keys import ACCELERATOR, STATE, blank_of
from .vendor import program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .look import Look

_QUERY = ("name", "memory.total", "ecc.mode.current", "mig.mode.current", "uuid", "driver_version")
_ECC = {"Enabled": True, "Disabled": False, "[N/A]": None, "N/A": None}


def devices(look: Look) -> list[dict[str, Any]]:
    """Return the devices in the order of the bus, as ``nvml.read`` does; raise ``ProbeFailed``.

    With MIG on, the table has no slices: the list has, with their profiles and ids. The list also tells name and id
    where the table, or one of its columns, fails.
    """
    try:
        rows = _table(look)
    except ProbeFailed as error:
        if error.code != "failed":
            raise
        try:
            return sliced([], _list(look))
        except ProbeFailed:
            raise error from None
    look.findings["smi-driver"] = rows[0]["driver_version"]
    if any(row["mig.mode.current"] == "Enabled" for row in rows):
        return sliced([device(row) for row in rows], _list(look))
    return [_found(index, device(row), row["uuid"], row["uuid"]) for index, row in enumerate(rows)]


def _table(look: Look) -> list[dict[str, str]]:
    try:
        return _query(look, ("compute_cap", *_QUERY))
    except ProbeFailed as error:
        if error.code != "failed" or "status" not in error.message:
            raise
        return [{"compute_cap": "", **row} for row in _query(look, _QUERY)]  # drivers before 510 lack compute_cap


def _smi(look: Look) -> str:
    return program(look.system, "nvidia-smi", "/usr/bin", "/usr/lib/wsl/lib")


def _query(look: Look, columns: tuple[str, ...]) -> list[dict[str, str]]:
    text = look.run([_smi(look), f"--query-gpu={','.join(columns)}", "--format=csv,noheader,nounits"], "nvidia-smi")
    rows = [dict(zip(columns, (cell.strip() for cell in line.split(","))))
            for line in text.splitlines() if line.strip()]
    if not rows or not all(len(row) == len(columns) and row["memory.total"].isdigit() and
                           row["uuid"].startswith("GPU-") for row in rows):
        raise ProbeFailed("failed", "nvidia-smi answered something other than the table it was asked for")
    return rows


def device(row: dict[str, str]) -> dict[str, Any]:
    """Return the facts in one row of nvidia-smi's table; memory is in MiB there."""
    capability = row["compute_cap"]
    known = capability.replace(".", "", 1).isdigit()
    _, threads = nvml.PER_SM.get(capability, (0, 0))
    silent = unread("not-reported")
    return {
        "vendor": "nvidia", "name": row["name"], "compute_capability": capability if known else silent,
        "gfx_target": None, "sm_count": silent, "threads_per_sm": threads or silent,
        "memory_bytes": int(row["memory.total"]) << 20, "mig_profile": None,
        "ecc": _ECC.get(row["ecc.mode.current"], silent), "form_factor": nvml.form_factor(row["name"]),
    }


def _found(index: int, facts: dict[str, Any], uuid: str, gpu_uuid: str) -> dict[str, Any]:
    state = {**blank_of(STATE, "not-reported"), "device_id": gpu_uuid}
    return {"facts": facts, "uuid": uuid, "gpu": index, "gpu_uuid": gpu_uuid, "state": state}


def _list(look: Look) -> list[tuple[str, str, list[tuple[str, str]]]]:
    found = parse_list(look.run([_smi(look), "-L"], "nvidia-smi"))
    if not found:
        raise ProbeFailed("failed", "nvidia-smi listed no device")
    return found


def parse_list(text: str) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """Return name, id and slices (profile, id) of each GPU in the text of ``nvidia-smi -L``."""
    found: list[tuple[str, str, list[tuple[str, str]]]] = []
    for line in text.splitlines():
        head, mark, tail = line.strip().partition("(UUID: ")
        uuid, words = tail.partition(")")[0], head.split()
        if not mark or not words:
            continue
        if words[0] == "GPU" and uuid.startswith("GPU-") and ":" in head:
            found.append((head.partition(":")[2].strip(), uuid, []))
        elif words[0] == "MIG" and uuid.startswith("MIG-") and found and len(words) > 1:
            found[-1][2].append((words[1], uuid))
    return found


def sliced(rows: list[dict[str, Any]], listed: list[tuple[str, str, list[tuple[str, str]]]]) -> list[dict[str, Any]]:
    """Return slices in place of the devices that are cut into some; ``rows`` are the whole devices, or none."""
    found = []
    for index, (name, uuid, slices) in enumerate(listed):
        whole = rows[index] if len(rows) == len(listed) else {
            **blank_of(ACCELERATOR, "not-reported"), "vendor": "nvidia", "name": name, "gfx_target": None,
            "mig_profile": None, "form_factor": nvml.form_factor(name)}
        if not slices:
            found.append(_found(index, whole, uuid, uuid))
        part = {**whole, "sm_count": unread("not-reported"), "memory_bytes": unread("not-reported")}
        found += [_found(index, {**part, "mig_profile": profile}, part_uuid, uuid) for profile, part_uuid in slices]
    return found
