"""macOS: processor and system by ``sysctl``, devices by ``system_profiler``; both are asked once a capture.

Sources: Apple's documentation, "Determining instruction set characteristics" (names below hw.optional), the manual
page of system_profiler. Values come as text; a name that a machine does not have is simply not listed.
"""

from __future__ import annotations

import json

from ..errors import ProbeFailed
from ..fingerprint.facts import unread
from .keys import ACCELERATOR, blank_of
from .vendor import Part, program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .look import Look

#: trees and names that are asked for.
_NAMES = ("hw.model", "hw.optional", "hw.cpufamily", "machdep.cpu", "kern.hv_vmm_present")
_PROFILER = ("SPDisplaysDataType", "-json")
#: system_profiler looks at every display and takes its time.
_PROFILER_LIMIT_S = 1.0
#: name below hw.optional -> the kernel flag of Linux for the same instructions.
_ARM = {"AdvSIMD": "asimd", "arm.AdvSIMD": "asimd", "arm.FEAT_DotProd": "asimddp", "arm.FEAT_FP16": "asimdhp",
        "arm.FEAT_FHM": "asimdfhm", "arm.FEAT_BF16": "bf16", "arm.FEAT_I8MM": "i8mm", "arm.FEAT_SME": "sme",
        "arm.FEAT_SME2": "sme2"}
_X86 = {"sse4_1": "sse4_1", "sse4_2": "sse4_2", "avx1_0": "avx", "f16c": "f16c", "fma": "fma", "avx2_0": "avx2",
        "bmi1": "bmi1", "bmi2": "bmi2", "avx512f": "avx512f", "avx512bw": "avx512bw", "avx512cd": "avx512cd",
        "avx512dq": "avx512dq", "avx512vl": "avx512vl", "avx512ifma": "avx512ifma", "avx512vbmi": "avx512vbmi",
        "enfstrg": "erms"}


def answers(look: Look) -> dict[str, str]:
    """Return what sysctl says, by name; raise ``ProbeFailed``."""
    if "sysctl" not in look.findings:
        try:
            look.findings["sysctl"] = parse(look.run([program(look.system, "sysctl", "/usr/sbin"), *_NAMES], "sysctl"))
        except ProbeFailed as error:
            look.findings["sysctl"] = error
    found = look.findings["sysctl"]
    if isinstance(found, ProbeFailed):
        raise found
    return found  # type: ignore[no-any-return]  # findings hold values of any kind


def parse(text: str) -> dict[str, str]:
    """Return the lines ``name: value``."""
    pairs = (line.partition(": ") for line in text.splitlines())
    return {name.strip(): value.strip() for name, colon, value in pairs if colon}


def cpu(look: Look) -> dict[str, Any]:
    """Return vendor, model, microarchitecture and instruction sets as sysctl tells them."""
    found = answers(look)
    apple_silicon = found.get("hw.optional.arm64") == "1"
    if apple_silicon:
        vendor: Any = "apple"
        microarchitecture: Any = _family(found)
    else:
        vendor = found.get("machdep.cpu.vendor") or unread("not-reported")
        numbers = [found.get(f"machdep.cpu.{name}") for name in ("family", "model")]
        microarchitecture = "-".join(filter(None, numbers)) if all(numbers) else unread("not-reported")
    names = _ARM if apple_silicon else _X86
    sets = sorted({flag for name, flag in names.items() if found.get(f"hw.optional.{name}") == "1"})
    return {"vendor": vendor, "model": found.get("machdep.cpu.brand_string") or unread("not-reported"),
            "microarchitecture": microarchitecture, "instruction_sets": sets or unread("not-reported")}


def _family(found: dict[str, str]) -> Any:
    """Return Apple's number of the microarchitecture, as its headers write it."""
    number = found.get("hw.cpufamily", "")
    if not number.removeprefix("-").isdigit():
        return unread("not-reported")
    return f"cpufamily-{int(number) & 0xFFFFFFFF:#010x}"


def virtualisation(look: Look) -> Any:
    """Return ``apple`` under a hypervisor, ``None`` on bare metal."""
    answer = answers(look).get("kern.hv_vmm_present")
    return {"1": "apple", "0": None}.get(answer or "", unread("not-reported"))


def devices(look: Look) -> Part:
    """Return the GPUs as system_profiler lists them; on Apple silicon without it, the one that is part of the chip."""
    try:
        path = program(look.system, "system_profiler", "/usr/sbin")
        found = listed(json.loads(look.run([path, *_PROFILER], "system_profiler", _PROFILER_LIMIT_S)))
        look.sources["accelerators"] = "system_profiler"
    except ProbeFailed as error:
        look.failed("accelerators", error.code, error.message)
        found = _of_the_chip(look)
    except (ValueError, TypeError, KeyError, AttributeError):
        look.failed("accelerators", "failed", "system_profiler answered something other than the JSON it was asked for")
        found = _of_the_chip(look)
    silent = unread("not-reported")
    return Part(found or silent, silent, [] if len(found) == 1 else silent, [])


def listed(answer: Any) -> list[dict[str, Any]]:
    """Return the devices in the answer of system_profiler."""
    return [_device(str(item.get("spdisplays_vendor", "")).lower().removeprefix("sppci_vendor_"),
                    item.get("sppci_model") or item["_name"], item.get("sppci_cores"))
            for item in answer["SPDisplaysDataType"]]


def _device(vendor: str, name: str, cores: Any) -> dict[str, Any]:
    """Return one device; of Apple's the number of GPU cores stands for the SM count, the memory is the machine's."""
    facts = {**blank_of(ACCELERATOR, "not-reported"), "name": name, "compute_capability": None, "gfx_target": None,
             "mig_profile": None}
    if vendor:
        facts["vendor"] = vendor
    if str(cores).isdigit():
        facts["sm_count"] = int(cores)
    if vendor == "apple":
        facts["ecc"] = None
    return facts


def _of_the_chip(look: Look) -> list[dict[str, Any]]:
    """Return the GPU of Apple silicon by the chip's name; a virtual machine or a machine with Intel's has none such."""
    try:
        found = answers(look)
    except ProbeFailed as error:
        look.failed("accelerators", error.code, error.message)
        return []
    name = found.get("machdep.cpu.brand_string", "")
    virtual = found.get("kern.hv_vmm_present") != "0"
    if virtual or found.get("hw.optional.arm64") != "1" or not name.startswith("Apple"):
        return []
    look.sources["accelerators"] = "sysctl"
    return [_device("apple", name, None)]
