"""The CPU block of a collect_env text: lscpu in any language, Windows' list, or the one line of macOS.

lscpu is translated, so facts are recognised by the form of their values where that decides, else by their label in
the languages it is seen in.
"""

from __future__ import annotations

import re
from typing import Any

from ..probes.cpu import DISPATCH_FLAGS
from ..probes.keys import blank
from .dump import MOST_LINES, Dump
from .words import NOT_REPORTED

ARCHITECTURES = ("x86_64", "amd64", "aarch64", "arm64", "ppc64le", "ppc64", "s390x", "i686", "i386", "armv7l",
                 "riscv64", "loongarch64")
_VENDORS = ("GenuineIntel", "AuthenticAMD", "HygonGenuine", "CentaurHauls", "IBM/S390")
#: vendor names that lscpu prints for Arm implementer codes.
_IMPLEMENTERS = {"ARM": "0x41", "Broadcom": "0x42", "Cavium": "0x43", "Fujitsu": "0x46", "HiSilicon": "0x48",
                 "NVIDIA": "0x4e", "APM": "0x50", "Qualcomm": "0x51", "Apple": "0x61", "Ampere": "0xc0"}
_HYPERVISORS = {"kvm": "kvm", "microsoft": "hyperv", "vmware": "vmware", "xen": "xen", "oracle": "virtualbox",
                "parallels": "parallels"}
_FAMILY = ("cpu family", "prozessorfamilie", "famille de processeur", "familia de cpu", "fam\u00edlia da cpu",
           "\u0441\u0435\u043c\u0435\u0439\u0441\u0442\u0432\u043e \u0446\u043f\u0443", "cpu \u7cfb\u5217",
           "cpu \u30d5\u30a1\u30df\u30ea\u30fc", "famiglia cpu")
_MODEL = ("model", "modell", "mod\u00e8le", "modelo", "\u043c\u043e\u0434\u0435\u043b\u044c", "\u578b\u53f7",
          "\u30e2\u30c7\u30eb", "modello", "\ubaa8\ub378")
_MODEL_NAME = ("model name", "modellname", "nom de mod\u00e8le", "nombre del modelo", "nome do modelo",
               "\u0438\u043c\u044f \u043c\u043e\u0434\u0435\u043b\u0438", "\u578b\u53f7\u540d\u79f0",
               "\u30e2\u30c7\u30eb\u540d", "nome del modello", "nome modello", "\ubaa8\ub378\uba85", "name",
               "bios model name")
_HYPERVISOR = ("hypervisor vendor", "hypervisor-anbieter", "constructeur d'hyperviseur", "fabricante del hipervisor",
               "\u8d85\u7ba1\u7406\u5668\u5382\u5546", "\u865a\u62df\u5316\u5382\u5546")
_RANGE = re.compile(r"\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*")
_ROW = re.compile(r"([^:\uff1a=]{1,60}?)\s*[:\uff1a=]\s*(.*)")
_SEPARATORS = frozenset(":\uff1a=")
_APPLE = re.compile(r"(?:Apple M\d|Intel\(R\)|VirtualApple)[\w ()@.+-]{0,80}")
#: Windows' numbers of processor architectures.
_WINDOWS = {"9": "x86_64", "12": "aarch64", "0": "i686"}
_SPELLING = {"amd64": "x86_64"}


class Block:
    """Rows of the CPU block in order, labels in lower case; the row that the text's end breaks is left out."""

    def __init__(self, dump: Dump) -> None:
        field = dump.fields.get("CPU")
        self.closed = field is not None and field.closed
        lines = _unwrapped(field.lines[:MOST_LINES] if field else [])
        if field is not None and field.cut and len(field.lines) > 1:
            lines = lines[:-1]
        self.lines = lines
        matches = [_ROW.match(line) for line in lines]
        self.rows = [(match[1].strip().lower(), match[2].strip()) for match in matches if match]

    def by_label(self, labels: tuple[str, ...]) -> str | None:
        """Return the value of the first row whose label is one of ``labels``."""
        return next((value for label, value in self.rows if label in labels and value), None)

    def flags(self) -> frozenset[str] | None:
        """Return the processor's flags: the row whose words include those every processor has."""
        for _, value in self.rows:
            words = frozenset(value.split())
            if len(words) > 4 and words & {"fpu", "sse2", "asimd", "fp"}:
                return words
        return None


def cpu(dump: Dump) -> dict[str, Any]:
    """Return the section ``cpu``; what the block does not say stays unread."""
    block = Block(dump)
    facts = blank("cpu", "not-recorded")
    facts["architecture"] = _architecture(dump, block) or facts["architecture"]
    if not block.lines:
        return facts
    family, model = block.by_label(_FAMILY), block.by_label(_MODEL)
    flags = block.flags()
    windows = block.by_label(("deviceid",)) is not None
    found = {
        "vendor": _vendor(block), "model": _model(block), "cores": None if windows else _cores(block),
        "microarchitecture": f"{family}-{model}" if family and model and (family + model).isdigit() else None,
        "instruction_sets": None if flags is None else sorted(DISPATCH_FLAGS & flags),
    }
    facts.update((name, value) for name, value in found.items() if value is not None)
    return facts


def virtualisation(dump: Dump) -> Any:
    """Return the hypervisor that the block names; ``None`` where its flags show that there is none."""
    block = Block(dump)
    named = block.by_label(_HYPERVISOR)
    if named:
        return _HYPERVISORS.get(named.lower(), named)
    flags = block.flags()
    x86 = flags is not None and "fpu" in flags
    return None if x86 and flags is not None and "hypervisor" not in flags else NOT_REPORTED


def _unwrapped(lines: list[str]) -> list[str]:
    """Join the pieces of a long row that was wrapped: a line of bare words after a row of many."""
    rows: list[str] = []
    pieces: list[str] = []
    for line in lines:
        bare_words = pieces and line and not _SEPARATORS & set(line) and line == line.lower()
        if bare_words and len(pieces[-1]) > 60:
            pieces.append(line)
            continue
        if pieces:
            rows.append(" ".join(pieces))
        pieces = [line] if line else []
    return [*rows, " ".join(pieces)] if pieces else rows


def _architecture(dump: Dump, block: Block) -> str | None:
    stated = next((value for _, value in block.rows if value in ARCHITECTURES), None)
    if stated is None and block.by_label(("deviceid",)):
        stated = _WINDOWS.get(block.by_label(("architecture",)) or "")
    if stated is None:
        words = f"{dump.value('OS') or ''} {dump.value('Python platform') or ''}"
        found = re.search(r"(?<![A-Za-z0-9])(x86_64|AMD64|aarch64|arm64|ppc64le|s390x|riscv64)(?![A-Za-z0-9])", words)
        stated = found[1] if found else None
    return _SPELLING.get(stated.lower(), stated) if stated else None


def _vendor(block: Block) -> str | None:
    for _, value in block.rows:
        if value in _VENDORS:
            return value
    label = block.by_label(("vendor id", "manufacturer", "anbieterkennung", "id de fabricante", "\u5382\u5546 id",
                            "identifiant constructeur", "\u30d9\u30f3\u30c0\u30fc id", "id de fornecedor"))
    return f"arm-{_IMPLEMENTERS[label]}" if label in _IMPLEMENTERS else None


def _model(block: Block) -> str | None:
    named = block.by_label(_MODEL_NAME)
    if named and named != "-":
        return named
    apple = next((line for line in block.lines if _APPLE.fullmatch(line)), None)
    return apple if len(block.lines) == 1 else None


def _cores(block: Block) -> int | None:
    """Return the logical processors online: the first list of ranges, which every language prints as such."""
    for label, value in block.rows:
        if _RANGE.fullmatch(value) and len(value) < 2000 and ("-" in value or label.startswith("on-line")):
            return sum(_width(part) for part in value.split(","))
    total = block.by_label(("cpu(s)", "cpu", "processeur(s)")) if block.closed else None
    return int(total) if total and total.isascii() and total.isdigit() and len(total) < 7 else None


def _width(part: str) -> int:
    first, _, last = part.partition("-")
    return max(1, int(last[:9]) - int(first[:9]) + 1) if last else 1
