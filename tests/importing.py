"""What the tests of importers share: short dumps made of lines, and when one document contradicts another."""

from __future__ import annotations

from typing import Any

from repro_env import importers
from repro_env.fingerprint.facts import is_unread

HEADER = """Collecting environment information...
PyTorch version: {torch}
Is debug build: False
CUDA used to build PyTorch: {cuda}
ROCM used to build PyTorch: {rocm}

OS: {os}
GCC version: (Ubuntu 11.4.0-1ubuntu1~22.04) 11.4.0
Clang version: Could not collect
CMake version: version 3.22.1
Libc version: {libc}

Python version: {python}
Python platform: {platform}
Is CUDA available: {available}
CUDA runtime version: {nvcc}
CUDA_MODULE_LOADING set to: LAZY
GPU models and configuration: {gpus}
Nvidia driver version: {driver}
cuDNN version: {cudnn}
{more}HIP runtime version: {hip}
MIOpen runtime version: {miopen}
Is XNNPACK available: True

CPU:
{cpu}

Versions of relevant libraries:
{rows}
"""
DEFAULTS = {
    "torch": "2.4.1+cu121",
    "cuda": "12.1",
    "rocm": "N/A",
    "os": "Ubuntu 22.04.4 LTS (x86_64)",
    "libc": "glibc-2.35",
    "python": "3.10.12 (main, Nov 20 2023, 15:14:05) [GCC 11.4.0] (64-bit runtime)",
    "platform": "Linux-5.15.0-105-generic-x86_64-with-glibc2.35",
    "available": "True",
    "nvcc": "12.4.131",
    "gpus": "GPU 0: NVIDIA H100 80GB HBM3",
    "driver": "550.54.15",
    "cudnn": "Could not collect",
    "more": "",
    "hip": "N/A",
    "miopen": "N/A",
    "cpu": "Architecture: x86_64",
    "rows": "[pip3] numpy==1.26.4\n[conda] Could not collect",
}


def dump_text(**lines: str) -> str:
    """A whole dump in which the named lines say something else."""
    return HEADER.format(**{**DEFAULTS, **lines})


def document_of(text: str) -> dict[str, Any]:
    """The document that a text is imported to."""
    return importers.import_text(text)


def stack_of(text: str) -> dict[str, Any]:
    """The stack that a text is imported to."""
    return importers.import_text(text)["stack"]


def notes_of(text: str) -> list[str]:
    """What an import says beside its facts."""
    return importers.import_text(text)["capture"]["imported"]["notes"]


def contradictions(part: Any, whole: Any, path: str = "") -> list[str]:
    """Places where ``part`` states something that ``whole`` states otherwise; what either leaves unread is none."""
    if is_unread(part) or is_unread(whole):
        return []
    if isinstance(part, dict) and isinstance(whole, dict):
        return [place for key in part for place in contradictions(part[key], whole[key], f"{path}.{key}")]
    if isinstance(part, list) and isinstance(whole, list):
        return _of_lists(part, whole, path)
    return [] if part == whole else [f"{path}: {part!r} against {whole!r}"]


def _of_lists(part: list[Any], whole: list[Any], path: str) -> list[str]:
    if part and isinstance(part[0], str):
        return [f"{path}: {item!r} is not in the whole" for item in part if item not in whole]
    left = list(whole)
    found = []
    for item in part:
        match = next((other for other in left if not contradictions(item, other)), None)
        if match is None and not all(is_unread(value) for value in item.values()):
            found.append(f"{path}: {item!r} is not in the whole")
        elif match is not None:
            left.remove(match)
    return found
