"""Rows ``- label: value`` as the ``env`` commands of Hugging Face's libraries print them.

Owns how such a list is found and what its rows mean; which list is whose is left to the modules of the formats.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from . import devices, host, inventory, listing, platforms
from .format import Reading, Text
from .plain import FENCE
from .rows import Row, normalised
from .words import NOT_RECORDED, is_silent

#: labels of rows that state the version of a distribution -> its name, where the label is not the name.
_VERSIONS = {"pytorch": "torch", "huggingface_hub": "huggingface-hub", "hugging face hub": "huggingface-hub"}
_DISTRIBUTIONS = frozenset((
    "transformers", "accelerate", "diffusers", "datasets", "trl", "peft", "safetensors", "tokenizers", "deepspeed",
    "bitsandbytes", "xformers", "numpy", "pandas", "pyarrow", "fsspec", "tensorflow", "flax", "jax", "jaxlib", "torch",
    "huggingface-hub", "liger-kernel", "vllm", "evaluate", "optimum", "sentence-transformers", "kernels", "openai"))
_IN_BRACKETS = re.compile(r"\s{0,4}\([^()]{0,40}\)$")
_PICTURES = re.compile(r"[^\x00-\u2fff]+")
_VERSION = re.compile(r"v?(\d[\w.+!-]*)(?:\s+\(([\w/ ]{1,40})\))?")
_ONE_GPU = ("gpu type", "xpu type", "hpu type")
_EVERY_GPU = ("cuda device(s)", "accelerator")
_GPU_WITH_MEMORY = re.compile(r"(.{3,80}), (\d{1,9}) MiB")
#: how many there are, as a person writes it before or behind a name.
_COUNTED = (re.compile(r"(?P<count>[1-9]\d?) ?[x\u00d7*] ?(?P<name>\S.{2,80})", re.IGNORECASE),
            re.compile(r"(?P<name>\S.{2,80}?)(?: \(?|\()[x\u00d7*] ?(?P<count>[1-9]\d?)\)?", re.IGNORECASE),
            re.compile(r"(?P<name>\S.{2,80}?) ?\((?P<count>[1-9]\d?) ?(?:of them|gpus?|cards?|x|\u00d7)\)",
                       re.IGNORECASE))
#: rows of the configuration of accelerate that a note keeps.
_CONFIGURED = ("distributed_type", "mixed_precision", "num_processes", "num_machines", "use_cpu", "gpu_ids",
               "dynamo_backend")
_MOST_LINES = 400


@dataclass
class Listing:
    """One list: values by label in lower case, without brackets and emphasis."""

    first_line: int
    values: dict[str, str] = field(default_factory=dict)
    #: lines that carry no label, below the label they belong to.
    below: dict[str, list[str]] = field(default_factory=dict)
    cut: bool = False


def find(text: Text, is_one: Callable[[dict[str, str]], bool], notes: list[str]) -> Listing | None:
    """Return the first list whose labels are those of the format; a note names another."""
    found = [block for block in _blocks(text) if is_one(block.values)]
    notes += [f"the text holds another such report at line {other.first_line + 1}: not imported" for other in found[1:]]
    return found[0] if found else None


def _blocks(text: Text) -> Iterable[Listing]:
    """Yield runs of labelled rows; a label that comes again, or another list mark, begins another run."""
    block: Listing | None = None
    label, mark, strangers = "", "", 0
    for number, line in enumerate(listing.whole_lines(text)):
        row = listing.row(line) if line and line != FENCE else None
        key = _label(row[0]) if row else ""
        if row and block is not None and (_mark(line) != mark or (key in block.values and _is_told_once(key))):
            yield block
            block = None
        if row:
            if block is None:
                block, mark = Listing(number), _mark(line)
            block.values.setdefault(key, row[1])
            label, strangers = key, 0
        elif line == FENCE or strangers >= 8:
            if block is not None:
                yield block
            block, strangers = None, 0
        elif line and block is not None:
            strangers += 1
            block.below.setdefault(label, []).append(line)
    if block is not None:
        block.cut = True
        yield block


def _mark(line: str) -> str:
    return line[0] if line[0] in "-*\u2022" else ""


def _is_told_once(label: str) -> bool:
    return label.endswith("version") or label == "platform"


def _label(told: str) -> str:
    """Return a label in lower case without emphasis, pictures and what stands in brackets behind it."""
    bare = (told if told.isascii() else _PICTURES.sub("", told)).replace("*", "").strip().lower().rstrip("?")
    return bare if bare in _EVERY_GPU or "(" not in bare else _IN_BRACKETS.sub("", bare)


def reading(form: str, found: Listing, notes: list[str]) -> Reading:
    """Return what the rows of a list state."""
    values = found.values
    python = host.python_of(values["python version"]) if "python version" in values else {}
    sections = inventory.sections(list(_rows(values)), notes)
    if python:
        sections["python"] = python
    sections.update(platforms.sections(values.get("platform", ""), python.get("version", NOT_RECORDED), notes))
    gpus, whole = _gpus(found)
    if gpus:
        sections["accelerators"] = devices.section(gpus, notes, whole=whole)
    _remark(values, notes)
    return Reading(form, sections, tuple(notes), found.first_line, found.cut, len(values))


def _rows(values: dict[str, str]) -> Iterable[Row]:
    for label, value in values.items():
        stem = label[:-len(" version")] if label.endswith(" version") else ""
        name = normalised(_VERSIONS.get(stem, stem))
        match = _VERSION.fullmatch(value)
        if match and name in _DISTRIBUTIONS:
            yield inventory.pip_row(name, match[1])


def _gpus(found: Listing) -> tuple[list[dict[str, Any]], bool]:
    """Return the devices that the list names, and whether it names them all: the type is the current one's alone."""
    for label in _ONE_GPU:
        name = found.values.get(label, "")
        counted = next(filter(None, (form.fullmatch(name) for form in _COUNTED)), None)
        if counted:
            return [devices.named(counted["name"]) for _ in range(int(counted["count"]))], True
        if not is_silent(name):
            return [devices.named(name)], False
    for label in _EVERY_GPU:
        value = found.values.get(label, "")
        told = [value, *found.below.get(label, [])] if label == "accelerator" else value.split(", ")
        matches = [_GPU_WITH_MEMORY.fullmatch(line.rstrip(", ")) for line in told]
        if label == "accelerator":
            gpus = [devices.named(match[1], memory_bytes=int(match[2]) << 20) for match in matches if match]
        else:
            gpus = [devices.named(name) for name in told if devices.vendor_of(name)]
        if gpus:
            return gpus, not found.cut or label != "accelerator"
    return [], True


def _remark(values: dict[str, str], notes: list[str]) -> None:
    """Note what the list says beside the document's fields."""
    match = _VERSION.fullmatch(values.get("pytorch version", ""))
    if match and match[2] in ("True", "False"):
        notes.append(f"Is CUDA available: {match[2]}")
    elif match and match[2]:
        notes.append(f"accelerator that torch found: {match[2]}")
    configured = [f"{key} {values[key]}" for key in _CONFIGURED if values.get(key)]
    if configured:
        notes.append("accelerate's default configuration, which a run need not have used: " + ", ".join(configured))
    told = values.get("using distributed or parallel set-up in script", "")
    if not is_silent(told) and not told.startswith("<"):
        notes.append(f"distributed or parallel set-up in the script: {told[:80]}")
