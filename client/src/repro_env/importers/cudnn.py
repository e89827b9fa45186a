"""Versions in the names of the cuDNN files that a collect_env text lists: the system's, not what torch loads."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .dump import MOST_LINES, Dump
from .words import NOT_RECORDED, NOT_REPORTED, is_silent, says_no_cuda

_LINUX = re.compile(r"(.*[/\\])?libcudnn[\w]*\.so\.(\d[\d.]*)")
_WINDOWS = re.compile(r"(.*[/\\])?cudnn[\w]*64_(\d[\d.]*)\.dll", re.IGNORECASE)
_MACOS = re.compile(r"(.*[/\\])?libcudnn[\w]*\.(\d[\d.]*)\.dylib")
_BARE = re.compile(r"()(\d+\.\d+(?:\.\d+)*)")


def system_cudnn(dump: Dump, notes: list[str]) -> Any:
    """Return the versions found on the system, sorted; unread where the text lists none.

    "Could not collect" is also what a failed search prints, and "No CUDA" overwrites what was found.
    """
    field = dump.fields.get("cuDNN version")
    if field is None:
        return NOT_RECORDED
    found = files(field.lines[:-1] if field.cut else field.lines)
    if field.cut:  # a file further on may say the same version in full
        found = [(folder, version) for folder, version in found if version.count(".") >= 2]
    if not found:
        return NOT_RECORDED if field.cut else NOT_REPORTED
    if field.cut:
        notes.append("the text ends in the list of cuDNN files")
    return versions(found)


def files(lines: Sequence[str]) -> list[tuple[str, str]]:
    """Return folder and version of every cuDNN file that a list of files holds."""
    found: list[tuple[str, str]] = []
    for line in lines[:MOST_LINES]:
        if is_silent(line) or says_no_cuda(line):
            continue
        matches = (form.fullmatch(line[:1024]) for form in (_LINUX, _WINDOWS, _MACOS, _BARE))
        match = next(filter(None, matches), None)
        if match:
            found.append((match[1] or "", match[2].rstrip(".")))
    return found


def versions(found: list[tuple[str, str]]) -> list[str]:
    """Return each version once, as exactly as the files of its folder say it."""
    return sorted({version for folder, version in found if not _has_fuller(folder, version, found)}, key=_parts)


def _has_fuller(folder: str, version: str, found: list[tuple[str, str]]) -> bool:
    """Tell whether the same folder holds a file that says the same version more exactly."""
    return any(other_folder == folder and other.startswith(version + ".") for other_folder, other in found)


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part[:9]) for part in version.split(".") if part)
