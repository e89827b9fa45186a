"""Section ``accelerators``: NVML, then /proc/driver/nvidia, then nvidia-smi; AMD by sysfs; each bounded.

A tool that is missing, hangs or prints garbage never makes "no GPU": that needs a readable bus without one.
"""

from __future__ import annotations

from ..errors import ProbeFailed
from ..fingerprint.facts import is_unread, unread
from . import nvml, pci
from .keys import ACCELERATOR, blank_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..system import System
    from .look import Look

_GPUS = "/proc/driver/nvidia/gpus"
_QUERY = ("name", "memory.total", "ecc.mode.current", "mig.mode.current", "uuid", "driver_version")
_TOPOLOGY = "/sys/class/kfd/kfd/topology/nodes"


def probe(system: System, look: Look) -> dict[str, Any]:
    """Return the devices in canonical order and the strongest link; ``None`` when there is surely no device."""
    look.sources["accelerators"] = "sysfs"
    if pci.surely_no_accelerator(look):
        return {"devices": None, "interconnect": None, "links": None}
    devices: list[dict[str, Any]] = []
    link: Any = unread("not-reported")
    bus = pci.vendors_on_bus(look)
    if pci.has_nodes(system, "amd"):
        devices += amd_devices(system)
    if pci.has_nodes(system, "nvidia") or bus is None or "nvidia" in bus:
        found, link = nvidia_devices(system, look)
        devices += found
    if not devices:
        return dict.fromkeys(("devices", "interconnect", "links"), unread(_why_none(look)))
    return {"devices": sorted(devices, key=_order), "interconnect": link, "links": unread("not-reported")}


def _why_none(look: Look) -> str:
    """Return the code of the first failed look at the devices, or that nothing said anything."""
    return next((error["code"] for error in look.errors if error["path"] == "accelerators"), "not-reported")


def nvidia_devices(system: System, look: Look) -> tuple[list[dict[str, Any]], Any]:
    """Return NVIDIA's devices and link from the first source that answers in full; notes each that did not."""
    try:
        answer = nvml.read(look)
        look.device_ids = tuple(answer["uuids"])
        look.sources["accelerators"] = "nvml"
        return answer["devices"], answer["interconnect"]
    except ProbeFailed as error:
        look.failed("accelerators", error.code, error.message)
    named = named_devices(system)
    try:
        devices = queried_devices(look)
        look.sources["accelerators"] = "nvidia-smi"
    except ProbeFailed as error:
        look.failed("accelerators", error.code, error.message)
        devices = named
        look.sources["accelerators"] = "proc"
    return devices, None if len(devices) == 1 else unread("not-reported")


def named_devices(system: System) -> list[dict[str, Any]]:
    """Return the devices that the kernel driver lists, of which it says little but the name."""
    devices = []
    try:
        for address in system.list_dir(_GPUS):
            text = system.read_text(f"{_GPUS}/{address}/information", 4096)
            fields = dict(_field(line) for line in text.splitlines() if ":" in line)
            name = fields.get("Model")
            if name:
                devices.append({**blank_of(ACCELERATOR, "failed"), "vendor": "nvidia", "name": name,
                                "gfx_target": None, "form_factor": nvml.form_factor(name)})
    except OSError:
        return []
    return devices


def _field(line: str) -> tuple[str, str]:
    key, _, value = line.partition(":")
    return key.strip(), value.strip()


def queried_devices(look: Look) -> list[dict[str, Any]]:
    """Return the devices as nvidia-smi lists them; raise ``ProbeFailed`` when it is missing, hangs, talks nonsense."""
    try:
        rows = _query(look, ("compute_cap", *_QUERY))
    except ProbeFailed as error:
        if error.code != "failed" or "status" not in error.message:
            raise
        rows = [{"compute_cap": "", **row} for row in _query(look, _QUERY)]  # drivers before 510 lack compute_cap
    if any(row["mig.mode.current"] == "Enabled" for row in rows):
        raise ProbeFailed("not-reported", "nvidia-smi's list does not tell MIG slices apart")
    look.device_ids = tuple(row["uuid"] for row in rows)
    look.findings["smi-driver"] = rows[0]["driver_version"]
    return [smi_device(row) for row in rows]


def _query(look: Look, columns: tuple[str, ...]) -> list[dict[str, str]]:
    text = look.run(["nvidia-smi", f"--query-gpu={','.join(columns)}", "--format=csv,noheader,nounits"], "nvidia-smi")
    rows = [dict(zip(columns, (cell.strip() for cell in line.split(","))))
            for line in text.splitlines() if line.strip()]
    if not rows or not all(len(row) == len(columns) and row["memory.total"].isdigit() and
                           row["uuid"].startswith("GPU-") for row in rows):
        raise ProbeFailed("failed", "nvidia-smi answered something other than the table it was asked for")
    return rows


def smi_device(row: dict[str, str]) -> dict[str, Any]:
    """Return the facts in one row of nvidia-smi's table; memory is in MiB there."""
    capability = row["compute_cap"]
    known = capability.replace(".", "", 1).isdigit()
    _, threads = nvml.PER_SM.get(capability, (0, 0))
    silent = unread("not-reported")
    ecc = {"Enabled": True, "Disabled": False, "[N/A]": None, "N/A": None}
    return {
        "vendor": "nvidia", "name": row["name"], "compute_capability": capability if known else silent,
        "gfx_target": None, "sm_count": silent, "threads_per_sm": threads or silent,
        "memory_bytes": int(row["memory.total"]) << 20, "mig_profile": None,
        "ecc": ecc.get(row["ecc.mode.current"], silent), "form_factor": nvml.form_factor(row["name"]),
    }


def amd_devices(system: System) -> list[dict[str, Any]]:
    """Return AMD's devices from the topology its kernel driver publishes."""
    devices = []
    try:
        for node in system.list_dir(_TOPOLOGY):
            fields = _numbers(system, f"{_TOPOLOGY}/{node}/properties")
            if fields.get("simd_count", 0) > 0:
                devices.append(amd_device(fields, _numbers(system, f"{_TOPOLOGY}/{node}/mem_banks/0/properties")))
    except OSError:
        return devices
    return devices


def amd_device(fields: dict[str, int], memory: dict[str, int]) -> dict[str, Any]:
    """Return the facts of one node of the topology: target, compute units, memory."""
    facts = blank_of(ACCELERATOR, "not-reported")
    target = fields.get("gfx_target_version", 0)
    per_unit = fields.get("simd_per_cu", 0)
    facts.update(vendor="amd", compute_capability=None, mig_profile=None)
    if target:
        facts["gfx_target"] = f"gfx{target // 10000}{target // 100 % 100:x}{target % 100:x}"
    if per_unit:
        facts["sm_count"] = fields["simd_count"] // per_unit
        if fields.get("max_waves_per_simd") and fields.get("wave_front_size"):
            facts["threads_per_sm"] = fields["max_waves_per_simd"] * per_unit * fields["wave_front_size"]
    if memory.get("size_in_bytes"):
        facts["memory_bytes"] = memory["size_in_bytes"]
    return facts


def _numbers(system: System, path: str) -> dict[str, int]:
    """Return the lines ``name number`` of a file of the topology; a file that cannot be read has none."""
    try:
        text = system.read_text(path, 8192)
    except OSError:
        return {}
    pairs = (line.split() for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isdigit()}


def _order(device: dict[str, Any]) -> tuple[tuple[bool, str], ...]:
    return tuple((is_unread(device[key]), str(device[key])) for key in ACCELERATOR)
