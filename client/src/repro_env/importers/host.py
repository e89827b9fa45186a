"""Python and operating system as a collect_env text states them."""

from __future__ import annotations

import re
from typing import Any

from ..probes.keys import blank
from .devices import is_wsl
from .dump import Dump
from .processor import ARCHITECTURES, virtualisation
from .words import NOT_RECORDED, NOT_REPORTED, is_silent

_VERSION = re.compile(r"(\d+\.\d+(?:\.\d+)?(?:a\d+|b\d+|rc\d+)?\+?)(?=[\s|]|$)")
_COMPILER = re.compile(r"\[((?:GCC|Clang|MSC|Apple|LLVM)[^\[\]]{1,120})\]")
_MACHINE = re.compile(r"\s+\((" + "|".join(ARCHITECTURES) + r")\)$", re.IGNORECASE)
_PLATFORM = re.compile(r"(Linux|Windows|macOS|Darwin)-(.+)")
_ARCHITECTURE = re.compile(r"-(" + "|".join(ARCHITECTURES) + r")(?=-|$)", re.IGNORECASE)
_PLATFORM_LIBC = re.compile(r"-with-(glibc|musl)(\d[\d.]*)$")
_FAMILIES = {"linux": "linux", "windows": "windows", "macos": "macos", "darwin": "macos"}


def python(dump: Dump) -> dict[str, Any]:
    """Return the section ``python``; a partial version stays as told."""
    field = dump.fields.get("Python version")
    if field is None:
        return blank("python", "not-recorded")
    text = " ".join(line for line in field.lines[:3] if line)
    return {**blank("python", "not-recorded"), **python_of(text, cut=field.cut)}


def python_of(told: str, *, cut: bool = False) -> dict[str, Any]:
    """Return what the words of ``sys.version``, or its beginning, tell; ``cut``: the text may break off behind them."""
    match = _VERSION.match(told)
    if match is None or (cut and match.end() == len(told)):
        return {"version": NOT_RECORDED if cut else NOT_REPORTED}
    facts: dict[str, Any] = {"version": match[1].rstrip("+")}
    compiler = _COMPILER.search(told)
    if compiler:
        facts.update(implementation="cpython", compiler=compiler[1], free_threaded="free-threading" in told)
    elif "[PyPy" in told:
        facts["implementation"] = "pypy"
    return facts


def system(dump: Dump, version: Any, notes: list[str]) -> dict[str, Any]:
    """Return the section ``system``; the architecture that the text appends to the name belongs to ``cpu``."""
    facts = blank("system", "not-recorded")
    told = dump.value("OS")
    facts["os_family"] = os_family(dump)
    if told is not None:
        facts["os_name"] = NOT_REPORTED if is_silent(told) else _MACHINE.sub("", told)
    match = _PLATFORM.match(dump.value("Python platform") or "")
    if match and match[1] == "Linux":
        facts["kernel"] = kernel_and_machine(match[2])[0] or NOT_RECORDED
    facts["libc"] = libc(dump, version, notes)
    facts["virtualisation"] = "wsl2" if is_wsl(dump) else virtualisation(dump) if "CPU" in dump.fields else NOT_RECORDED
    return facts


def kernel_and_machine(told: str) -> tuple[str | None, str | None]:
    """Return kernel and machine of what Python's platform line says behind the system's name.

    The machine is the last one named: Debian's kernels have one in their own name.
    """
    matches = list(_ARCHITECTURE.finditer(told.partition("-with-")[0]))
    return (told[:matches[-1].start()], matches[-1][1].lower()) if matches else (None, None)


def os_family(dump: Dump) -> Any:
    """Return linux, windows or macos: by Python's platform, else by the name in any language."""
    match = _PLATFORM.match(dump.value("Python platform") or "")
    if match:
        return _FAMILIES[match[1].lower()]
    told = dump.value("OS")
    if told is None:
        return NOT_RECORDED
    name = told.lower()
    if is_silent(told):
        return NOT_REPORTED
    if "windows" in name:
        return "windows"
    if re.match(r"mac ?os|darwin", name):
        return "macos"
    return NOT_REPORTED if re.match(r"(?:\w*bsd|sunos|aix|cygwin)", name) else "linux"


def libc(dump: Dump, python_version: Any, notes: list[str]) -> Any:
    """Return the C library that the text names, also where the row itself lies above the beginning of an excerpt."""
    told = dump.value("Libc version")
    if told is None and "Libc version" not in dump.fields:
        told = platform_libc(dump.value("Python platform") or "", python_version)
    return NOT_RECORDED if told is None else libc_of(told, python_version, notes)


def platform_libc(platform: str, python_version: Any) -> str | None:
    """Return the C library of a platform line; Python before 3.9 told there what its own file needs."""
    told = _PLATFORM_LIBC.search(platform)
    parts = re.match(r"(\d+)\.(\d+)", python_version) if isinstance(python_version, str) else None
    if told is None or parts is None or (int(parts[1]), int(parts[2])) < (3, 9):
        return None
    return f"{told[1]}-{told[2]}"


def libc_of(told: str, python_version: Any, notes: list[str]) -> Any:
    """Return a C library; Python before 3.8 told the oldest version its own file needs, which is not believed."""
    match = re.fullmatch(r"([a-z]{2,10})[- ]?(\d[\d.]*)", told)
    if match is None:
        return NOT_REPORTED
    parts = re.match(r"(\d+)\.(\d+)", python_version) if isinstance(python_version, str) else None
    if parts is None or (int(parts[1]), int(parts[2])) < (3, 8):
        notes.append(f"{told} is what the file of an old Python needs, not the C library it runs with: not believed")
        return NOT_REPORTED
    return f"{match[1]} {match[2]}"
