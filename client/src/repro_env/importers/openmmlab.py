"""The collect_env of OpenMMLab's libraries (mmcv, mmengine): one key a line, at the head of their logs too."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from . import python_repr, torch_config, torch_rows
from .format import Reading, Text
from .plain import FENCE
from .words import switch_fact

NAME = "openmmlab-collect-env"
MADE_BY = "python -m mmengine.utils.dl_utils.collect_env, or the head of a log of OpenMMLab"

#: row -> distribution, where its name is not the row's in lower case.
_DISTRIBUTIONS = {
    "torchvision": "torchvision", "opencv": "opencv", "mmdetection": "mmdet", "mmdetection3d": "mmdet3d",
    "mmclassification": "mmcls", "mmtracking": "mmtrack", "mmediting": "mmedit", "mmgeneration": "mmgen",
}
_OPENMMLAB = re.compile(r"mm[a-z0-9]{2,20}")
_ROW = re.compile(r"(?:[-*\u2022] +)?(sys\.platform|Python|CUDA available|MUSA available|numpy_random_seed|CUDA_HOME"
                  r"|MUSA_HOME|NVCC|GCC|MSVC|PyTorch compiling details|PyTorch|TorchVision|OpenCV"
                  r"|GPU(?: \d{1,3}(?:,\d{1,3})*)?|MM[A-Za-z0-9]{2,20}|MMCV Compiler|MMCV CUDA Compiler) ?: ?(.*)")
_RUNTIME_TITLE = "Runtime environment:"
_RUNTIME_ROW = re.compile(r"(cudnn_benchmark|dist_cfg|mp_cfg|seed|deterministic|diff_rank_seed|Distributed launcher"
                          r"|Distributed training|GPU number) ?: ?(.*)")
_BACKEND = re.compile(r"['\"]backend['\"]: ?['\"]([a-z]{2,12})['\"]")
#: what torch calls the pieces that the rows call otherwise.
_SPELLING = {"CUDA available": "GPU available", "NVCC": "CUDA compiler"}
#: the beginning of the object that the function returns.
_OBJECT = re.compile(r"(?:OrderedDict\(\[\(|\{)\s{0,9}['\"](?:sys\.platform|CUDA available|CUDA_HOME)['\"]")
_LONGEST_OBJECT = 60_000
_DETAILS = "PyTorch compiling details"
_FEWEST = 4
_MOST_ROWS = 20
_MOST_LINES = 300
_GAP = 6


def read(text: Text) -> Reading | None:
    """Return what the first list states, and the settings of the run that newer logs print below it."""
    start = _first_row(text.lines) if _DETAILS in text.joined or "sys.platform" in text.joined else None
    printed = None if start is None else _printed(text.lines, start)
    return printed or _as_object(text)


def _as_object(text: Text) -> Reading | None:
    """Return what the object itself states, as Python prints it where nobody formats it."""
    begin = _OBJECT.search(text.joined)
    rows = python_repr.lines(text.joined[begin.start():begin.start() + _LONGEST_OBJECT]) if begin else []
    values: torch_rows.Values = {}
    for match in filter(None, (_ROW.fullmatch(row[:2000]) for row in rows)):
        values.setdefault(_SPELLING.get(match[1], match[1]), match[2].strip())
    if begin is None or len(values) < _FEWEST:
        return None
    notes: list[str] = []
    below = torch_config.find([*rows, ""])
    sections = torch_rows.sections(values, _distributions(values), below[0] if below else None, notes)
    return Reading(NAME, sections, tuple(notes), text.joined.count("\n", 0, begin.start()), keys=len(values))


def _first_row(lines: Sequence[str]) -> int | None:
    """Return where the first list begins: at its own first row, or at the second where somebody left that out."""
    for number, line in enumerate(lines):
        if line[:40].lstrip("-* ").startswith(("sys.platform", "Python")) and _ROW.fullmatch(line[:2000]):
            below = lines[number + 1:number + _MOST_ROWS]
            if "sys.platform" in line[:40] or (below and below[0].lstrip("-* ").startswith("CUDA available")
                                               and any(_DETAILS in row[:60] for row in below)):
                return number
    return None


def _printed(lines: Sequence[str], start: int) -> Reading | None:
    """Return what the list of rows that begins at ``start`` states."""
    values, end = _list(lines, start)
    if len(values) < _FEWEST:
        return None
    notes: list[str] = []
    below = torch_config.find(lines[:start + _MOST_LINES], start)
    sections = torch_rows.sections(values, _distributions(values), below[0] if below else None, notes)
    sections.update(runtime(lines, end))
    return Reading(NAME, sections, tuple(notes), start, not any(lines[end:]), len(values))


def _list(lines: Sequence[str], start: int) -> tuple[torch_rows.Values, int]:
    """Return the rows below ``start``, the block on torch's build among them, and where they end."""
    values: torch_rows.Values = {}
    end = start
    for number in range(start, min(len(lines), start + _MOST_LINES)):
        line = lines[number]
        match = _ROW.fullmatch(line[:2000])
        if match is not None and number < len(lines) - 1:
            if match[1] == "sys.platform" and values:
                break
            values.setdefault(_SPELLING.get(match[1], match[1]), match[2].strip())
            end = number + 1
        elif line in (FENCE, _RUNTIME_TITLE) or number - end > _MOST_LINES // 3:
            break
    return values, end


def _distributions(values: torch_rows.Values) -> list[tuple[str, str]]:
    """Return the distributions that rows name; the commit behind their version is that of the working folder."""
    found = []
    for key, value in values.items():
        name = key.lower()
        told = torch_rows.version(value)
        if told is None or not (name in _DISTRIBUTIONS or _OPENMMLAB.fullmatch(name)):
            continue
        found.append((_DISTRIBUTIONS.get(name, name), told if name == "torchvision" else told.partition("+")[0]))
    return found


def runtime(lines: Sequence[str], start: int) -> dict[str, dict[str, Any]]:
    """Return the settings of the run, which the log prints below the list."""
    title = next((number for number in range(start, min(len(lines), start + _GAP)) if lines[number] == _RUNTIME_TITLE),
                 None)
    if title is None:
        return {}
    rows = (_RUNTIME_ROW.fullmatch(line[:2000]) for line in lines[title + 1:min(title + 20, len(lines) - 1)])
    values = {match[1]: match[2].strip() for match in rows if match}
    result: dict[str, dict[str, Any]] = {}
    benchmark = switch_fact(values.get("cudnn_benchmark"))
    if isinstance(benchmark, bool):
        result["determinism"] = {"cudnn_benchmark": benchmark}
    spread = switch_fact(values.get("Distributed training"))
    backend = _BACKEND.search(values.get("dist_cfg", ""))
    if spread is False:
        result["collectives"] = {"backend": None}
    elif spread is True and backend:
        result["collectives"] = {"backend": backend[1]}
    if re.fullmatch(r"[1-9]\d{0,5}", values.get("GPU number", "")):
        result["program.layout"] = {"world_size": int(values["GPU number"])}
    return result
