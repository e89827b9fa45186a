"""Section ``system``: operating system and text environment, from files and the C library; of macOS by sysctl."""

from __future__ import annotations

from ..errors import ProbeFailed
from ..fingerprint.facts import unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..system import System
    from .look import Look

_MACOS_VERSION = "/System/Library/CoreServices/SystemVersion.plist"
_FAMILIES = {"Linux": "linux", "Darwin": "macos", "Windows": "windows"}
#: what DMI says (lower case, any part) -> hypervisor.
_HYPERVISORS = (("amazon ec2", "kvm"), ("google", "kvm"), ("microsoft corporation", "hyperv"),
                ("vmware", "vmware"), ("virtualbox", "virtualbox"), ("xen", "xen"), ("openstack", "kvm"),
                ("qemu", "kvm"), ("kvm", "kvm"), ("firecracker", "kvm"), ("bochs", "kvm"), ("parallels", "parallels"))

#: clocks that a hypervisor offers its guests -> hypervisor.
_CLOCKS = {"kvm-clock": "kvm", "hyperv_clocksource_tsc_page": "hyperv", "xen": "xen"}


def probe(system: System, look: Look) -> dict[str, Any]:
    """Return the operating system, its C library, virtualisation and text environment."""
    name = system.uname()
    look.sources["system"] = "files"
    look.sources["system.utc_offset"] = "clock"
    return {
        "os_family": _FAMILIES.get(name.sysname, name.sysname.lower()), "os_name": os_name(system),
        "kernel": name.release, "libc": libc(system), "virtualisation": hypervisor(look, name.sysname, name.machine),
        "encoding": encoding_name(system.text_encoding()), "utc_offset": offset_text(system.utc_offset_s()),
    }


def hypervisor(look: Look, sysname: str, machine: str) -> Any:
    """Return the hypervisor by the means of the operating system."""
    if sysname != "Darwin":
        return virtualisation(look.system, machine)
    from .apple import virtualisation as of_macos

    try:
        return of_macos(look)
    except ProbeFailed as error:
        return look.failed("system.virtualisation", error.code, error.message)


def os_name(system: System) -> Any:
    """Return PRETTY_NAME of os-release, name and version of macOS."""
    for path in ("/etc/os-release", "/usr/lib/os-release"):
        try:
            text = system.read_text(path)
        except FileNotFoundError:
            continue
        for line in text.splitlines():
            key, _, value = line.partition("=")
            if key.strip() == "PRETTY_NAME":
                return value.strip().strip("\"'")
    return macos_name(system)


def macos_name(system: System) -> Any:
    """Return ``macOS 14.5`` of the property list that states it, one ``<key>`` or ``<string>`` a line."""
    words = [line.strip() for line in _text(system, _MACOS_VERSION).splitlines()]
    stated = {key[5:-6]: text[8:-9] for key, text in zip(words, words[1:])
              if key.startswith("<key>") and text.startswith("<string>")}
    name, version = stated.get("ProductName"), stated.get("ProductVersion")
    return f"{name} {version}" if name and version else unread("not-reported")


def libc(system: System) -> Any:
    """Return the C library as ``glibc 2.36``; musl does not say its version through this call."""
    try:
        answer = system.confstr("CS_GNU_LIBC_VERSION")
    except (OSError, ValueError):
        answer = None
    return answer or unread("not-reported")


def virtualisation(system: System, machine: str) -> Any:
    """Return the hypervisor, ``None`` on bare metal; unread where only its presence or nothing is known."""
    try:
        under_one = hypervisor_flag(system.read_text("/proc/cpuinfo"))
    except FileNotFoundError:
        under_one = None
    if under_one is False and machine in ("x86_64", "i686"):
        return None
    words = " ".join(_line(system, f"/sys/class/dmi/id/{name}") for name in ("sys_vendor", "product_name")).lower()
    for mark, hypervisor in _HYPERVISORS:
        if mark in words:
            return hypervisor
    clocks = _line(system, "/sys/devices/system/clocksource/clocksource0/available_clocksource").split()
    by_clock = next((_CLOCKS[clock] for clock in clocks if clock in _CLOCKS), None)
    return by_clock or _line(system, "/sys/hypervisor/type") or unread("not-reported")


def hypervisor_flag(cpuinfo: str) -> bool | None:
    """Tell whether an x86 processor says it runs under a hypervisor; ``None`` where it has no flags line."""
    for line in cpuinfo.splitlines():
        if line.startswith("flags"):
            return "hypervisor" in line.split()
    return None


def encoding_name(name: str) -> str:
    """Return one spelling for the many of UTF-8; others as they are, in upper case."""
    spelled = name.upper()
    return "UTF-8" if spelled.replace("-", "").replace("_", "") == "UTF8" else spelled


def offset_text(seconds: int) -> str:
    """Return an offset from UTC as ``+hh:mm``."""
    sign = "-" if seconds < 0 else "+"
    hours, minutes = divmod(abs(seconds) // 60, 60)
    return f"{sign}{hours:02d}:{minutes:02d}"


def _line(system: System, path: str) -> str:
    return _text(system, path, 256).strip()


def _text(system: System, path: str, limit: int = 8192) -> str:
    """Return the start of a file; one that cannot be read is empty."""
    try:
        return system.read_text(path, limit)
    except OSError:
        return ""
