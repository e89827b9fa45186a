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
    "asimd", "asimdhp", "asimddp", "asimdfhm", "fphp", "sve", "sve2", "sve2p1", "sme", "sme2", "bf16", "i8mm",
    "svebf16", "svei8mm",
))
#: implementer and part of Arm's identification register -> name, as lscpu prints it (Arm's and the makers' manuals);
#: only processors of servers and workstations.
ARM_PARTS = {
    "0x41-0xd08": "Cortex-A72", "0x41-0xd0c": "Neoverse-N1", "0x41-0xd40": "Neoverse-V1", "0x41-0xd49": "Neoverse-N2",
    "0x41-0xd4a": "Neoverse-E1", "0x41-0xd4f": "Neoverse-V2", "0x41-0xd83": "Neoverse-V3AE",
    "0x41-0xd84": "Neoverse-V3", "0x41-0xd8e": "Neoverse-N3", "0x41-0xd42": "Cortex-A78AE", "0x41-0xd85": "Cortex-X925",
    "0x41-0xd87": "Cortex-A725", "0x43-0x0af": "ThunderX2-99xx", "0x46-0x001": "A64FX", "0x48-0xd01": "TaiShan-v110",
    "0x4e-0x004": "Carmel", "0xc0-0xac3": "Ampere-1", "0xc0-0xac4": "Ampere-1a",
}
#: enough for the first processors of a node; the first one is read in full whatever the size of the node.
_SIZE = 1 << 16


def probe(system: System, look: Look) -> dict[str, Any]:
    """Return vendor, model, microarchitecture, the instruction sets that steer dispatch, and logical processors."""
    name = system.uname()
    cores = system.processor_count()
    return {
        "architecture": name.machine, "cores": cores if cores is not None else unread("not-reported"),
        "torch_capability": unread("not-loaded"), "numpy_simd": unread("not-loaded"),
        **(of_macos(look) if name.sysname == "Darwin" else of_linux(system, look)),
    }


def of_macos(look: Look) -> dict[str, Any]:
    """Return what sysctl tells."""
    from .apple import cpu

    look.sources["cpu"] = "sysctl"
    return cpu(look)


def of_linux(system: System, look: Look) -> dict[str, Any]:
    """Return what /proc/cpuinfo tells; raise ``ProbeFailed`` without one."""
    try:
        text = system.read_text("/proc/cpuinfo", _SIZE)
    except FileNotFoundError as error:
        raise ProbeFailed("not-reported", "this system has no /proc/cpuinfo") from error
    look.sources["cpu"] = "proc"
    fields = first_processor(text)
    kind = arm_parts(text) if "CPU part" in fields else microarchitecture(fields)
    return {"vendor": vendor(fields), "model": model(fields, kind), "microarchitecture": kind,
            "instruction_sets": instruction_sets(fields)}


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


def model(fields: dict[str, str], kind: Any) -> Any:
    """Return the model name where the kernel prints one, else Arm's names of the parts, sorted as the parts are."""
    stated = fields.get("model name")
    if stated or not isinstance(kind, str):
        return stated or unread("not-reported")
    names = [ARM_PARTS.get(part) for part in kind.split("+")]
    return "+".join(str(name) for name in names) if all(names) else unread("not-reported")


def microarchitecture(fields: dict[str, str]) -> Any:
    """Return ``family-model`` of x86: steppings do not steer dispatch, and hybrid cores share one model."""
    if "cpu family" in fields and "model" in fields:
        return f"{fields['cpu family']}-{fields['model']}"
    return unread("not-reported")


def arm_parts(cpuinfo: str) -> Any:
    """Return ``implementer-part`` of Arm; of unlike cores each kind once, sorted, joined by ``+``."""
    parts = set()
    implementer = ""
    for line in cpuinfo.splitlines():
        key, _, value = line.partition(":")
        if key.strip() == "CPU implementer":
            implementer = value.strip()
        elif key.strip() == "CPU part" and implementer:
            parts.add(f"{implementer}-{value.strip()}")
    return "+".join(sorted(parts)) or unread("not-reported")


def instruction_sets(fields: dict[str, str]) -> Any:
    """Return the flags of ``DISPATCH_FLAGS`` that the processor has, sorted."""
    flags = fields.get("flags") or fields.get("Features")
    return sorted(DISPATCH_FLAGS.intersection(flags.split())) if flags is not None else unread("not-reported")
