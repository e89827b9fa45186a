"""Which devices the variables of a process let it reach, by the rules of the vendors' runtimes.

``CUDA_VISIBLE_DEVICES`` (CUDA C++ Programming Guide, "CUDA Environment Variables"; MIG User Guide, "CUDA Visible
Devices"): indices or ids, ids as unique prefixes; the first entry that names nothing ends the list. Indices count in
the order of the bus only where ``CUDA_DEVICE_ORDER`` says so, else by speed, which nobody outside CUDA can tell.
``ROCR_VISIBLE_DEVICES`` and then ``HIP_VISIBLE_DEVICES`` choose among AMD's (ROCm documentation, "GPU isolation").
``NVIDIA_VISIBLE_DEVICES`` is read by the container's runtime: what it hides is not in the container at all.
"""

from __future__ import annotations

from ..errors import ProbeFailed
from ..fingerprint.facts import unread
from .keys import ACCELERATOR

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

_BY_SPEED = ("indices in CUDA_VISIBLE_DEVICES count by speed on a node of unlike devices, so they do not tell which "
             "are meant: CUDA_DEVICE_ORDER=PCI_BUS_ID makes them tell")
_MIG_INDEX = "an index in CUDA_VISIBLE_DEVICES does not tell which of several unlike MIG slices is meant"
_LOST = "indices in CUDA_VISIBLE_DEVICES do not tell which devices are meant while one does not answer"
_TWICE = "CUDA_VISIBLE_DEVICES names a device twice"


class Chosen:
    """The devices that a process can reach; ``exact`` when it is known which, and not only of what kind.

    Where a mask does not even tell the kind, ``problem`` says why, and each device has the facts that all it may be
    share: no list is left open that a look at the node would fill with devices the process never had.
    """

    __slots__ = ("devices", "exact", "problem")

    def __init__(self, devices: list[dict[str, Any]], *, exact: bool, problem: ProbeFailed | None = None) -> None:
        self.devices = devices
        self.exact = exact
        self.problem = problem


def of_cuda(found: list[dict[str, Any]], environ: Mapping[str, str]) -> Chosen:
    """Return those of NVIDIA's devices that the mask leaves.

    ``found`` holds devices in the order of the bus, each with ``facts``, ``uuid``, and ``gpu`` and ``gpu_uuid`` of the
    whole device.
    """
    mask = environ.get("CUDA_VISIBLE_DEVICES")
    if mask is None:
        return Chosen(found, exact=True)
    by_bus = environ.get("CUDA_DEVICE_ORDER", "").strip() == "PCI_BUS_ID"
    entries = [entry.strip() for entry in mask.split(",")]
    try:
        picked = _picked(found, entries)
        by_index = any(entry.isdigit() for entry in entries[:len(picked)])
        exact = not by_index or _order_known(found, picked, by_bus=by_bus)
        return Chosen([found[place] for place in picked], exact=exact)
    except ProbeFailed as problem:
        sliced = len({device["gpu"] for device in found}) < len(found)
        count = 1 if sliced else min(len(set(entries)), len(found))
        return Chosen([_shared(found)] * count, exact=False, problem=problem)


def _picked(found: list[dict[str, Any]], entries: list[str]) -> list[int]:
    """Return the places that the entries name; raise ``ProbeFailed`` where they do not tell which."""
    picked: list[int] = []
    for entry in entries:
        place = _named(found, entry) if entry[:4] in ("GPU-", "MIG-") else _index(found, entry)
        if place is None:
            break
        picked.append(place)
    if len(set(picked)) < len(picked):
        raise ProbeFailed("not-reported", _TWICE)
    return picked


def _shared(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a device of which only is known what all of ``found`` share."""
    first = found[0]["facts"]
    facts = {key: first[key] if all(device["facts"][key] == first[key] for device in found) else unread("not-reported")
             for key in ACCELERATOR}
    return {**found[0], "facts": facts, "uuid": None}


def _named(found: list[dict[str, Any]], entry: str) -> int | None:
    """Return the device whose id starts with ``entry``; of a device cut into slices its first."""
    fitting = [place for place, device in enumerate(found) if str(device["uuid"] or "").startswith(entry)]
    if len(fitting) == 1:
        return fitting[0]
    whole = [place for place, device in enumerate(found) if str(device["gpu_uuid"] or "").startswith(entry)]
    if len({found[place]["gpu"] for place in whole}) != 1:
        return None
    if _differ([found[place] for place in whole]):
        raise ProbeFailed("not-reported", "the id of a GPU in CUDA_VISIBLE_DEVICES does not tell which of its unlike "
                                          "MIG slices is meant")
    return whole[0]


def _index(found: list[dict[str, Any]], text: str) -> int | None:
    """Return the device at an index; of devices cut into slices a process gets one slice, whatever the index."""
    gpus = [device["gpu"] for device in found]
    if not (text.isascii() and text.isdigit()) or int(text) >= len(set(gpus)):
        return None
    if any(device["uuid"] is None for device in found):
        raise ProbeFailed("failed", _LOST)
    if len(set(gpus)) < len(gpus):
        if _differ(found):
            raise ProbeFailed("not-reported", _MIG_INDEX)
        return gpus.index(sorted(set(gpus))[int(text)])
    return int(text)


def _order_known(found: list[dict[str, Any]], picked: list[int], *, by_bus: bool) -> bool:
    """Tell whether indices tell devices; raise ``ProbeFailed`` where they do not even tell the kind."""
    if by_bus or len(picked) in (0, len(found)):
        return True
    if _differ(found):
        raise ProbeFailed("not-reported", _BY_SPEED)
    return False


def _differ(devices: list[dict[str, Any]]) -> bool:
    return any(device["facts"] != devices[0]["facts"] for device in devices)


def of_rocm(found: list[dict[str, Any]], environ: Mapping[str, str]) -> Chosen:
    """Return those of AMD's devices that the masks leave, one mask after the other; their order is the kernel's."""
    for names in (("ROCR_VISIBLE_DEVICES",), ("HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")):
        mask = next((environ[name] for name in names if name in environ), None)
        if mask is not None:
            found = _left(found, mask)
    return Chosen(found, exact=True)


def _left(found: list[dict[str, Any]], mask: str) -> list[dict[str, Any]]:
    left: list[dict[str, Any]] = []
    for entry in (part.strip() for part in mask.split(",")):
        if entry.startswith("GPU-"):
            fitting = [device for device in found if device["uuid"] == entry]
        else:
            fitting = found[int(entry):int(entry) + 1] if entry.isascii() and entry.isdigit() else []
        if not fitting or fitting[0] in left:
            break
        left.append(fitting[0])
    return left
