"""NVIDIA's devices: NVML, then nvidia-smi, then what the kernel driver lists; of them those that a process can reach.

In a process whose torch has started CUDA, torch's word decides which they are and how many SMs they have.
"""

from __future__ import annotations

from ..errors import ProbeFailed
from ..fingerprint.facts import unread
from . import inprocess_devices, masks, nvml, pci, smi
from .keys import ACCELERATOR, STATE, blank_of
from .vendor import Part

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..system import System
    from .look import Look

_GPUS = "/proc/driver/nvidia/gpus"
#: values of the variable by which a container's runtime is told to give no device.
_NONE_GIVEN = ("", "void", "none")


def read(look: Look) -> Part:
    """Return NVIDIA's part; a look that failed is noted, and what it would have said is unread."""
    if _none_given(look):
        return Part([], [], unread("denied"), [])
    found, pairs = _sources(look)
    states = [device["state"] for device in {device["gpu"]: device for device in found}.values()]
    told = inprocess_devices.of_torch(look, "nvidia")
    if told is not None:
        look.sources["accelerators.devices"] = "torch"
        return Part(*inprocess_devices.merged(told, found), pairs, states)
    if look.subject == "node" or not found:
        return Part([device["facts"] for device in found] or unread(_why_none(look)), _ids(found), pairs, states)
    chosen = masks.of_cuda(found, look.system.environ)
    if chosen.problem is not None:
        look.failed("accelerators.devices", chosen.problem.code, chosen.problem.message)
    return Part([device["facts"] for device in chosen.devices],
                _ids(chosen.devices) if chosen.exact else unread("not-reported"), pairs, states)


def _none_given(look: Look) -> bool:
    """Tell whether the container was started without NVIDIA's devices, as its runtime was told to, and has none."""
    told = look.system.environ.get("NVIDIA_VISIBLE_DEVICES")
    return told in _NONE_GIVEN and not pci.has_nodes(look.system, "nvidia")


def _why_none(look: Look) -> str:
    """Return the code of the first failed look at the devices, or that nothing said anything."""
    return next((error["code"] for error in look.errors if error["path"] == "accelerators"), "not-reported")


def _ids(found: list[dict[str, Any]]) -> Any:
    """Return the ids of devices in order; unread where one has none, for the order would not hold."""
    ids = [device["uuid"] for device in found]
    return ids if ids and all(isinstance(uuid, str) for uuid in ids) else unread("not-reported")


def _sources(look: Look) -> tuple[list[dict[str, Any]], Any]:
    """Return devices and pairs from the first source that answers; notes each that did not."""
    try:
        answer = nvml.read(look)
        look.sources["accelerators"] = "nvml"
        return answer["devices"], _whole_node(look, answer)
    except ProbeFailed as error:
        look.failed("accelerators", error.code, error.message)
    try:
        found = smi.devices(look)
        look.sources["accelerators"] = "nvidia-smi"
    except ProbeFailed as error:
        look.failed("accelerators", error.code, error.message)
        found = named_devices(look.system)
        look.sources["accelerators"] = "proc"
    return found, unread("not-reported")


def _whole_node(look: Look, answer: dict[str, Any]) -> Any:
    """Return the pairs where NVML shows every device of the node; a part of the node says nothing of the rest."""
    for message in answer["lost"]:
        look.failed("accelerators", "failed", message)
    if answer["lost"]:
        return unread("failed")
    seen = len({device["gpu"] for device in answer["devices"]})
    return unread("denied") if answer["refused"] or pci.count(look, "nvidia") > seen else answer["pairs"]


def named_devices(system: System) -> list[dict[str, Any]]:
    """Return the devices that the kernel driver lists, of which it says little but name and id."""
    found = []
    try:
        for index, address in enumerate(system.list_dir(_GPUS)):
            text = system.read_text(f"{_GPUS}/{address}/information", 4096)
            fields = dict(_field(line) for line in text.splitlines() if ":" in line)
            name, stated = fields.get("Model"), fields.get("GPU UUID", "")
            if name:
                facts = {**blank_of(ACCELERATOR, "failed"), "vendor": "nvidia", "name": name, "gfx_target": None,
                         "form_factor": nvml.form_factor(name)}
                uuid = stated if stated.startswith("GPU-") and "?" not in stated else None
                found.append({"facts": facts, "uuid": uuid, "gpu": index, "gpu_uuid": uuid,
                              "state": {**blank_of(STATE, "failed"), "device_id": uuid or unread("failed")}})
    except OSError:
        return []
    return found


def _field(line: str) -> tuple[str, str]:
    key, _, value = line.partition(":")
    return key.strip(), value.strip()
