"""The one line that Python's ``platform.platform()`` makes of a machine, as many reports print it."""

from __future__ import annotations

import re
from typing import Any

from .host import kernel_and_machine, libc_of
from .words import NOT_REPORTED

PLATFORM = re.compile(r"(Linux|Windows|macOS|Darwin)-(\S.*)")
_FAMILIES = {"Linux": "linux", "Windows": "windows", "macOS": "macos", "Darwin": "macos"}
_LIBC = re.compile(r"-with-(glibc|musl)(\d[\d.]*)$")
_SPELLING = {"amd64": "x86_64"}
#: what every macOS from 11 on says to a program built for an older one.
_HIDDEN_MACOS = "10.16"


def sections(told: str, python_version: Any, notes: list[str]) -> dict[str, dict[str, Any]]:
    """Return the sections ``system`` and ``cpu`` as far as the line states them; nothing when it is no such line."""
    match = PLATFORM.match(told.strip())
    if match is None:
        return {}
    family, rest = match[1], match[2]
    system: dict[str, Any] = {"os_family": _FAMILIES[family]}
    kernel, machine = kernel_and_machine(rest)
    if family == "Linux":
        system.update(_linux(rest, kernel, python_version, notes))
    elif family == "Darwin":
        system["kernel"] = rest.partition("-")[0]
    elif family == "macOS":
        release = rest.partition("-")[0]
        if release == _HIDDEN_MACOS:
            notes.append("macOS 10.16 is what any later macOS says to a program built for an older one: not believed")
        else:
            system["os_name"] = f"macOS {release}"
    found = {"system": system}
    if machine:
        found["cpu"] = {"architecture": _SPELLING.get(machine, machine)}
    return found


def _linux(rest: str, kernel: str | None, python_version: Any, notes: list[str]) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    if kernel:
        facts["kernel"] = kernel
        if "microsoft" in kernel:
            facts["virtualisation"] = "wsl2"
    libc = _LIBC.search(rest)
    if libc and isinstance(python_version, str) and python_version.startswith("3.8."):
        notes.append(f"{libc[1]} {libc[2]} in the platform line is what the file of Python 3.8 needs, not the C "
                     "library it runs with: not believed")
        facts["libc"] = NOT_REPORTED
    elif libc:
        facts["libc"] = libc_of(f"{libc[1]}-{libc[2]}", python_version, notes)
    return facts
