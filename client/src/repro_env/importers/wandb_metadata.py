"""Weights & Biases' ``wandb-metadata.json``, which lies in the folder of every run.

Its "cudaVersion" is what the driver supports at most, its older "cuda" the toolkit under /usr/local/cuda. Host, user
and mail address are left out; so is where the program lay.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..canonical import digest
from ..probes.source import is_commit
from ..variables import without_credentials
from . import devices, host, open_json, platforms
from .format import Reading, Text
from .words import NOT_RECORDED, NOT_REPORTED, version_fact

NAME = "wandb-metadata"
MADE_BY = "wandb-metadata.json in the files of a W&B run"

_OWN = frozenset(("startedAt", "heartbeatAt", "cudaVersion", "gpu_nvidia", "gpu_devices", "cpu_count", "writerId",
                  "gpu_count", "cpu_count_logical", "codePath", "gpu_apple", "gpu_amd", "cpu_freq_per_core"))
#: architectures of one compute capability each -> it, and the cores of one multiprocessor.
_ARCHITECTURES = {"ada": ("8.9", 128), "hopper": ("9.0", 128), "turing": ("7.5", 64)}
_IMPLEMENTATION = re.compile(r"(CPython|PyPy) (\S+)")
_MOST_GPUS = 1000
_SCRIPT = re.compile(r"[\w./-]{1,200}\.py")


def read(text: Text) -> Reading | None:
    """Return what the first such object states."""
    opened = open_json.find(text.lines, _is_one) if any(f'"{key}"' in text.joined for key in _OWN) else None
    if opened is None:
        return None
    told: dict[str, Any] = opened.value
    notes: list[str] = []
    python = _python(told.get("python"))
    sections: dict[str, dict[str, Any]] = {"python": python} if python else {}
    sections.update(platforms.sections(_text(told, "os"), python.get("version", NOT_RECORDED), notes))
    cores = told.get("cpu_count_logical", None if opened.cut else told.get("cpu_count"))
    if _is_count(cores):
        sections.setdefault("cpu", {})["cores"] = cores
    gpus, whole = _gpus(told, notes)
    if gpus:
        cut_in_list = opened.cut and list(told)[-1] in ("gpu_nvidia", "gpu_devices", "gpu_amd")
        sections["accelerators"] = devices.section(gpus, notes, whole=whole and not cut_in_list)
    sections["driver"] = {"cuda_level": version_fact(_text(told, "cudaVersion") or None)}
    sections["libraries"] = {"cuda_toolkit": version_fact(_text(told, "cuda") or None)}
    sections["program.source"] = _source(told, cut=opened.cut)
    if _text(told, "docker"):
        sections["container"] = {"image_reference": _text(told, "docker")}
    if opened.cut:
        notes.append("the text is cut: what it would have said further on is not recorded")
    return Reading(NAME, sections, tuple(notes), opened.first_line, opened.cut, len(told))


def _is_one(value: Any) -> bool:
    return isinstance(value, dict) and len(_OWN & value.keys()) >= 1 and bool({"os", "python"} & value.keys())


def _text(told: dict[str, Any], key: str) -> str:
    value = told.get(key)
    return _storable(value[:1000]) if isinstance(value, str) else ""


def _storable(word: str) -> str:
    """Return a text that has UTF-8: JSON can hold halves of characters."""
    return word.encode("utf-8", "backslashreplace").decode()


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 < value < 1 << 20


def _python(told: Any) -> dict[str, Any]:
    if not isinstance(told, str):
        return {}
    named = _IMPLEMENTATION.match(told)
    facts = host.python_of(named[2] if named else told)
    return {**facts, "implementation": named[1].lower()} if named else facts


def _gpus(told: dict[str, Any], notes: list[str]) -> tuple[list[dict[str, Any]], bool]:
    """Return the devices in index order, and whether they are all: by the lists, else by name and number."""
    count = told["gpu_count"] if _is_count(told.get("gpu_count")) else 0
    gpus = [device for device in map(_listed, _list(told)) if device]
    if gpus:
        if count and count != len(gpus):
            notes.append(f"{count} GPUs are counted and {len(gpus)} are listed")
        return gpus, count <= len(gpus)
    apple: dict[str, Any] = next((told[key] for key in ("gpu_apple", "apple") if isinstance(told.get(key), dict)), {})
    name = _text(apple, "gpuType") or _text(apple, "name") or _text(told, "gpu")
    if not name:
        return [], True
    if name.startswith("["):
        notes.append(f"the name of the GPU is not told: {name[:80]}")
        return [], True
    if apple:
        return [devices.named(name, vendor="apple")], True
    if count > 1:
        notes.append(f"{count} GPUs are counted and one is named: taken for all")
    return [devices.named(name)] * min(max(1, count), _MOST_GPUS), count > 0


def _list(told: dict[str, Any]) -> list[Any]:
    found = (told[key] for key in ("gpu_nvidia", "gpu_devices", "gpu_amd") if isinstance(told.get(key), list))
    return next(found, [])[:_MOST_GPUS]


def _listed(item: Any) -> dict[str, Any] | None:
    if not isinstance(item, dict):
        return None
    name = next(filter(None, (_text(item, key) for key in ("name", "model", "series"))), None)
    if name is None:
        return None
    memory = _integer(item.get("memoryTotal", item.get("memory_total")))
    facts: dict[str, Any] = {} if memory is None else {"memory_bytes": memory}
    known = _ARCHITECTURES.get(str(item.get("architecture", "")).lower())
    cores = _integer(item.get("cudaCores"))
    if known:
        facts["compute_capability"] = known[0]
        if cores and cores % known[1] == 0:
            facts["sm_count"] = cores // known[1]
    return devices.named(name[:120], **facts)


def _integer(value: Any) -> int | None:
    """Return a number that may be written as text: the service writes those beyond 32 bits so."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        return int(value)
    return value if type(value) is int and 0 <= value < 1 << 50 else None


def _source(told: dict[str, Any], *, cut: bool) -> dict[str, Any]:
    """Return commit, remote, entry point and digest of the arguments, in the forms that an observation has."""
    facts: dict[str, Any] = {}
    git = told.get("git")
    if isinstance(git, dict):
        commit, remote = _text(git, "commit"), _text(git, "remote") or _text(git, "remote_url")
        facts["commit"] = commit if is_commit(commit) else NOT_REPORTED
        if remote:
            facts["remote"] = without_credentials(remote)
    entry = _text(told, "codePath") or ("" if cut else _text(told, "program"))
    if _SCRIPT.fullmatch(entry) and not entry.startswith("/"):
        facts["entry_point"] = entry
    words: Any = told.get("args")
    if _is_words(words) and not (cut and list(told)[-1] == "args"):
        facts["arguments_digest"] = digest([_storable(word) for word in words])
    return facts


def _is_words(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str) and all(isinstance(word, str) for word in value)
