"""What PaddlePaddle says of itself: ``paddle version``, ``paddle.version.show()`` and ``tools/summary_env.py``.

Its "CUDA version" in the summary is the compiler on the machine, its "cuDNN version" the system's header; what
``version.show()`` calls cuda and cudnn is what Paddle was built with.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from . import devices, host, inventory, listing
from .dump import Field
from .format import Reading, Text
from .plain import FENCE
from .words import NOT_RECORDED, NOT_REPORTED, is_silent, version_fact

NAME = "paddle-version"
MADE_BY = "paddle version, paddle.version.show() or Paddle's tools/summary_env.py"

_COMPILED = re.compile(r"PaddlePaddle (\d[\w.]{1,40}),? compiled with")
_SWITCH = re.compile(r"(?:[-*]\s)?with_(\w{2,20}):\s{0,8}(ON|OFF)")
_SUMMARY = re.compile(r"Paddle version:\s{0,8}(\S{1,40})")
_SHOWN = re.compile(r"full_version:\s{0,8}(\d[\w.+]{1,40})")
_LABELS = frozenset(("Paddle version", "Paddle With CUDA", "OS", "GCC version", "Clang version", "CMake version",
                     "Libc version", "Python version", "CUDA version", "cuDNN version", "Nvidia driver version",
                     "Nvidia driver List", "major", "minor", "patch", "rc", "cuda", "cudnn", "commit", "xpu", "nccl",
                     "full_version", "cinn", "tensorrt"))
_GPU = re.compile(r"GPU \d{1,3}: ")
_MOST_LINES = 200


def read(text: Text) -> Reading | None:
    """Return what the first of its texts states."""
    lines = listing.whole_lines(text) if "Paddle" in text.joined or "full_version" in text.joined else ()
    for number, line in enumerate(lines):
        if "Paddle" not in line and not line.startswith("full_version"):
            continue
        compiled, summary, shown = (form.match(line[:200]) for form in (_COMPILED, _SUMMARY, _SHOWN))
        if compiled:
            return _compiled(lines, number, compiled[1])
        if summary:
            return _summary(text, number)
        if shown and any(other.startswith("major:") for other in lines[number + 1:number + 3]):
            return _shown(lines, number)
    return None


def _rows(lines: Sequence[str], first: int) -> dict[str, tuple[str, int]]:
    """Return value and place of each known label below the first line."""
    values: dict[str, tuple[str, int]] = {}
    for number in range(first, min(len(lines), first + _MOST_LINES)):
        row = listing.row(lines[number])
        if lines[number] == FENCE or (row and row[0] in values and row[0] in ("Paddle version", "full_version")):
            break
        if row and row[0] in _LABELS:
            values.setdefault(row[0], (row[1], number))
    return values


def _distribution(version: str, with_cuda: str | None, notes: list[str]) -> dict[str, dict[str, Any]]:
    """Return Paddle as the distribution that its build is published as."""
    if version.startswith("0.0.0"):
        notes.append("Paddle was built from source, its version 0.0.0 says nothing: not believed")
        return {}
    if with_cuda is None:
        notes.append(f"Paddle {version}: whether it is the distribution for GPUs is not told")
        return {}
    name = "paddlepaddle-gpu" if with_cuda.upper() in ("ON", "TRUE") else "paddlepaddle"
    return {"distributions": inventory.sections([inventory.pip_row(name, version)], notes)["distributions"]}


def _compiled(lines: Sequence[str], first: int, version: str) -> Reading:
    switches: dict[str, str] = {}
    for line in lines[first + 1:first + 40]:
        match = _SWITCH.fullmatch(line)
        if match:
            switches.setdefault(match[1], match[2])
        elif line:
            break
    notes = [f"Paddle {version} was compiled with " + ", ".join(f"{name} {state}" for name, state in switches.items())]
    sections = _distribution(version, switches.get("gpu"), notes)
    return Reading(NAME, sections, tuple(notes), first, not switches, 1 + len(switches))


def _shown(lines: Sequence[str], first: int) -> Reading:
    values = {label: value for label, (value, _) in _rows(lines, first).items()}
    notes = [f"Paddle {values['full_version']} was built with {name} {values[name]}" for name in ("cuda", "cudnn")
             if not is_silent(values.get(name, ""))]
    cuda = values.get("cuda")
    sections = _distribution(values["full_version"], None if cuda is None else str(cuda[:1].isdigit()), notes)
    return Reading(NAME, sections, tuple(notes), first, "commit" not in values, len(values))


def _summary(text: Text, first: int) -> Reading:
    lines = listing.whole_lines(text)
    rows = _rows(lines, first)
    values = {label: value for label, (value, _) in rows.items()}
    notes: list[str] = []
    sections = _distribution(values["Paddle version"], values.get("Paddle With CUDA"), notes)
    python = host.python_of(values["Python version"]) if not is_silent(values.get("Python version", "")) else {}
    sections["python"] = python
    sections["driver"] = {"kernel_module": version_fact(values.get("Nvidia driver version"))}
    cudnn = version_fact(values.get("cuDNN version"))
    sections["libraries"] = {"cuda_toolkit": version_fact(values.get("CUDA version")),
                             "system_cudnn": [cudnn] if isinstance(cudnn, str) else cudnn}
    sections["system"] = _system(values, python, notes)
    if "Nvidia driver List" in rows:
        sections.update(_gpus(text, rows["Nvidia driver List"][1], notes))
    return Reading(NAME, sections, tuple(notes), first, "Nvidia driver List" not in rows, len(values) + 1)


def _system(values: dict[str, str], python: dict[str, Any], notes: list[str]) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    name = values.get("OS", "")
    if not is_silent(name):
        facts["os_name"] = name
        lower = name.lower()
        facts["os_family"] = ("windows" if "windows" in lower else "macos" if re.match(r"mac|darwin", lower)
                              else "linux")
    libc = values.get("Libc version", "")
    if not is_silent(libc):
        facts["libc"] = host.libc_of(libc, python.get("version", NOT_RECORDED), notes)
    return facts


def _gpus(text: Text, first: int, notes: list[str]) -> dict[str, dict[str, Any]]:
    """Return the devices that the summary lists as nvidia-smi does."""
    lines = [text.lines[first].partition(":")[2].strip()]
    number = first + 1
    while number < len(text.lines) - 1 and _GPU.match(text.lines[number]):
        lines.append(text.lines[number])
        number += 1
    closed = any(text.lines[number:]) and not text.lines[number].startswith("GPU")
    found = devices.nvidia(Field("list", first, lines, closed=closed), notes)
    if not found:
        return {"accelerators": {"devices": NOT_REPORTED}}
    return {"accelerators": devices.section(found, notes, whole=closed)}
