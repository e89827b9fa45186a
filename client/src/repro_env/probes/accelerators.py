"""Section ``accelerators``: what each vendor's sources say, put together; each source is bounded.

``devices`` are those that a process of this environment can reach; how devices are joined is told for the whole node,
whatever a mask hides. A tool that is missing, hangs or prints garbage never makes "no GPU": that needs a readable bus
without one, or a mask that leaves none.
"""

from __future__ import annotations

from ..fingerprint.facts import is_unread, unread
from . import pci
from .keys import ACCELERATOR, SECTIONS, blank_of
from .vendor import Part

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..system import System
    from .look import Look

# The readers of vendors are imported where a machine needs them: most prologues of CPU jobs need none.

#: beginnings of the kinds of links, strongest first, and the word that the document has for them.
_STRENGTH = (("nvlink", "nvlink"), ("xgmi", "xgmi"), ("", "pcie"))
#: device nodes of vendors that are known by nothing but the bus.
_OTHER_NODES = ("/dev/dri", "/dev/accel")


def probe(system: System, look: Look) -> dict[str, Any]:
    """Return the devices in canonical order and how they are joined; ``None`` where there is surely no device."""
    look.sources["accelerators"] = "sysfs"
    if pci.surely_no_accelerator(look):
        return dict.fromkeys(SECTIONS["accelerators"])
    parts = [read(look) for read in _readers(system, look)]
    if not parts:
        return dict.fromkeys(SECTIONS["accelerators"], unread("not-reported"))
    _note(look, parts)
    unknown = next((part.devices for part in parts if is_unread(part.devices)), None)
    devices = unknown or sorted((device for part in parts for device in part.devices), key=_order)
    return {"devices": devices or None, "interconnect": interconnect(parts), "links": links(parts)}


def _readers(system: System, look: Look) -> list[Any]:
    """Return the readers of the vendors that the bus or a device node shows; NVIDIA's too where the bus is hidden."""
    if system.uname().sysname == "Darwin":
        from .apple import devices

        return [devices]
    bus = pci.vendors_on_bus(look)
    readers: list[Any] = []
    if pci.has_nodes(system, "amd"):
        from .amd import read as read_amd

        readers.append(read_amd)
    if pci.has_nodes(system, "nvidia") or bus is None or "nvidia" in bus:
        from .nvidia import read as read_nvidia

        readers.append(read_nvidia)
    if not readers and bus and any(system.exists(path) for path in _OTHER_NODES):
        readers.append(_by_the_bus)
    return readers


def _by_the_bus(look: Look) -> Part:
    """Return devices of vendors of which only the maker is known."""
    absent = dict.fromkeys(("compute_capability", "gfx_target", "mig_profile"))
    devices = [{**blank_of(ACCELERATOR, "not-reported"), **absent, "vendor": vendor}
               for vendor in sorted(pci.vendors_on_bus(look) or ()) for _ in range(pci.count(look, vendor))]
    return Part(devices or unread("not-reported"), unread("not-reported"), unread("not-reported"), [])


def _note(look: Look, parts: list[Part]) -> None:
    """Note for the capture part what belongs to single devices: ids, limits, and the pairs by index."""
    if all(isinstance(part.ids, list) for part in parts):
        look.device_ids = tuple(uuid for part in parts for uuid in part.ids)
    states = [state for part in parts for state in part.states]
    if states:
        look.circumstances["device_states"] = states
    pairs: Any = parts[0].pairs if len(parts) == 1 else unread("not-reported")
    look.circumstances["device_links"] = pairs if is_unread(pairs) else [
        f"{first}-{second} {kind}" for first, second, kind in pairs]


def links(parts: list[Part]) -> Any:
    """Return each kind of link with the number of pairs it joins, sorted; unread where one vendor's are."""
    counts: dict[str, int] = {}
    for part in parts:
        if is_unread(part.pairs):
            return part.pairs
        for _, _, kind in part.pairs:
            counts[kind] = counts.get(kind, 0) + 1
    return [f"{kind} x {count}" for kind, count in sorted(counts.items())]


def interconnect(parts: list[Part]) -> Any:
    """Return the strongest link between devices, ``None`` where there is one device."""
    for part in parts:
        if is_unread(part.pairs):
            return part.pairs
    kinds = [kind for part in parts for _, _, kind in part.pairs]
    return next((word for start, word in _STRENGTH if any(kind.startswith(start) for kind in kinds)), None)


def _order(device: dict[str, Any]) -> tuple[tuple[bool, str], ...]:
    return tuple((is_unread(device[key]), str(device[key])) for key in ACCELERATOR)
