"""Section ``cpu``: the processor as far as it steers which kernels numeric libraries choose, from /proc/cpuinfo."""

from __future__ import annotations

from ..errors import ProbeFailed
from ..fingerprint.facts import unread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..system import System
    from .look import Look

#: kernel flags by which numeric libraries (oneDNN, MKL, OpenBLAS, NumPy, torch, glibc) choose code.
DISPATCH_FLAGS = frozenset((
    "sse4_1", "sse4_2", "avx", "f16c", "fma", "avx2", "bmi1", "bmi2", "avx_vnni", "avx_vnni_int8", "avx_ne_convert",
    "avx_ifma", "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512ifma", "avx512vbmi", "avx512_vbmi2",
    "avx512_vnni", "avx512_bitalg", "avx512_vpopcntdq", "avx512_bf16", "avx512_fp16", "avx512_vp2intersect",
    "avx512_4fmaps", "avx512_4vnniw", "avx10", "amx_tile", "amx_int8", "amx_bf16", "amx_fp16", "erms", "fsrm",
    "asimd", "asimdhp", "asimddp", "asimdfhm", "fphp", "sve", "sve2", "sme", "bf16", "i8mm", "svebf16", "svei8mm",
))
#: enough for the first processors of a node; the first one is read in full whatever the size of the node.
_SIZE = 1 << 16


def probe(system: System, look: Look) -> dict[str, Any]:
    """Return vendor, model, microarchitecture, the instruction sets that steer dispatch, and logical processors."""
    machine = system.uname().machine
    try:
        fields = first_processor(system.read_text("/proc/cpuinfo", _SIZE))
    except FileNotFoundError as error:
        raise ProbeFailed("not-reported", "this system has no /proc/cpuinfo") from error
    look.sources["cpu"] = "proc"
    cores = system.processor_count()
    return {
        "architecture": machine, "vendor": vendor(fields), "model": fields.get("model name") or unread("not-reported"),
        "microarchitecture": microarchitecture(fields), "instruction_sets": instruction_sets(fields),
        "cores": cores if cores is not None else unread("not-reported"),
        "torch_capability": unread("not-loaded"), "numpy_simd": unread("not-loaded"),
    }


def first_processor(cpuinfo: str) -> dict[str, str]:
    """Return the fields of the first processor of /proc/cpuinfo."""
    fields: dict[str, str] = {}
    for line in cpuinfo.splitlines():
        key, colon, value = line.partition(":")
        if colon:
            fields.setdefault(key.strip(), value.strip())
        elif fields and not line.strip():
            break
    return fields


def vendor(fields: dict[str, str]) -> Any:
    """Return the vendor id of x86, or the implementer code of Arm."""
    if "vendor_id" in fields:
        return fields["vendor_id"]
    implementer = fields.get("CPU implementer")
    return f"arm-{implementer}" if implementer else unread("not-reported")


def microarchitecture(fields: dict[str, str]) -> Any:
    """Return ``family-model`` of x86 (steppings do not steer dispatch), ``implementer-part`` of Arm."""
    if "cpu family" in fields and "model" in fields:
        return f"{fields['cpu family']}-{fields['model']}"
    if "CPU implementer" in fields and "CPU part" in fields:
        return f"{fields['CPU implementer']}-{fields['CPU part']}"
    return unread("not-reported")


def instruction_sets(fields: dict[str, str]) -> Any:
    """Return the flags of ``DISPATCH_FLAGS`` that the processor has, sorted."""
    flags = fields.get("flags") or fields.get("Features")
    return sorted(DISPATCH_FLAGS.intersection(flags.split())) if flags is not None else unread("not-reported")
