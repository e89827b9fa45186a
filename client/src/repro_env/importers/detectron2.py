"""detectron2's collect_env: a table of two columns, then torch's own report on its build."""

from __future__ import annotations

import re
from collections.abc import Sequence

from . import torch_config, torch_rows
from .format import Reading, Text
from .rows import normalised

NAME = "detectron2-collect-env"
MADE_BY = "python -m detectron2.utils.collect_env"

#: row -> distribution.
_DISTRIBUTIONS = {"numpy": "numpy", "detectron2": "detectron2", "Pillow": "pillow", "torchvision": "torchvision",
                  "fvcore": "fvcore", "iopath": "iopath", "cv2": "opencv", "densepose": "densepose",
                  "panopticapi": "panopticapi", "cityscapesscripts": "cityscapesscripts", "lvis": "lvis"}
_KEYS = ("sys.platform", "Python", "detectron2._C", "detectron2 compiler", "Compiler ($CXX)", "Compiler",
         "CUDA compiler", "detectron2 arch flags", "DETECTRON2_ENV_MODULE", "PyTorch debug build", "PyTorch",
         "torch._C._GLIBCXX_USE_CXX11_ABI", "GPU available", "Driver version", "CUDA_HOME", "ROCM_HOME",
         "TORCH_CUDA_ARCH_LIST", "CUDA available", "NVCC", "torchvision arch flags", "torchvision._C", *_DISTRIBUTIONS)
_ROW = re.compile(r"\|? ?(" + "|".join(re.escape(key) for key in sorted(_KEYS, key=len, reverse=True))
                  + r"|GPU \d{1,3}(?:,\d{1,3})*)(?:\s{1,200}\|?|\s*\|)\s{0,200}(\S.*?)\s*\|?", re.IGNORECASE)
_BY_SPELLING = {key.lower(): key for key in _KEYS}
#: what rows of the first versions are called since.
_SINCE = {"CUDA available": "GPU available", "NVCC": "CUDA compiler"}
_RULE = re.compile(r"[-=| :+]{5,}")
_NOT_A_ROW = ("PyTorch built with",)
_FEWEST = 4


def read(text: Text) -> Reading | None:
    """Return what the first table states, and the block below it."""
    if "sys.platform" not in text.joined:
        return None
    start = next((number for number, line in enumerate(text.lines)
                  if "sys.platform" in line[:20] and _ROW.fullmatch(line[:1000])), None)
    if start is None:
        return None
    values, end = _table(text.lines, start)
    if len(values) < _FEWEST:
        return None
    notes: list[str] = []
    below = torch_config.find(text.lines[:end + 80], end)
    config, length = below or (None, 0)
    distributions = [(normalised(_DISTRIBUTIONS[key]), told) for key, told in
                     ((key, torch_rows.version(value)) for key, value in values.items() if key in _DISTRIBUTIONS)
                     if told is not None]
    sections = torch_rows.sections(values, distributions, config, notes)
    cut = not any(text.lines[end:])
    return Reading(NAME, sections, tuple(notes), start, cut, end - start + length)


def _table(lines: Sequence[str], start: int) -> tuple[torch_rows.Values, int]:
    """Return the rows below ``start`` and where they end; a row at the very end of the text may be broken."""
    values: torch_rows.Values = {}
    end = start
    while end < len(lines):
        line = lines[end]
        match = None if line.startswith(_NOT_A_ROW) else _ROW.fullmatch(line[:1000])
        if match is None and not _is_continued(lines, end, start):
            break
        if match is not None and end < len(lines) - 1:
            key = _BY_SPELLING.get(match[1].lower(), match[1])
            values.setdefault(_SINCE.get(key, key), match[2])
        end += 1
    return values, end


def _is_continued(lines: Sequence[str], number: int, start: int) -> bool:
    """Tell whether a line without a known key belongs to the table: rows wrapped, rows of other projects, its frame."""
    line = lines[number]
    if not line or line == "```" or line.startswith(_NOT_A_ROW) or _RULE.fullmatch(line[:1000]):
        return False
    return number > start and any(_ROW.fullmatch(following[:1000]) for following in lines[number + 1:number + 6])
