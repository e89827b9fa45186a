"""Devices and processors of short facts, and what surely follows from their names."""

from __future__ import annotations

import difflib
import re
from typing import Any

from ..comparability import device_table
from ..comparability.devices import Device, architecture, instance_count, known_names, resolve, unexplained
from ..errors import InvalidDocument
from ..probes.keys import SECTIONS
from .paths import number
from .stated import Stated

#: a number of devices before or behind their name, as in 8xH100 and RTX 3090 x2.
_COUNTED = (re.compile(r"(?P<count>\d{1,3})\s*[x*]\s*(?P<name>\S.*)", re.IGNORECASE),
            re.compile(r"(?P<name>.*\d.*?)\s*[x*]\s*(?P<count>\d{1,3})", re.IGNORECASE))
_NONE = ("none", "no", "cpu", "null", "absent", "0")
#: number of a device -> who alone makes devices that have it.
_TELLS_MAKER = (("compute_capability", "nvidia"), ("gfx_target", "amd"))
_PROFILE = re.compile(r"MIG\s+(\S+)$", re.IGNORECASE)
#: word for an instruction set -> the sets it implies, and the kernels torch takes with it.
ISAS: dict[str, tuple[tuple[str, ...], str]] = {
    "sse": ((), "DEFAULT"), "avx": (("avx",), "DEFAULT"), "avx2": (("avx", "avx2", "fma"), "AVX2"),
    "avx512": (("avx", "avx2", "avx512bw", "avx512dq", "avx512f", "avx512vl", "fma"), "AVX512"),
    "neon": (("asimd",), "DEFAULT"), "sve": (("asimd", "sve"), "SVE256"),
}
#: word in the name of a processor -> its vendor, and the architecture of all that are called so.
_PROCESSORS = (("xeon", "GenuineIntel", "x86_64"), ("intel", "GenuineIntel", "x86_64"),
               ("epyc", "AuthenticAMD", "x86_64"), ("ryzen", "AuthenticAMD", "x86_64"),
               ("graviton", "ARM", "aarch64"), ("neoverse", "ARM", "aarch64"), ("grace", "ARM", "aarch64"),
               ("apple", "Apple", "arm64"))


def gpu(stated: Stated, key: str, text: str) -> None:
    """Read device names: ``A100``, ``8xA100``, ``A100+V100``, an instance of a cloud, or ``none``."""
    stated.claim(key, "accelerators.devices")
    if text.lower() in _NONE:
        stated.no_device = True
        return
    for part in text.split("+"):
        name, number_of = _counted(part.strip())
        stated.names += [name] * number_of
        _known(stated, key, name)


def _counted(text: str) -> tuple[str, int]:
    """Return a name and how many of it are meant; digits of a name are no number of devices."""
    for form in _COUNTED:
        match = form.fullmatch(text)
        if match and resolve(match["name"]).vendor and int(match["count"]):
            return match["name"], int(match["count"])
    return text, 1


def count(stated: Stated, key: str, text: str) -> None:
    """Read how many devices there are; a name stands for devices of that name."""
    if not text.isdigit():
        gpu(stated, key, text)
        return
    stated.count = number(key, text)
    if not 0 < stated.count <= 1024:
        raise InvalidDocument(key, f"expected a number of devices from 1 to 1024, got {text!r}")


def _known(stated: Stated, key: str, name: str) -> Device:
    device = resolve(name)
    other, unknown = unexplained(name)
    if (device.vendor is None and device.model is None) or other:
        raise InvalidDocument(key, f"no device is known by the name {name!r}{_hint(name)}; what the table of devices "
                              "lacks is stated by its numbers, as in capability=9.0,sm_count=132")
    if unknown:
        stated.doubt(f"{key}: {name} is taken for the {device.model}; nothing is known of {' '.join(unknown)!r} in it")
    if device.vendor in (None, "nvidia", "amd") and not (device.compute_capability or device.gfx_target):
        raise InvalidDocument(key, f"{name!r} is the name of devices of several architectures; say which, as in "
                              "Quadro RTX 6000, RTX 6000 Ada, Titan X Pascal")
    return device


def _hint(name: str) -> str:
    if re.fullmatch(r"(google |cloud )?tpu.*|v\d[ep]?-\d+", name.lower()):
        return " (a TPU is stated by backend=tpu)"
    near = difflib.get_close_matches(name.lower(), known_names(), 3, 0.5)
    return f" (did you mean {' or '.join(near)}?)" if near else ""


def place(stated: Stated) -> None:
    """Set the devices that were stated, with what their names surely tell."""
    if stated.no_device:
        for path in ("accelerators.devices", "accelerators.interconnect", "accelerators.links",
                     *(f"driver.{fact}" for fact in SECTIONS["driver"])):
            stated.follows(path, None)
        stated.follows("frameworks.backend", "cpu")
        return
    names = stated.names
    if stated.count is not None and len(names) > 1 and stated.count != len(names):
        raise InvalidDocument("gpus", f"{stated.count} devices are counted, and {len(names)} are named")
    if names:
        counts = [stated.count if stated.count and len(names) == 1 else instance_count(name) or 1 for name in names]
        stated.devices([_device(stated, name) for name, number_of in zip(names, counts) for _ in range(number_of)])
    elif stated.device or stated.count:
        maker = next((vendor for fact, vendor in _TELLS_MAKER if stated.device.get(fact)), None)
        stated.devices([{"vendor": maker} if maker else {}] * (stated.count or 1))


def _device(stated: Stated, name: str) -> dict[str, Any]:
    """Return the facts of one device: a whole one, unless its name or another fact says otherwise."""
    told = resolve(name)
    rented = next((device for start, device in device_table.INSTANCES.items() if name.lower().startswith(start)), name)
    profile = _PROFILE.search(name)
    facts: dict[str, Any] = {"vendor": told.vendor, "name": rented, "mig_profile": profile[1] if profile else None}
    numbers = {"compute_capability": told.compute_capability, "gfx_target": told.gfx_target,
               "sm_count": told.sm_count, "threads_per_sm": told.threads_per_sm, "form_factor": told.form_factor}
    facts.update({fact: value for fact, value in numbers.items() if value is not None})
    if told.vendor != "nvidia":
        facts["compute_capability"] = None
    if told.vendor != "amd":
        facts["gfx_target"] = None
    if stated.device.get("mig_profile"):
        facts.pop("sm_count", None)
    stated.note(f"{name} was taken for {_words(told)}")
    return facts


def _words(told: Device) -> str:
    target = told.compute_capability or told.gfx_target
    size = f"{told.sm_count} SMs" if told.sm_count else "of a size that the name does not tell"
    kind = architecture(target) if target else told.vendor
    return ", ".join(filter(None, (f"the {told.model}", kind, target, size)))


def cpu(stated: Stated, key: str, text: str) -> None:
    """Read the name of a processor; its maker and architecture follow where the name tells them."""
    if text.isdigit():
        raise InvalidDocument(key, f"expected the name of a processor, as in 'Xeon Platinum 8481C', got {text!r}; a "
                              "number of threads is threads=8")
    stated.put(key, "cpu.model", text)
    for word, vendor, machine in _PROCESSORS:
        if word in text.lower():
            stated.follows("cpu.vendor", vendor)
            stated.follows("cpu.architecture", machine)
            break


def isa(stated: Stated, key: str, text: str) -> None:
    """Read the widest instruction set."""
    word = text.lower().replace("-", "")
    found = ISAS.get(word)
    if found is None:
        raise InvalidDocument(key, f"expected one of {', '.join(ISAS)}, got {text!r}")
    stated.put(key, "cpu.instruction_sets", list(found[0]))
    stated.follows("cpu.torch_capability", found[1])
    if word in ("sse", "avx", "avx2", "avx512"):
        stated.follows("cpu.architecture", "x86_64")
