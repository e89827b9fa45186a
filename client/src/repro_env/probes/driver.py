"""Section ``driver``: kernel module and user-space library of the accelerator, two facts that may differ."""

from __future__ import annotations

import os

from ..errors import ProbeFailed
from ..fingerprint.facts import unread
from . import pci
from .keys import SECTIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..system import System
    from .look import Look

_VERSION_FILE = "/proc/driver/nvidia/version"
_LIBRARY_FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib/aarch64-linux-gnu", "/usr/lib/wsl/lib",
                    "/usr/lib", "/usr/local/nvidia/lib64")
_COMPAT_FOLDERS = ("/usr/local/cuda/compat", "/usr/local/cuda/compat/lib")


def probe(system: System, look: Look) -> dict[str, Any]:
    """Return the driver's versions; all ``None`` where there is surely no accelerator."""
    look.sources["driver"] = "sysfs"
    if pci.surely_no_accelerator(look):
        return dict.fromkeys(SECTIONS["driver"])
    if system.uname().sysname == "Darwin":
        return of_macos(system.uname().machine)
    bus = pci.vendors_on_bus(look)
    if pci.has_nodes(system, "amd") and not pci.has_nodes(system, "nvidia"):
        from .amd import module

        return {**dict.fromkeys(SECTIONS["driver"]), "kernel_module": module(system)}
    if bus is not None and "nvidia" not in bus and not pci.has_nodes(system, "nvidia"):
        return {**dict.fromkeys(SECTIONS["driver"]), "kernel_module": unread("not-reported")}
    return nvidia(system, look)


def nvidia(system: System, look: Look) -> dict[str, Any]:
    """Return NVIDIA's driver: the kernel's own word first, NVML's for the CUDA level."""
    from . import nvml

    module: Any
    module, flavour = kernel_module(system)
    level: Any
    try:
        answer = nvml.read(look)
        level = answer["cuda"]
        module = module or answer["driver"]
        look.sources["driver"] = "nvml"
    except ProbeFailed as error:
        look.failed("driver.cuda_level", error.code, error.message)
        level = unread(error.code)
        module = module or look.findings.get("smi-driver") or unread(error.code)
    if flavour:
        look.sources["driver.kernel_module"] = look.sources["driver.kernel_flavour"] = "proc"
    library, compat = user_library(system)
    look.sources["driver.user_libcuda"] = look.sources["driver.compat"] = "files"
    return {"kernel_module": module, "user_libcuda": library, "compat": compat, "cuda_level": level,
            "kernel_flavour": flavour or unread("not-reported")}


def kernel_module(system: System) -> tuple[str | None, str | None]:
    """Return version and flavour of the loaded NVIDIA module, ``None`` where the kernel does not say."""
    try:
        text = system.read_text(_VERSION_FILE, 4096)
    except OSError:
        return None, None
    return parse_version(text)


def parse_version(text: str) -> tuple[str | None, str | None]:
    """Return version and flavour in the text of /proc/driver/nvidia/version."""
    for line in text.splitlines():
        if not line.startswith("NVRM version:"):
            continue
        for word in line.split():
            parts = word.split(".")
            if len(parts) >= 2 and all(part.isdigit() for part in parts):
                return word, "open" if "Open Kernel Module" in line else "proprietary"
    return None, None


def user_library(system: System) -> tuple[Any, Any]:
    """Return version of the libcuda a process would load and whether it is the forward-compatibility package.

    Folders of LD_LIBRARY_PATH decide; without one there, a compatibility package on the machine leaves it open,
    since the loader's cache may or may not point to it.
    """
    for folder in system.environ.get("LD_LIBRARY_PATH", "").split(os.pathsep):
        if folder and system.exists(f"{folder}/libcuda.so.1"):
            return _version(system, folder), "compat" in folder.split("/")
    if any(system.exists(f"{folder}/libcuda.so.1") for folder in _COMPAT_FOLDERS):
        return unread("not-loaded"), unread("not-loaded")
    for folder in _LIBRARY_FOLDERS:
        if system.exists(f"{folder}/libcuda.so.1"):
            return _version(system, folder), False
    return unread("not-reported"), unread("not-reported")


def _version(system: System, folder: str) -> Any:
    """Return the version in the name of the file behind ``libcuda.so.1``."""
    version = system.realpath(f"{folder}/libcuda.so.1").rpartition("libcuda.so.")[2]
    return version if version.count(".") >= 1 else unread("not-reported")


def of_macos(machine: str) -> dict[str, Any]:
    """Return the driver of macOS: a part of the system, without a version; on Apple silicon there is surely no CUDA."""
    absent = None if machine == "arm64" else unread("not-reported")
    return {**dict.fromkeys(SECTIONS["driver"], absent), "kernel_module": unread("not-reported")}
