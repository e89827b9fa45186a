"""Accelerators and driver as a collect_env text lists them."""

from __future__ import annotations

import re
from typing import Any

from ..comparability.devices import resolve
from ..fingerprint.facts import is_unread
from ..probes.keys import ACCELERATOR, SECTIONS, blank, blank_of
from ..probes.nvml import form_factor
from .dump import MOST_LINES, Dump, Field
from .words import NOT_RECORDED, is_silent, says_no_cuda, version_fact

_GPU = re.compile(r"GPU\s*(\d{1,3})\s*:\s*(.*)")
_MIG = re.compile(r"MIG\s+(\d+c\.\d+g\.\d+gb\S*|\d+g\.\d+gb\S*)\s+Device\s+(\d+)")
_UUID = re.compile(r"\s*\(UUID: [^()]{0,80}\)?")
#: what the first builds for ROCm 6 print behind a name in place of the architecture.
_NO_ARCHITECTURE = "NoGCNArchNameOnOldPyTorch"
_GFX = re.compile(r"\bgfx[0-9a-f]{3,5}\b")
_XPU_NAME = re.compile(r"\bname='([^']{1,120})'")
_MODELS = "GPU models and configuration"
_INTEL = "Intel GPU models detected"
_DRIVER = "Nvidia driver version"
_MIG_BEHIND = re.compile(r" MIG (\d+c\.\d+g\.\d+gb\S*|\d+g\.\d+gb\S*)$")
#: word in a device's name -> maker.
_VENDORS = {"nvidia": "nvidia", "geforce": "nvidia", "tesla": "nvidia", "quadro": "nvidia", "amd ": "amd",
            "radeon": "amd", "instinct": "amd", "intel": "intel", "apple": "apple"}
_NVIDIA_ALONE = frozenset(("nvidia", "geforce", "tesla", "quadro", "nvidia geforce", "nvidia tesla", "nvidia rtx"))


def accelerators(dump: Dump, family: Any, notes: list[str]) -> dict[str, Any]:
    """Return the section ``accelerators``: devices in canonical order, their index order in a note.

    The text's "No CUDA" is believed for NVIDIA's and AMD's devices only: macOS and XPU builds compute on others.
    A list that the end of the text breaks off ends with a device of which nothing is known.
    """
    field = dump.fields.get(_MODELS)
    intel = intel_devices(dump)
    if intel:
        devices: list[dict[str, Any]] = intel
    elif field is None:
        return blank("accelerators", "not-recorded")
    elif says_no_cuda(dump.value(_MODELS)):
        return _none(dump, family, notes)
    else:
        devices = _amd(field) if _is_rocm(dump) else nvidia(field, notes)
    if not devices:
        return blank("accelerators", "not-reported")
    listed = dump.fields.get(_INTEL) if intel else field
    cut = listed is not None and listed.cut
    if cut:
        notes.append("the text ends in the list of GPUs: there may be more than it shows")
        devices = [device for device in devices if not is_unread(device["name"])]
    return section(devices, notes, whole=not cut)


def section(devices: list[dict[str, Any]], notes: list[str], *, whole: bool) -> dict[str, Any]:
    """Return the section ``accelerators`` of devices in index order, which a note keeps where they differ.

    A list that is not ``whole`` ends with a device of which nothing is known.
    """
    names = [_index_name(device) for device in devices if not is_unread(device["name"])]
    if len(set(names)) > 1:
        notes.append("GPUs in index order: " + "; ".join(names))
    listed = devices if whole else [*devices, blank_of(ACCELERATOR, "not-recorded")]
    return {"devices": sorted(listed, key=order), "interconnect": NOT_RECORDED, "links": NOT_RECORDED}


def named(name: str, **facts: Any) -> dict[str, Any]:
    """Return a device by the name that a tool or torch prints; torch writes the MIG profile behind it."""
    sliced = _MIG_BEHIND.search(name)
    bare = name[:sliced.start()] if sliced else name
    vendor = vendor_of(bare)
    device = {**blank_of(ACCELERATOR, "not-recorded"), "vendor": vendor or NOT_RECORDED, "name": bare,
              "form_factor": form_factor(bare)}
    if vendor == "nvidia":
        device.update(gfx_target=None, mig_profile=sliced[1] if sliced else NOT_RECORDED)
    elif vendor:
        device.update(compute_capability=None, mig_profile=None, **({} if vendor == "amd" else {"gfx_target": None}))
    return {**device, **facts}


def vendor_of(name: str) -> str | None:
    """Return the maker that a device's name tells."""
    lower = name.lower()
    made = next((vendor for word, vendor in _VENDORS.items() if word in lower), None)
    return made or resolve(name).vendor


def driver(dump: Dump, found: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    """Return the section ``driver``; all absent where the text says that there is surely no device."""
    if found["devices"] is None:
        return dict.fromkeys(SECTIONS["driver"])
    facts = blank("driver", "not-recorded")
    facts["kernel_module"] = version_fact(dump.value(_DRIVER))
    field = dump.fields.get(_DRIVER)
    if field is not None and is_unread(facts["kernel_module"]) and not field.cut:
        versions = {line for line in field.lines if re.fullmatch(r"\d{3}\.[\d.]{1,12}", line)}
        if len(versions) == 1:
            facts["kernel_module"] = versions.pop()
        elif versions:
            notes.append(f"{len(versions)} driver versions are listed: none believed")
    if isinstance(facts["kernel_module"], str) and is_wsl(dump):
        notes.append("the driver is the one of Windows, seen through WSL2")
    return facts


def is_wsl(dump: Dump) -> bool:
    """Tell whether the text was written inside the Windows subsystem for Linux."""
    return "microsoft" in (dump.value("Python platform") or "").lower()


def intel_devices(dump: Dump) -> list[dict[str, Any]]:
    """Return the devices that a build for Intel GPUs detected."""
    field = dump.fields.get(_INTEL)
    names = [match[1] for line in (field.lines if field else []) for match in _XPU_NAME.finditer(line[:4096])]
    absent = {"gfx_target": None, "compute_capability": None, "mig_profile": None}
    return [{**blank_of(ACCELERATOR, "not-recorded"), **absent, "vendor": "intel", "name": name} for name in names]


def _none(dump: Dump, family: Any, notes: list[str]) -> dict[str, Any]:
    if dump.cut and "HIP runtime version" not in dump.fields:
        return blank("accelerators", "not-recorded")  # what is said of Intel's GPUs comes further on
    xpu = dump.value("Is XPU available")
    if family == "macos" or (xpu is not None and xpu.lower() == "true"):
        notes.append('"No CUDA" says nothing of the GPUs that this system computes on')
        return blank("accelerators", "not-reported")
    return {"devices": None, "interconnect": None, "links": None}


def _is_rocm(dump: Dump) -> bool:
    stated = [dump.value("ROCM used to build PyTorch"), dump.value("HIP runtime version")]
    return any(value is not None and not is_silent(value) for value in stated)


def _amd(field: Field) -> list[dict[str, Any]]:
    """Return the one device that a ROCm build prints: its current one, however many there are."""
    name = field.value or next((line for line in field.lines[1:] if line), "")
    name = name.replace(_NO_ARCHITECTURE, "").strip()
    if is_silent(name) or (field.cut and len(field.lines) == 1):
        return []
    target = _GFX.search(name)
    return [{**blank_of(ACCELERATOR, "not-recorded"), "vendor": "amd", "name": name,
             "gfx_target": target[0] if target else NOT_RECORDED, "compute_capability": None, "mig_profile": None,
             "form_factor": form_factor(name)}]


def nvidia(field: Field, notes: list[str]) -> list[dict[str, Any]]:
    """Return one entry for each whole GPU and each MIG slice."""
    gpus = list_rows(field)
    devices = []
    for number, (name, slices) in enumerate(gpus, 1):
        shared = {**blank_of(ACCELERATOR, "not-recorded"), "vendor": "nvidia", "name": name, "gfx_target": None,
                  "form_factor": form_factor(name) if isinstance(name, str) else NOT_RECORDED}
        profiles: list[Any] = list(slices) or [None if field.closed or number < len(gpus) else NOT_RECORDED]
        devices += [{**shared, "mig_profile": profile} for profile in profiles]
    if any(slices for _, slices in gpus):
        notes.append("MIG is on: " + "; ".join(
            f"GPU {index} ({name}) has {', '.join(slices)}" for index, (name, slices) in enumerate(gpus) if slices))
    return devices


def list_rows(field: Field) -> list[tuple[Any, list[str]]]:
    """Return name and MIG profiles of each GPU in index order; a name that the text's end may break is unread."""
    gpus: list[tuple[Any, list[str]]] = []
    for number, line in enumerate(field.lines[:MOST_LINES]):
        last = field.cut and number == len(field.lines) - 1
        gpu = _GPU.match(line[:256])
        if gpu:
            name = _UUID.sub("", gpu[2]).strip()
            whole = not last or any(name == other for other, _ in gpus)
            gpus.append((name if name and whole and name.lower() not in _NVIDIA_ALONE else NOT_RECORDED, []))
            continue
        mig = _MIG.match(line[:256])
        if mig and gpus:
            gpus[-1][1].append(mig[1])
    return gpus


def _index_name(device: dict[str, Any]) -> str:
    profile = device["mig_profile"]
    return f"{device['name']} [{profile}]" if isinstance(profile, str) else str(device["name"])


def order(device: dict[str, Any]) -> tuple[tuple[bool, str], ...]:
    """Return the key of the canonical order of devices."""
    return tuple((is_unread(device[key]), str(device[key])) for key in ACCELERATOR)
