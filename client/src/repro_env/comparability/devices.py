"""What a device's name tells: vendor, architecture, size. Stated facts always win over this table.

Names come as people and tools write them ("GTX 1080 Ti", "NVIDIA A100-SXM4-80GB", "RTX A6000"). A name that fits
several devices ("H100": SXM or PCIe) gives only what they share. Sources: NVIDIA's compute capability list and data
sheets, AMD's ROCm hardware table, values of ``torch.cuda.get_device_properties`` in public reports.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, Optional

GIB = 1024 ** 3


@dataclass(frozen=True)
class Device:
    """What a name tells; ``None`` where it does not decide."""

    vendor: Optional[str] = None
    model: Optional[str] = None
    compute_capability: Optional[str] = None
    gfx_target: Optional[str] = None
    sm_count: Optional[int] = None
    threads_per_sm: Optional[int] = None
    memory_gib: Optional[int] = None
    form_factor: Optional[str] = None


#: target | name: SMs [memory] [form factor] [if words that select the variant]; ...
_NVIDIA = """
3.5 | k20x: 14 6; k40: 15 12; titan black: 15 6; gtx titan: 14 6; 780: 12 3; 780 ti: 15 3
3.7 | k80: 13 12
5.0 | 750 ti: 5 2; 750: 4
5.2 | 950: 6; 960: 8; 970: 13 4; 980: 16 4; 980 ti: 22 6; m40: 24; m60: 16 8; m4000: 13 8; m5000: 16 8; m6000: 24
5.2 | titan x: 24 12 if maxwell; gtx titan x: 24 12
5.3 | jetson nano: 1; tegra x1: 2
6.0 | p100: 56; gp100: 56 16
6.1 | titan x: 28 12 if pascal; titan xp: 30 12; 1050: 5; 1050 ti: 6 4; 1060: 9 3 if 3gb; 1060: 10 6 if 6gb; 1070: 15 8
6.1 | 1070 ti: 19 8; 1080: 20 8; 1080 ti: 28 11; p4: 20 8; p40: 30 24; p2000: 8 5; p4000: 14 8; p5000: 20 16
6.1 | p6000: 30 24; p620: 4; p1000: 5 4
6.2 | jetson tx2: 2
7.0 | v100: 80; titan v: 80 12; gv100: 80 32
7.2 | xavier: 8
7.5 | t4: 40 16; t4g: 40 16; 1630: 8 4; 1650: 14 4; 1650 ti: 16 4; 1650 super: 20 4; 1660: 22 6; 1660 super: 22 6
7.5 | 1660 ti: 24 6; 2060: 30; 2060 super: 34 8; 2070: 36 8; 2070 super: 40 8; 2080: 46 8; 2080 super: 48 8
7.5 | 2080 ti: 68 11; titan rtx: 72 24; quadro rtx 4000: 36 8; quadro rtx 5000: 48 16; quadro rtx 6000: 72 24
7.5 | quadro rtx 8000: 72 48; rtx 8000: 72 48; rtx 6000: 72 24 if turing; t400: 6; t600: 10; t1000: 14; t2000: 16
8.0 | a100: 108 40 SXM if sxm4 40gb; a100: 108 80 SXM if sxm4 80gb; a100: 108 40 PCIe if pcie 40gb
8.0 | a100: 108 80 PCIe if pcie 80gb; a100x: 108 80; a30: 56 24 PCIe; a800: 108
8.6 | a2: 10 16; a10: 72 24; a10g: 80 24; a10m: 64; a16: 10 16; a40: 84 48; a2000: 26; a4000: 48 16; a4500: 56 20
8.6 | a5000: 64 24; a5500: 80 24; a6000: 84 48; 3050: 20; 3050 ti: 20 4; 3060: 28; 3060 ti: 38 8; 3070: 46 8
8.6 | 3070 ti: 48 8; 3080: 68 10 if 10gb; 3080: 70 12 if 12gb; 3080 ti: 80 12; 3090: 82 24; 3090 ti: 84 24
8.7 | orin: -
8.9 | l4: 58 24; l40: 142 48; l40s: 142 48; l20: 92 48; l2: -; 4050: -; 4060: 24 8; 4060 ti: 34; 4070: 46 12
8.9 | 4070 super: 56 12; 4070 ti: 60 12; 4070 ti super: 66 16; 4080: 76 16; 4080 super: 80 16; 4090: 128 24
8.9 | 4090 d: 114 24; rtx 6000 ada: 142 48; rtx 6000: 142 48 if ada; rtx 5880 ada: 110 48; rtx 5000 ada: 100 32
8.9 | rtx 4500 ada: 60 24; rtx 4000 ada: 48 20; rtx 2000 ada: 22 16
9.0 | h100: 132 80 SXM if sxm5; h100: 132 80 SXM if sxm; h100: 132 80 SXM if hbm3; h100: 114 80 PCIe if pcie
9.0 | h100: 132 94 PCIe if nvl; h200: 132 141; h800: 132 80 SXM if sxm5; h800: 114 80 PCIe if pcie; h800: 132 80 if hbm3
9.0 | h20: 78; gh200: 132
10.0 | b100: -; b200: 148; gb200: 148
10.3 | b300: -; gb300: -
11.0 | thor: 20
12.0 | 5050: 20 8; 5060: 30 8; 5060 ti: 36; 5070: 48 12; 5070 ti: 70 16; 5080: 84 16; 5090: 170 32; 5090 d: 170
12.0 | rtx pro 6000: 188 96; rtx pro 5000: 110 48; rtx pro 4500: 82 32; rtx pro 4000: 70 24
12.1 | gb10: 48
"""
_AMD = """
gfx900 | mi25: 64 16; vega 64: 64 8; vega 56: 56 8
gfx906 | mi50: 60; mi60: 64 32; radeon vii: 60 16
gfx908 | mi100: 120 32
gfx90a | mi210: 104 64; mi250: 104 64; mi250x: 110 64
gfx942 | mi300a: 228 128; mi300x: 304 192; mi308x: 80 192; mi325x: 304 256
gfx950 | mi350x: 256 288; mi355x: 256 288
gfx1030 | 6800: 60 16; 6800 xt: 72 16; 6900 xt: 80 16; 6950 xt: 80 16; w6800: 60 32
gfx1031 | 6700 xt: 40 12; 6750 xt: 40 12
gfx1032 | 6600: 28 8; 6600 xt: 32 8
gfx1100 | 7900 xtx: 96 24; 7900 xt: 84 20; 7900 gre: 80 16; w7900: 96 48; w7800: 70
gfx1101 | 7800 xt: 60 16; 7700 xt: 54 12; w7700: 48 16
gfx1102 | 7600: 32 8
gfx1151 | 8060s: 40; strix halo: 40
gfx1200 | 9060 xt: 32
gfx1201 | 9070 xt: 64 16; 9070: 56 16; r9700: 64 32
"""
#: compute capability -> maximum resident threads of one SM (CUDA C++ Programming Guide, technical specifications).
THREADS_PER_SM = {"7.5": 1024, "8.6": 1536, "8.7": 1536, "8.9": 1536, "11.0": 1536, "12.0": 1536, "12.1": 1536}
_WARP_GENERATIONS = 2048
_NOISE = frozenset(("nvidia", "geforce", "tesla", "amd", "radeon", "instinct", "graphics", "gpu", "tm", "corporation",
                    "generation", "blackwell"))
#: words that mark a smaller relative of the device they follow.
_CUT_DOWN = frozenset(("laptop", "mobile", "mig", "max-q", "vgpu"))


@dataclass(frozen=True)
class _Row:
    device: Device
    words: tuple[str, ...]
    needs: frozenset[str]


def resolve(name: Any) -> Device:
    """Return what ``name`` tells about a device; an unknown name tells nothing."""
    return _resolve(name) if isinstance(name, str) else Device()


@lru_cache(maxsize=1024)
def _resolve(name: str) -> Device:
    words = _words(name)
    if words[:1] == ("apple",) or re.fullmatch(r"(apple )?m[1-9]( pro| max| ultra)?", " ".join(words)):
        return Device(vendor="apple", model=" ".join(words))
    rows = _longest([row for row in _rows() if _contains(words, row.words)])
    fitting = [row for row in rows if row.needs and row.needs <= set(words)] or rows
    device = _shared([row.device for row in fitting])
    cut = " ".join(word for word in words if word in _CUT_DOWN)
    return replace(device, model=f"{device.model} {cut}", sm_count=None, memory_gib=None) if cut else device


def _words(name: str) -> tuple[str, ...]:
    text = re.sub(r"\b(\d{3,4})(ti|super|d|xtx|xt)\b", r"\1 \2", re.sub(r"[^a-z0-9.]+", " ", name.lower()))
    text = re.sub(r"\b(\d+) gb\b", r"\1gb", text.replace("max q", "max-q"))
    return tuple(word for word in text.split() if word not in _NOISE)


def _contains(words: tuple[str, ...], part: tuple[str, ...]) -> bool:
    size = len(part)
    return any(words[start:start + size] == part for start in range(len(words) - size + 1))


def _longest(rows: list[_Row]) -> list[_Row]:
    size = max((len(row.words) for row in rows), default=0)
    return [row for row in rows if len(row.words) == size]


def _shared(devices: list[Device]) -> Device:
    """Return the facts on which all candidates agree."""
    if not devices:
        return Device()
    values = {item.name: {getattr(device, item.name) for device in devices} for item in fields(Device)}
    return Device(**{name: found.pop() if len(found) == 1 else None for name, found in values.items()})


@lru_cache(maxsize=1)
def _rows() -> tuple[_Row, ...]:
    rows = []
    for vendor, table in (("nvidia", _NVIDIA), ("amd", _AMD)):
        for line in table.strip().splitlines():
            target, entries = line.split("|")
            rows += [_row(vendor, target.strip(), entry) for entry in entries.split(";")]
    return tuple(rows)


def _row(vendor: str, target: str, entry: str) -> _Row:
    name, facts = entry.split(":")
    values, _, needs = facts.partition(" if ")
    words: list[str | None] = [*values.split(), None, None, None]
    sm_count, memory, form = words[:3]
    if memory is not None and not memory.isdigit():
        memory, form = None, memory
    device = Device(
        vendor=vendor, model=name.strip(), compute_capability=target if vendor == "nvidia" else None,
        gfx_target=target if vendor == "amd" else None,
        sm_count=int(sm_count) if sm_count and sm_count.isdigit() else None,
        threads_per_sm=threads_per_sm(vendor, target), memory_gib=int(memory) if memory else None, form_factor=form)
    return _Row(device, tuple(name.split()), frozenset(needs.split()))


def threads_per_sm(vendor: str, target: str) -> int | None:
    """Return the resident threads of one SM or compute unit; ``None`` for RDNA, where tools count differently."""
    if vendor == "nvidia":
        return THREADS_PER_SM.get(target, _WARP_GENERATIONS)
    return _WARP_GENERATIONS if target.startswith("gfx9") else None
