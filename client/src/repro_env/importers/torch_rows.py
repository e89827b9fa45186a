"""Facts of the rows that detectron2's and OpenMMLab's collect_env have in common: one is made after the other.

A row is a key and a value. Which rows a text holds is left to the modules of the two formats.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..fingerprint.facts import is_unread
from . import devices, host, inventory, torch_config
from .rows import Row
from .words import NOT_REPORTED, switch_fact, version_fact

_FAMILIES = {"linux": "linux", "linux2": "linux", "win32": "windows", "cygwin": "windows", "darwin": "macos"}
_GPU = re.compile(r"GPU (\d{1,3}(?:,\d{1,3})*)")
_ARCH = re.compile(r"\s*\(arch=(\d+\.\d+)\)$")
_TOOLKIT = re.compile(r".*?release \d+\.\d+, V(\d+\.\d+(?:\.\d+)?)|Build cuda_(\d+\.\d+)|.*?\bV(\d+\.\d+\.\d+)\b")
_VERSION = re.compile(r"(\d+(?:\.\d+)+[\w.+!-]*|\d+\.\w[\w.+!-]*)(?: @.*|)")
_UNAVAILABLE = ("no", "false")

Values = dict[str, str]


def version(told: str | None) -> str | None:
    """Return the version that a value begins with, without the folder behind it."""
    match = _VERSION.fullmatch(told.strip()) if told else None
    return match[1] if match else None


def sections(values: Values, distributions: Sequence[tuple[str, str]], config: torch_config.Sections | None,
             notes: list[str]) -> inventory.Sections:
    """Return what the rows state. ``distributions``: name and version of those that are told beside torch."""
    rows = [Row(name, told, conda=False) for name, told in distributions]
    torch = version(values.get("PyTorch"))
    if torch is not None:
        rows.append(Row("torch", torch, conda=False))
    result = inventory.sections(rows, notes)
    if config is not None:
        _add(result, config)
    _build(result, values)
    result["python"] = host.python_of(values.get("Python", ""))
    family = _FAMILIES.get(values.get("sys.platform", "").lower())
    if family:
        result["system"] = {"os_family": family}
    result["accelerators"] = accelerators(values, notes)
    available = switch_fact(values.get("GPU available"))
    if isinstance(available, bool):
        notes.append(f"Is CUDA available: {available}")
    driver = values.get("Driver version")
    if driver is not None:
        result["driver"] = {"kernel_module": version_fact(driver)}
    return result


def _add(result: inventory.Sections, config: torch_config.Sections) -> None:
    """Add what torch reports of its own build to what the rows say; the rows name its version."""
    torch = result["frameworks"]["torch"]
    told = config["frameworks"]["torch"]
    if isinstance(torch, dict) and not is_unread(torch):
        told = {key: torch[key] if is_unread(value) else value for key, value in told.items()}
    result["frameworks"]["torch"] = told
    result["libraries"].update(config["libraries"])
    if "cpu" in config:
        result["cpu"] = config["cpu"]


def _build(result: inventory.Sections, values: Values) -> None:
    torch = result["frameworks"]["torch"]
    if isinstance(torch, dict) and not is_unread(torch):
        debug = switch_fact(values.get("PyTorch debug build"))
        if isinstance(debug, bool):
            torch["debug"] = debug
        abi = switch_fact(values.get("torch._C._GLIBCXX_USE_CXX11_ABI"))
        if isinstance(abi, bool):
            torch["abi"] = "cxx11" if abi else "pre-cxx11"
    toolkit = _TOOLKIT.match(values.get("CUDA compiler", ""))
    if toolkit:
        result["libraries"]["cuda_toolkit"] = toolkit[1] or toolkit[2] or toolkit[3]


def accelerators(values: Values, notes: list[str]) -> dict[str, Any]:
    """Return the devices of every row of GPUs in index order; without one the text does not tell."""
    found: list[tuple[int, dict[str, Any]]] = []
    for key, told in values.items():
        match = _GPU.fullmatch(key)
        if match is None or not told:
            continue
        arch = _ARCH.search(told)
        name = told[:arch.start()] if arch else told
        device = devices.named(name)
        if arch and device["vendor"] == "nvidia":
            device["compute_capability"] = arch[1]
        found += [(int(index), device) for index in match[1].split(",")]
    if found:
        found.sort(key=lambda item: item[0])
        whole = not _GPU.fullmatch(list(values)[-1])
        if not whole:
            notes.append("the text ends in the list of GPUs: there may be more than it shows")
        return devices.section([device for _, device in found], notes, whole=whole)
    typed = values.get("GPU", "")
    if typed and devices.vendor_of(typed) and list(values)[-1] != "GPU":
        notes.append(f"how many {typed} there are is not told")
        return devices.section([devices.named(typed)], notes, whole=False)
    told = values.get("GPU available", "").lower()
    if told.startswith(_UNAVAILABLE):
        notes.append("torch sees no GPU, which does not tell whether the machine has one")
        return {"devices": NOT_REPORTED}
    return {}
