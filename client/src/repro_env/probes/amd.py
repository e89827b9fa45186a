"""AMD's devices from the topology that their kernel driver publishes, and its driver.

Sources: the kernel's amdkfd topology (include/uapi/linux/kfd_sysfs.h), the amdgpu driver's files below
/sys/class/drm (kernel documentation, "AMDGPU Driver, Misc"), libdrm's table of names, and ``rocm-smi`` and ``amd-smi``
for a name that none of these has.
"""

from __future__ import annotations

import json

from ..errors import ProbeFailed
from ..fingerprint.facts import is_unread, unread
from . import inprocess_devices, masks
from .keys import ACCELERATOR, STATE, blank_of
from .vendor import Part, program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..system import System
    from .look import Look

_TOPOLOGY = "/sys/class/kfd/kfd/topology/nodes"
_RENDER = "/sys/class/drm/renderD{}/device"
#: tables of names: device id, revision, name (libdrm, data/amdgpu.ids).
_NAMES = ("/usr/share/libdrm/amdgpu.ids", "/opt/amdgpu/share/libdrm/amdgpu.ids")
#: HSA_IOLINKTYPE_XGMI of kfd_sysfs.h, and the weight that the driver gives one hop of it.
_XGMI, _WEIGHT_OF_A_HOP = 11, 15
#: the first bit of the driver's RAS mask stands for the memory controller.
_RAS_MEMORY = 1
#: models that are made as OAM modules alone (AMD's data sheets).
_OAM = ("OAM", "MI250", "MI300X", "MI308X", "MI325X", "MI350X", "MI355X")


def read(look: Look) -> Part:
    """Return AMD's part: devices that a process can reach, links between all of the node."""
    found, refused = devices(look)
    states = [device["state"] for device in found]
    links = unread("denied") if refused else pairs(look.system, found)
    if not found:
        silent = unread("denied" if refused else "not-reported")
        return Part(silent, silent, silent, [])
    told = inprocess_devices.of_torch(look, "amd")
    if told is not None:
        look.sources["accelerators.devices"] = "torch"
        return Part(*inprocess_devices.merged(told, found), links, states)
    if look.subject != "node":
        found = masks.of_rocm(found, look.system.environ).devices
    ids = [device["uuid"] for device in found]
    return Part([device["facts"] for device in found], ids if all(ids) else unread("not-reported"), links, states)


def devices(look: Look) -> tuple[list[dict[str, Any]], int]:
    """Return every device of the topology, in its order, and how many are refused to this process."""
    system = look.system
    found, refused = [], 0
    for node in sorted(_names(system, _TOPOLOGY), key=lambda name: (len(name), name)):
        try:
            fields = numbers(system.read_text(f"{_TOPOLOGY}/{node}/properties", 8192))
        except OSError:
            refused += 1
            continue
        if fields.get("simd_count", 0) > 0:
            found.append(_found(system, node, fields))
    _name_the_nameless(look, found)
    return found, refused


def _found(system: System, node: str, fields: dict[str, int]) -> dict[str, Any]:
    files = _RENDER.format(fields.get("drm_render_minor", 0))
    facts = device(fields, _memory(system, node))
    facts["name"] = _name(system, files, fields)
    facts["form_factor"] = form_factor(facts["name"])
    facts["mig_profile"] = _partition(system, files)
    facts["ecc"] = _ecc(system, files)
    number = fields.get("unique_id", 0)
    uuid = f"GPU-{number:016x}" if number else None
    return {"facts": facts, "uuid": uuid, "node": int(node), "files": files,
            "state": {**blank_of(STATE, "not-reported"), "device_id": uuid or unread("not-reported"),
                      "power_limit_mw": _power(system, files),
                      "sm_clock_limit_mhz": fields.get("max_engine_clk_fcompute") or unread("not-reported")}}


def device(fields: dict[str, int], memory_bytes: int) -> dict[str, Any]:
    """Return the facts of one node of the topology: target, compute units, memory."""
    facts = blank_of(ACCELERATOR, "not-reported")
    target = fields.get("gfx_target_version", 0)
    per_unit = fields.get("simd_per_cu", 0)
    facts.update(vendor="amd", compute_capability=None)
    if target:
        facts["gfx_target"] = f"gfx{target // 10000}{target // 100 % 100:x}{target % 100:x}"
    if per_unit:
        facts["sm_count"] = fields["simd_count"] // per_unit
        if fields.get("max_waves_per_simd") and fields.get("wave_front_size"):
            facts["threads_per_sm"] = fields["max_waves_per_simd"] * per_unit * fields["wave_front_size"]
    if memory_bytes:
        facts["memory_bytes"] = memory_bytes
    return facts


def _memory(system: System, node: str) -> int:
    """Return the bytes in the memory banks of one node, 0 where it states none (a processor with graphics)."""
    folder = f"{_TOPOLOGY}/{node}/mem_banks"
    return sum(numbers(_text(system, f"{folder}/{bank}/properties")).get("size_in_bytes", 0)
               for bank in _names(system, folder))


def _name(system: System, files: str, fields: dict[str, int]) -> Any:
    """Return the name by libdrm's table, as torch prints it, else the one in the board's own memory."""
    revision = _line(system, f"{files}/revision").removeprefix("0x")
    for path in _NAMES:
        if revision and system.exists(path):
            name = listed_name(system.read_text(path, 1 << 17), f"{fields.get('device_id', 0):04X}", revision)
            if name:
                return name
    return _line(system, f"{files}/product_name") or unread("not-reported")


def listed_name(table: str, device_id: str, revision: str) -> str | None:
    """Return the name that libdrm's table has for a device id and revision, both in hexadecimal."""
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.split(",", 2)]
        if len(cells) == 3 and [cell.upper() for cell in cells[:2]] == [device_id.upper(), revision.upper().zfill(2)]:
            return cells[2]
    return None


def form_factor(name: Any) -> Any:
    """Return ``OAM`` for models that are made as such modules alone."""
    return "OAM" if isinstance(name, str) and any(mark in name for mark in _OAM) else unread("not-reported")


def _partition(system: System, files: str) -> Any:
    """Return the compute partition mode of a device that is split, ``None`` for a whole one or one that cannot be."""
    mode = _line(system, f"{files}/current_compute_partition")
    return None if mode in ("", "SPX") else mode


def _ecc(system: System, files: str) -> Any:
    """Tell whether errors in memory are corrected, by the driver's RAS mask; unread where it has none."""
    mask = _line(system, f"{files}/ras/features").rpartition("0x")[2]
    try:
        return bool(int(mask, 16) & _RAS_MEMORY)
    except ValueError:
        return unread("not-reported")


def _power(system: System, files: str) -> Any:
    """Return the power limit in milliwatt; the file has microwatt."""
    for folder in _names(system, f"{files}/hwmon"):
        text = _line(system, f"{files}/hwmon/{folder}/power1_cap")
        if text.isdigit():
            return int(text) // 1000
    return unread("not-reported")


def pairs(system: System, found: list[dict[str, Any]]) -> list[list[Any]]:
    """Return how each pair of devices is joined: ``xgmi`` by the driver's links, with its hops, else ``pcie``."""
    places = {device["node"]: index for index, device in enumerate(found)}
    hops: dict[tuple[int, int], int] = {}
    for start, index in places.items():
        folder = f"{_TOPOLOGY}/{start}/io_links"
        for link in _names(system, folder):
            fields = numbers(_text(system, f"{folder}/{link}/properties"))
            end = places.get(fields.get("node_to", -1))
            if fields.get("type") == _XGMI and end is not None and index < end:
                hops[index, end] = max(1, fields.get("weight", 0) // _WEIGHT_OF_A_HOP)
    return [[first, second, _kind(hops.get((first, second), 0))]
            for first in range(len(found)) for second in range(first + 1, len(found))]


def _kind(hops: int) -> str:
    return "pcie" if not hops else "xgmi" if hops == 1 else f"xgmi-{hops}-hops"


def _name_the_nameless(look: Look, found: list[dict[str, Any]]) -> None:
    """Ask the vendor's tools for names that no file has; a tool that is missing or hangs leaves them unread."""
    if not found or not any(is_unread(device["facts"]["name"]) for device in found):
        return
    for name, options, parse in (("rocm-smi", ("--showproductname", "--json"), rocm_smi_names),
                                 ("amd-smi", ("static", "--asic", "--json"), amd_smi_names)):
        path = program(look.system, name, "/opt/rocm/bin")
        if look.system.executable(path) is None:
            continue
        try:
            names = parse(json.loads(look.run([path, *options], name)))
        except ProbeFailed as error:
            look.failed("accelerators", error.code, error.message)
            continue
        except (ValueError, TypeError, KeyError, AttributeError):
            look.failed("accelerators", "failed", f"{name} answered something other than the JSON it was asked for")
            continue
        if len(names) == len(found):
            for device, told in zip(found, names):
                device["facts"].update(name=told, form_factor=form_factor(told))
            return


def rocm_smi_names(answer: Any) -> list[str]:
    """Return the names in the order of cards; the key is spelled ``Card series`` before ROCm 6."""
    cards = sorted((int(key[4:]), value) for key, value in answer.items() if key.startswith("card"))
    return [str(card.get("Card Series") or card["Card series"]) for _, card in cards]


def amd_smi_names(answer: Any) -> list[str]:
    """Return the names in the order of GPUs; newer versions wrap the list."""
    gpus = answer["gpu_data"] if isinstance(answer, dict) else answer
    return [str(gpu["asic"]["market_name"]) for gpu in sorted(gpus, key=lambda gpu: int(gpu["gpu"]))]


def module(system: System) -> Any:
    """Return the version of the loaded amdgpu module; the kernel's own module states none."""
    return _line(system, "/sys/module/amdgpu/version") or unread("not-reported")


def numbers(text: str) -> dict[str, int]:
    """Return the lines ``name number`` of a file of the topology."""
    found = (line.split() for line in text.splitlines())
    return {pair[0]: int(pair[1]) for pair in found if len(pair) == 2 and pair[1].isdigit()}


def _names(system: System, folder: str) -> list[str]:
    try:
        return system.list_dir(folder)
    except OSError:
        return []


def _line(system: System, path: str) -> str:
    return _text(system, path).strip()


def _text(system: System, path: str) -> str:
    """Return the start of a file; one that cannot be read is empty."""
    try:
        return system.read_text(path, 8192)
    except OSError:
        return ""
