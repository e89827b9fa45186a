"""What a device's name tells: vendor, architecture, size. Stated facts always win over ``device_table``.

Names come as people and tools write them ("GTX 1080 Ti", "NVIDIA A100-SXM4-80GB", "4070Ti Super", "p4d.24xlarge"). A
name that fits several devices ("H100": SXM or PCIe) gives only what they share. Where a name and stated numbers cannot
belong to one device, ``disagreements`` says so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, Optional

from . import device_table as table

GIB = 1024 ** 3


@dataclass(frozen=True)
class Device:
    """What a name tells; ``None`` where it does not decide. ``most_sms`` is what the full chip has."""

    vendor: Optional[str] = None
    model: Optional[str] = None
    architecture: Optional[str] = None
    compute_capability: Optional[str] = None
    gfx_target: Optional[str] = None
    sm_count: Optional[int] = None
    threads_per_sm: Optional[int] = None
    memory_gib: Optional[int] = None
    form_factor: Optional[str] = None
    most_sms: Optional[int] = None


_WARP_GENERATIONS = 2048
_NOISE = frozenset(("nvidia", "geforce", "tesla", "amd", "radeon", "instinct", "graphics", "gpu", "tm", "r",
                    "corporation", "intel", "generation", "blackwell", "sff", "with", "design"))
#: words of which the noise is part of the name: written together they stay.
_KEPT = (("radeon", "vii"), ("gpu", "max"), ("gpu", "flex"))
#: words that mark a relative of the device they follow, mostly smaller.
_CUT_DOWN = frozenset(("laptop", "max-q", "mig", "vgpu"))
_SPELLINGS = (
    (r"[^a-z0-9.]+", " "),
    (r"\b(rtx|gtx|tesla|quadro|titan)(\d|[a-z]\d{1,4}\b)", r"\1 \2"),
    (r"\b(\d{3,4})(ti|super|d|xtx|xt)(super)?\b", r"\1 \2 \3"),
    (r"\b([24]0[678]0)s\b", r"\1 super"),
    (r"\b([ahv]\d{2}0)(sxm\d?|pcie|nvl)\b", r"\1 \2"),
    (r"\bsxm\d\b", "sxm"),
    (r"(?<![\w.])(\d+) ?gi?b?(?![\w.])", r"\1gb"),
    (r"\bmax q\b", "max-q"),
    (r"\bmobile\b", "laptop"),
    (r"\b\d{1,2}[acq]\b", "vgpu"),
)


#: words that make another product of the one they follow.
_OTHER_MODEL = frozenset(("ti", "super", "d", "xt", "xtx", "gre", "ultra", "nano", "nx", "x", "s"))
#: words that stand in names and decide nothing, beside those of the table.
_DECOR = frozenset((
    "rtx", "gtx", "gt", "quadro", "titan", "jetson", "rx", "grid", "arc", "sxm", "pcie", "nvl", "nvl72", "oam", "hbm2",
    "hbm2e", "hbm3", "hbm3e", "dgx", "dgxs", "hgx", "fhhl", "lhr", "workstation", "server", "edition", "desktop",
    "founders", "cuda", "core", "cores", "ada", "lovelace", "hopper", "ampere", "turing", "pascal", "volta", "maxwell",
    "kepler", "pro", "max", "series"))
_SIZE = re.compile(r"\d+g[bi]?(\.\d+gb)?|\d+(\.\d+)?")


@dataclass(frozen=True)
class _Row:
    device: Device
    words: tuple[str, ...]
    needs: frozenset[str]
    only_when: bool


def resolve(name: Any) -> Device:
    """Return what ``name`` tells about a device; an unknown name tells nothing."""
    return _resolve(name) if isinstance(name, str) else Device()


def candidates(name: Any) -> tuple[Device, ...]:
    """Return every device that ``name`` may mean, in whatever size and variant."""
    return _candidates(name) if isinstance(name, str) else ()


def unexplained(name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words of a known device's name that say another product, and those that nobody knows.

    The first make the name one of no device of the table (``4090 Ti``), the others may be anything.
    """
    words = _words(name)
    rows = _longest([row for row in _rows() if _contains(words, row.words)])
    if not rows:
        return (), ()
    known = {word for row in rows for word in (*row.words, *row.needs)} | _DECOR | _CUT_DOWN
    left = [word for word in words if word not in known and not _SIZE.fullmatch(word)]
    return tuple(filter(_OTHER_MODEL.__contains__, left)), tuple(word for word in left if word not in _OTHER_MODEL)


def instance_count(name: str) -> int | None:
    """Return how many devices an instance of a cloud has, ``None`` for a size that is not known or another name."""
    lowered = name.lower().strip()
    start = max((start for start in table.INSTANCES if lowered.startswith(start)), key=len, default=None)
    if start is None:
        return None
    told = re.fullmatch(r"-(\d{1,2})g", lowered[len(start):])
    return int(told[1]) if told else table.INSTANCE_SIZES.get(start, {}).get(lowered[len(start):])


def disagreements(stated: Mapping[str, Any]) -> tuple[str, ...]:
    """Say in words which numbers of a device its name cannot have.

    ``stated`` holds the captured facts of one device (``name``, ``vendor``, ``compute_capability``, ``gfx_target``,
    ``sm_count``), ``None`` or left out where one was not read. Fewer SMs than the whole device has are no
    disagreement: a slice, a virtual device and a relative for laptops have fewer.
    """
    found = candidates(stated.get("name"))
    name = stated.get("name")
    told = []
    for fact, words in (("vendor", "made by {}"), ("compute_capability", "of compute capability {}"),
                        ("gfx_target", "of target {}")):
        value, known = stated.get(fact), {getattr(device, fact) for device in found}
        if value and known and None not in known and _same_chip(value) not in known:
            told.append(f"{name} is {words.format(' or '.join(sorted(known)))}, not {value}")
    sms, most = stated.get("sm_count"), [device.most_sms for device in found]
    if sms and most and all(most) and sms > max(count for count in most if count):
        unit = {"nvidia": "SMs", "apple": "GPU cores"}.get(found[0].vendor or "", "compute units")
        told.append(f"{name} has at most {max(count for count in most if count)} {unit}, not {sms}")
    return tuple(told)


def _same_chip(value: str) -> str:
    return next((new for new, old in table.RENUMBERED.items() if value == old), value)


@lru_cache(maxsize=1024)
def _resolve(name: str) -> Device:
    words = _words(name)
    apple = _apple(words, name)
    if apple is not None:
        return apple
    rows = _longest([row for row in _rows() if _contains(words, row.words)])
    special = [row for row in rows if row.only_when and row.needs <= set(words)]
    if special:
        most = max(len(row.needs) for row in special)
        fitting = [row for row in special if len(row.needs) == most]
    else:
        plain = [row for row in rows if not row.only_when] or rows
        fitting = [row for row in plain if row.needs and row.needs <= set(words)] or [
            row for row in plain if not row.needs] or plain
    device = _shared([row.device for row in fitting])
    cut = [word for word in dict.fromkeys(words) if word in _CUT_DOWN]
    if not cut or device.model is None:
        return device
    known = all(word in row.needs for row in fitting for word in cut)
    named = replace(device, model=f"{device.model} {' '.join(cut)}")
    return named if known else replace(named, sm_count=None, memory_gib=None)


@lru_cache(maxsize=1024)
def _candidates(name: str) -> tuple[Device, ...]:
    words = _words(name)
    apple = _apple(words, name)
    if apple is not None:
        return (apple,)
    return tuple(row.device for row in _longest([row for row in _rows() if _contains(words, row.words)]))


def _words(name: str) -> tuple[str, ...]:
    lowered = name.lower().strip()
    rented = next((device for start, device in table.INSTANCES.items() if lowered.startswith(start)), None)
    text = (rented or lowered).lower()
    for pattern, spelling in _SPELLINGS:
        text = re.sub(pattern, spelling, text)
    split = text.split()
    kept = {word for pair in _KEPT if _contains(tuple(split), pair) for word in pair}
    text = f" {' '.join(word for word in split if word not in _NOISE or word in kept)} "
    for said, called in table.ALIASES.items():
        text = text.replace(f" {said} ", f" {called} ")
    return tuple(text.split())


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


def _apple(words: tuple[str, ...], name: str) -> Device | None:
    """Return a device of Apple, ``None`` where the words are none of its chips; a Tesla M4 is none either."""
    text = " ".join(words).removeprefix("apple ")
    chip = re.match(r"m[1-9]( pro| max| ultra)?\b", text)
    if words[:1] == ("apple",) and chip is None:
        return Device(vendor="apple", model=text or None)
    if chip is None or (words[:1] != ("apple",) and (chip[0] != text or "tesla" in name.lower())):
        return None
    cores = table.APPLE.get(chip[0])
    stated = re.search(r"\b(\d{1,2}) core", text)
    count = int(stated[1]) if stated and cores and int(stated[1]) in cores else None
    return Device(vendor="apple", model=chip[0], architecture=chip[0][:2].upper(), sm_count=count,
                  most_sms=max(cores) if cores else None)


@lru_cache(maxsize=1)
def _rows() -> tuple[_Row, ...]:
    rows = []
    for vendor, text in (("nvidia", table.NVIDIA), ("amd", table.AMD), ("intel", table.INTEL)):
        for line in text.strip().splitlines():
            chip, entries = line.split("|")
            rows += [_row(vendor, chip.split(), entry) for entry in entries.split(";")]
    return tuple(rows)


def _row(vendor: str, chip: list[str], entry: str) -> _Row:
    target = chip[0]
    name, facts = entry.split(":")
    values, choosing, needs = facts.partition(" if ")
    only_when = not choosing and " when " in facts
    if only_when:
        values, _, needs = facts.partition(" when ")
    sm_count, memory, form = _numbers(values.split())
    device = Device(
        vendor=vendor, model=name.strip(), architecture=architecture(target),
        compute_capability=target if vendor == "nvidia" else None, gfx_target=target if vendor == "amd" else None,
        sm_count=sm_count, threads_per_sm=threads_per_sm(vendor, target), memory_gib=memory, form_factor=form,
        most_sms=int(chip[2]) if vendor == "nvidia" else sm_count)
    return _Row(device, tuple(name.split()), frozenset(needs.split()), only_when)


def _numbers(values: list[str]) -> tuple[int | None, int | None, str | None]:
    """Return SM count, memory and form factor of one entry of the table."""
    numbers = [int(value) if value.isdigit() else None for value in values[:2]]
    form = next((value for value in values if value.isalpha()), None)
    return numbers[0], numbers[1] if len(numbers) > 1 else None, form


def architecture(target: str | None) -> str | None:
    """Return the architecture of a compute capability or gfx target, ``None`` for one that is not known."""
    return next((name for start, name in table.ARCHITECTURES.items() if target and target.startswith(start)), None)


def threads_per_sm(vendor: str, target: str) -> int | None:
    """Return the resident threads of one SM or compute unit; ``None`` for RDNA, where tools count differently."""
    if vendor == "nvidia":
        return table.THREADS_PER_SM.get(target, _WARP_GENERATIONS)
    return _WARP_GENERATIONS if target.startswith("gfx9") else None


@lru_cache(maxsize=1)
def known_names() -> tuple[str, ...]:
    """Return the names of the table, for suggestions."""
    return tuple(sorted({" ".join(row.words) for row in _rows()} | set(table.APPLE) | set(table.ALIASES)))
