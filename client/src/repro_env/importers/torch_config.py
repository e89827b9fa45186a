"""The block "PyTorch built with:" of ``torch.__config__.show()``, which several reports carry at their end.

What it calls "CUDA Runtime" and "CuDNN" are the loaded libraries; what torch was built with stands beside them only
where it differs.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..probes.inprocess_build import build_flags
from ..probes.keys import FRAMEWORK, LIBRARY, blank_of
from .words import NOT_RECORDED

_TITLE = re.compile(r"(?:PyTorch compiling details\s*:\s*)?PyTorch built with:")
_BULLET = re.compile(r"[-*\u2022] +(\S.*)")
_RUNTIME = re.compile(r"CUDA Runtime (\d+\.\d+)(?:, built with CUDA Runtime (\d+\.\d+))?")
_HIP = re.compile(r"HIP Runtime (\d+(?:\.\d+)+)")
_CUDNN = re.compile(r"CuDNN (\d+(?:\.\d+)+)")
_CUDNN_BUILT = re.compile(r"Built with CuDNN (\d+(?:\.\d+)+)")
_MKL = re.compile(r"Intel\(R\) (?:oneAPI )?Math Kernel Library Version (\S+?)(?:-Product|\s|$)")
_DNN = re.compile(r"Intel\(R\) MKL-DNN v(\d[\w.]*)")
_MIOPEN = re.compile(r"MIOpen (\d+(?:\.\d+)+)")
_CAPABILITY = re.compile(r"CPU capability usage: (\S.*)")
_CODE = re.compile(r"code=\[?((?:sm|compute)_\d+[a-z]?)")
_SETTINGS = re.compile(r"Build settings: .*")
_ABI = re.compile(r"-D_GLIBCXX_USE_CXX11_ABI=([01])")
_NONE = frozenset(("0", "OFF"))
_MOST_BULLETS = 60

Sections = dict[str, dict[str, Any]]


def find(lines: Sequence[str], start: int = 0) -> tuple[Sections, int] | None:
    """Return what the first block below ``start`` states and how many lines it has.

    The very last line of the text is left out: the end may have broken it.
    """
    title = next((number for number in range(start, len(lines)) if _TITLE.match(lines[number][:200])), None)
    if title is None:
        return None
    end = title + 1
    while end < len(lines) and end - title < _MOST_BULLETS and (_BULLET.match(lines[end]) or not lines[end]):
        end += 1
    bullets = [match[1] for match in map(_BULLET.match, lines[title + 1:min(end, len(lines) - 1)]) if match]
    return sections(bullets), end - title


def sections(bullets: Sequence[str]) -> Sections:
    """Return the facts of torch, its libraries and the processor."""
    settings = next((bullet for bullet in bullets if _SETTINGS.match(bullet)), None)
    torch = {**blank_of(FRAMEWORK, "not-recorded"), **_build(bullets, settings)}
    result: Sections = {"frameworks": {"torch": torch}, "libraries": _libraries(bullets)}
    capability = _first(_CAPABILITY, bullets)
    if capability:
        result["cpu"] = {"torch_capability": "DEFAULT" if capability[1].upper() == "NO AVX" else capability[1]}
    return result


def _build(bullets: Sequence[str], settings: str | None) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    runtime, hip = _first(_RUNTIME, bullets), _first(_HIP, bullets)
    if runtime:
        facts.update(cuda_build=runtime[2] or runtime[1], rocm_build=None)
    if hip:
        facts["cuda_build"] = None
    architectures = [code for bullet in bullets if bullet.startswith("NVCC architecture flags")
                     for code in _CODE.findall(bullet)]
    if architectures:
        facts["arch_list"] = sorted(set(architectures))
    if settings is None:
        return facts
    flags = build_flags("\n".join(f"  - {bullet}" for bullet in bullets))
    facts["build_flags"] = flags
    if flags.get("USE_CUDA") in _NONE:
        facts["cuda_build"] = None
    if flags.get("USE_CUDA") in _NONE and flags.get("USE_ROCM") in _NONE:
        facts.update(cuda_build=None, rocm_build=None, arch_list=None)
    abi = _ABI.search(settings)
    if abi:
        facts["abi"] = "cxx11" if abi[1] == "1" else "pre-cxx11"
    return facts


def _libraries(bullets: Sequence[str]) -> dict[str, Any]:
    told: dict[str, dict[str, Any]] = {}
    runtime, cudnn, built = _first(_RUNTIME, bullets), _first(_CUDNN, bullets), _first(_CUDNN_BUILT, bullets)
    if runtime:
        told["cuda_runtime"] = {"loaded": runtime[1], "compiled_against": runtime[2] or runtime[1]}
    if cudnn:
        told["cudnn"] = {"loaded": cudnn_version(cudnn[1])}
        if built or cudnn.string != bullets[-1]:
            told["cudnn"]["compiled_against"] = cudnn_version((built or cudnn)[1])
    for name, pattern, key in (("mkl", _MKL, "loaded"), ("onednn", _DNN, "loaded"),
                               ("miopen", _MIOPEN, "compiled_against")):
        match = _first(pattern, bullets)
        if match:
            told[name] = {key: match[1]}
    return {name: {**blank_of(LIBRARY, "not-recorded"), **facts} for name, facts in told.items()}


def cudnn_version(printed: str) -> Any:
    """Return cuDNN's version from what torch prints: it takes the number of cuDNN 9 apart as that of cuDNN 8."""
    parts = [int(part[:6]) for part in printed.split(".")]
    parts += [0] * (3 - len(parts))
    number = parts[0] * 1000 + parts[1] * 100 + parts[2]
    if len(parts) > 3:
        return NOT_RECORDED
    if number >= 90_000:
        return f"{number // 10_000}.{number // 100 % 100}.{number % 100}"
    return ".".join(map(str, parts))


def _first(pattern: re.Pattern[str], bullets: Sequence[str]) -> re.Match[str] | None:
    return next((match for match in map(pattern.match, bullets) if match), None)
