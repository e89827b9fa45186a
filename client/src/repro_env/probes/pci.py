"""Devices on the PCI bus and in /dev: what makes "no GPU" certain, or a look at a vendor's tool worth its cost."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..system import System
    from .look import Look

NVIDIA, AMD, INTEL = "0x10de", "0x1002", "0x8086"
#: PCI classes: VGA, 3D and other display controllers, processing accelerators.
_CLASSES = ("0x0300", "0x0302", "0x0380", "0x1200")
#: vendors of devices that frameworks compute on; Intel's are counted where they are no mere display (class 0x0300).
_VENDORS = {NVIDIA: "nvidia", AMD: "amd", INTEL: "intel", "0x1da3": "habana", "0x1d0f": "amazon", "0x1ae0": "google",
            "0x19e5": "huawei", "0x1d80": "graphcore"}
_NODES = {"nvidia": ("/dev/nvidiactl", "/dev/nvidia0", "/dev/nvidia-uvm", "/dev/dxg", "/proc/driver/nvidia/version"),
          "amd": ("/dev/kfd",)}
_ROOT = "/sys/bus/pci/devices"
#: drivers under which a device serves no computation here: handed to a guest, or a display.
_OTHER_DRIVERS = ("vfio-pci", "pci-stub", "nouveau")


def vendors_on_bus(look: Look) -> frozenset[str] | None:
    """Return the vendors of accelerators on the PCI bus; ``None`` when the bus cannot be read to the end."""
    found = _bus(look)
    return None if found is None else frozenset(found)


def count(look: Look, vendor: str) -> int:
    """Return how many devices of ``vendor`` the bus shows, less those that another driver than the vendor's has."""
    return (_bus(look) or {}).get(vendor, 0)


def _bus(look: Look) -> dict[str, int] | None:
    if "pci" not in look.findings:
        look.findings["pci"] = _read_bus(look.system)
    return look.findings["pci"]  # type: ignore[no-any-return]  # findings hold values of any kind


def _read_bus(system: System) -> dict[str, int] | None:
    found: dict[str, int] = {}
    try:
        for name in system.list_dir(_ROOT):
            kind = system.read_text(f"{_ROOT}/{name}/class", 16).strip()[:6]
            if kind in _CLASSES:
                vendor = system.read_text(f"{_ROOT}/{name}/vendor", 16).strip()
                if vendor in _VENDORS and not (vendor == INTEL and kind == "0x0300"):
                    found[_VENDORS[vendor]] = found.get(_VENDORS[vendor], 0) + _usable(system, name)
    except OSError:
        return None
    return found


def _usable(system: System, name: str) -> int:
    """Return 0 for a device that another driver keeps for itself (vfio-pci, nouveau), 1 for any other."""
    try:
        return int(system.readlink(f"{_ROOT}/{name}/driver").rpartition("/")[2] not in _OTHER_DRIVERS)
    except OSError:
        return 1


def has_nodes(system: System, vendor: str) -> bool:
    """Tell whether the vendor's driver left a device node or a /proc entry."""
    return any(system.exists(path) for path in _NODES[vendor])


def surely_no_accelerator(look: Look) -> bool:
    """Tell whether there is certainly nothing to compute on but the processor."""
    system = look.system
    if system.uname().sysname != "Linux" or any(has_nodes(system, vendor) for vendor in _NODES):
        return False
    return vendors_on_bus(look) == frozenset()
