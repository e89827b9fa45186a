"""Several dumps in one paste: which of them leads, which add to it, and which speak of another machine.

Dumps of different formats are joined when nothing that both state contradicts. Where something does, the first is
taken alone: a text with two machines, or with one before and after a change, is never made into a third.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..fingerprint.facts import is_unread
from .devices import order
from .format import Reading

#: facts of which one side may say less than the other: a version with fewer parts, or without its local label.
_VERSIONS = frozenset(("version", "installed", "loaded", "compiled_against", "kernel_module", "user_libcuda",
                       "cuda_level", "cuda_build", "rocm_build", "cuda_toolkit", "libc", "kernel", "os_name"))
_AFTER_A_SHORT_ONE = (".", "+", "-", " ")


class _ContradictionError(Exception):
    """Two dumps state different values of one fact; its path is the argument."""


@dataclass
class Joined:
    """What all dumps that speak of one environment state."""

    format: str
    sections: dict[str, dict[str, Any]]
    #: path of a section or of one fact -> format it was taken from.
    sources: dict[str, str]
    notes: list[str] = field(default_factory=list)
    #: facts of the circumstances.
    capture: dict[str, Any] = field(default_factory=dict)


def join(readings: list[Reading]) -> Joined:
    """Return the first reading with everything that the others add; a note names each of the others."""
    first, *others = sorted(_distinct(readings), key=lambda reading: (not reading.leads, reading.first_line))
    joined = Joined(first.format, dict(first.sections), dict.fromkeys(first.sections, first.format), list(first.notes),
                    dict(first.capture))
    for other in others:
        place = f"the text holds another report, {other.format}, at line {other.first_line + 1}"
        try:
            sections = _sections(joined.sections, other.sections)
        except _ContradictionError as contradiction:
            joined.notes.append(f"{place}, which says otherwise of {contradiction}: not imported")
            continue
        _note_sources(joined, sections, other.format)
        joined.sections = sections
        joined.capture = {**other.capture, **joined.capture}
        if other.format != first.format:
            joined.notes.append(f"{place}: what it adds to {first.format} is kept")
        joined.notes += other.notes
    return joined


def _distinct(readings: list[Reading]) -> list[Reading]:
    """Return the readings without those that took lines of a surer one for their own."""
    kept: list[Reading] = []
    for reading in sorted(readings, key=lambda reading: -reading.keys):
        if not any(_share_lines(reading, other) for other in kept):
            kept.append(reading)
    return kept


def _share_lines(one: Reading, other: Reading) -> bool:
    """Tell whether two readings overlap: each reaches at least as far as the keys it recognised."""
    first, second = sorted((one, other), key=lambda reading: reading.first_line)
    return second.first_line < first.first_line + max(1, first.keys)


def _note_sources(joined: Joined, sections: dict[str, dict[str, Any]], form: str) -> None:
    for path, facts in sections.items():
        before = joined.sections.get(path)
        if before is None:
            joined.sources[path] = form
            continue
        for name, value in facts.items():
            if name not in before or before[name] != value:
                joined.sources[f"{path}.{name}"] = form


def _sections(first: dict[str, dict[str, Any]], second: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {path: _joined(first.get(path, {}), second.get(path, {}), path) for path in {**first, **second}}


def _joined(first: Any, second: Any, path: str) -> Any:
    """Return what both values say together; raise ``_ContradictionError`` where they cannot both be true."""
    if is_unread(second) or first == second:
        return first
    if is_unread(first):
        return second
    if path == "distributions.complete":
        return first or second
    if isinstance(first, dict) and isinstance(second, dict):
        return {key: _joined(first[key], second[key], f"{path}.{key}") if key in first and key in second
                else first.get(key, second.get(key)) for key in {**first, **second}}
    if path == "accelerators.devices" and isinstance(first, list) and isinstance(second, list):
        return _devices(first, second, path)
    if path == "distributions.installed" and isinstance(first, list) and isinstance(second, list):
        return _distributions(first, second, path)
    name = path.rpartition(".")[2]
    finer = _JOINERS[name](first, second) if name in _JOINERS else None
    if finer is None:
        raise _ContradictionError(path)
    return finer


def _exact(first: Any, second: Any) -> int | None:
    """Return the memory that is told in bytes when the other is it in whole MiB, as nvidia-smi prints it."""
    if not isinstance(first, int) or not isinstance(second, int):
        return None
    less, more = sorted((first, second))
    return more if less == more >> 20 << 20 else None


def _finer(first: Any, second: Any) -> str | None:
    """Return the longer of two versions when the other is its beginning."""
    if not isinstance(first, str) or not isinstance(second, str):
        return None
    short, long = sorted((first, second), key=len)
    return long if long.startswith(short) and long[len(short):].startswith(_AFTER_A_SHORT_ONE) else None


_JOINERS: dict[str, Callable[[Any, Any], Any]] = {**dict.fromkeys(_VERSIONS, _finer), "memory_bytes": _exact}


def _devices(first: list[Any], second: list[Any], path: str) -> list[Any]:
    """Return the devices of both lists; one of which nothing is known stands for any number of others."""
    left = [device for device in second if not _is_unknown(device)]
    result, unmatched = [], 0
    for device in first:
        if _is_unknown(device):
            continue
        index, match = _partner(device, left, path)
        if index is not None:
            del left[index]
        unmatched += index is None
        result.append(match)
    first_is_open, second_is_open = (any(map(_is_unknown, devices)) for devices in (first, second))
    if (unmatched and not second_is_open) or (left and not first_is_open):
        raise _ContradictionError(path)
    unknown = next((device for device in first if _is_unknown(device)), None)
    return sorted([*result, *left, *([unknown] if first_is_open and second_is_open else [])], key=order)


def _partner(device: dict[str, Any], others: list[Any], path: str) -> tuple[int | None, dict[str, Any]]:
    for index, other in enumerate(others):
        try:
            return index, _joined(device, other, path + "[]")
        except _ContradictionError:
            continue
    return None, device


def _is_unknown(device: dict[str, Any]) -> bool:
    return all(map(is_unread, device.values()))


def _distributions(first: list[Any], second: list[Any], path: str) -> list[Any]:
    """Return the rows of both lists by name."""
    rows = {row["name"]: row for row in first}
    for row in second:
        known = rows.get(row["name"])
        rows[row["name"]] = row if known is None else _joined(known, row, f"{path}.{row['name']}")
    return [rows[name] for name in sorted(rows)]
