"""Frameworks, libraries, Python and operating system as a collect_env text states them."""

from __future__ import annotations

import re
from typing import Any

from ..fingerprint.facts import is_unread
from ..probes.keys import FRAMEWORK, LIBRARY, blank, blank_of
from .cudnn import system_cudnn
from .dump import Dump
from .rows import Packages, Row, conda_build
from .words import NOT_RECORDED, NOT_REPORTED, is_silent, switch_fact, version_fact

_REVISION = re.compile(r"(?:git)?([0-9a-f]{7,40})(?=[._]|$)")
_DESCRIBED = re.compile(r"(?:_g|\.git)([0-9a-f]{7,40})$")
#: package of a CUDA wheel, without "nvidia-" and "-cu12" -> library.
_WHEELS = {"cuda-runtime": "cuda_runtime", "cublas": "cublas", "cudnn": "cudnn", "cufft": "cufft",
           "cusolver": "cusolver", "cusparse": "cusparse", "nccl": "nccl", "nvjitlink": "nvjitlink",
           "cuda-nvrtc": "nvrtc"}
_CONDA = {"cudatoolkit": "cuda_runtime", "cuda-cudart": "cuda_runtime", "libcublas": "cublas", "cudnn": "cudnn",
          "libcufft": "cufft", "libcusolver": "cusolver", "libcusparse": "cusparse", "nccl": "nccl",
          "libnvjitlink": "nvjitlink", "cuda-nvrtc": "nvrtc"}
#: listed alike for every build, by pip and by conda.
_ANY = {"mkl": "mkl", "triton": "triton", "pytorch-triton": "triton", "torchtriton": "triton",
        "pytorch-triton-rocm": "triton", "pytorch-triton-xpu": "triton", "triton-windows": "triton",
        "intel-openmp": "openmp", "libopenblas": "openblas", "openblas": "openblas"}
_NVIDIA_WHEEL = re.compile(r"nvidia-([a-z-]+?)(?:-cu(\d{2}))?")
CUDNN_OF_BUILD = re.compile(r"_cudnn(\d[\d.]*)_\d+$")


def frameworks(dump: Dump, found: Packages, notes: list[str]) -> dict[str, Any]:
    """Return the section ``frameworks``: torch by its own word, NumPy by its row; the program's backend is not told."""
    facts = blank("frameworks", "not-recorded")
    facts["torch"] = torch(dump, found, notes)
    numpy = found.version("numpy")
    if numpy:
        facts["numpy"] = {**blank_of(FRAMEWORK, "not-recorded"), "version": numpy, "cuda_build": None,
                          "rocm_build": None, "arch_list": None}
    return facts


def torch(dump: Dump, found: Packages, notes: list[str]) -> Any:
    """Return the facts of torch. Its line wins over package rows; "N/A" means that Python could not import it."""
    told = dump.value("PyTorch version")
    row = found.version("torch")
    version = version_fact(told.partition(" (")[0] if told else told)
    if told is not None and is_unread(version):
        notes.append("torch could not be imported where the text was written")
        if row is None:
            return None if found.pip_is_whole and told.upper() == "N/A" else NOT_REPORTED
    if is_unread(version):
        if row is None:
            return NOT_RECORDED if told is None else NOT_REPORTED
        return {**blank_of(FRAMEWORK, "not-recorded"), "version": row}
    if row is not None and not same_version(row, version):
        notes.append(f"torch says it is {version}, its package row says {row}: the first is believed")
    if found.version("pytorch"):
        notes.append(f"a package named pytorch ({found.version('pytorch')}) is listed beside torch: it is not torch")
    cuda, rocm = cuda_build(dump), rocm_build(dump)
    return {**blank_of(FRAMEWORK, "not-recorded"), "version": version, "revision": revision(version),
            "cuda_build": cuda, "rocm_build": rocm, "build": build(dump, found, version),
            "arch_list": None if cuda is None and rocm is None else NOT_RECORDED,
            "debug": switch_fact(dump.value("Is debug build"))}


def same_version(row: str, told: str) -> bool:
    """Tell whether a package row can be the version torch told: PEP 440 spells labels with dots, pip may drop them."""
    public, _, label = re.sub(r"[-_]", ".", row.lower()).partition("+")
    told_public, _, told_label = re.sub(r"[-_]", ".", told.lower()).partition("+")
    return public == told_public and label in ("", told_label)


def cuda_build(dump: Dump) -> Any:
    """Return the CUDA version torch was built with; "None" is a build without, and a ROCm build is one too."""
    told, rocm = dump.value("CUDA used to build PyTorch"), dump.value("ROCM used to build PyTorch")
    if told is not None and told.lower() in ("none", "no cuda"):
        return None
    if rocm is not None and not is_silent(rocm):
        return None
    return version_fact(told)


def rocm_build(dump: Dump) -> Any:
    """Return the ROCm version torch was built with; a build with or without CUDA that says N/A has none."""
    told, cuda = dump.value("ROCM used to build PyTorch"), dump.value("CUDA used to build PyTorch")
    if cuda is not None and not is_silent(cuda):
        return None
    if told is None or not is_silent(told):
        return version_fact(told)
    return None if cuda is not None and cuda.lower() in ("none", "no cuda") else NOT_REPORTED


def revision(version: str) -> Any:
    """Return the commit that the local label of a version names."""
    _, _, label = version.partition("+")
    match = _DESCRIBED.search(label) or _REVISION.match(label)
    return match[1] if match else NOT_RECORDED


def build(dump: Dump, found: Packages, version: str) -> Any:
    """Return where torch came from, as its version and its rows prove it."""
    _, _, label = version.partition("+")
    if re.search(r"\.?nv\d\d\.\d", label):
        return "vendor"
    if label.startswith(("cu", "cpu", "rocm", "xpu")):
        return "wheel"
    if not is_unread(revision(version)):
        return "source"
    if conda_build(dump, version):
        return "conda"
    row = found.rows.get("torch")
    return "wheel" if row and row.by_pip and row.version == version and found.conda_reaches_torch else NOT_RECORDED


def libraries(dump: Dump, found: Packages, torch_facts: Any, notes: list[str]) -> dict[str, Any]:
    """Return the section ``libraries``.

    The text's "CUDA runtime version" is the compiler on the machine, its cuDNN files are the system's: neither is what
    torch loads. That is told by the wheels a torch wheel brings along, or by conda's build of torch.
    """
    facts = blank("libraries", "not-recorded")
    facts["cuda_toolkit"] = version_fact(dump.value("CUDA runtime version"))
    facts["system_cudnn"] = system_cudnn(dump, notes)
    known = isinstance(torch_facts, dict) and not is_unread(torch_facts)
    kind = torch_facts["build"] if known else NOT_RECORDED
    cuda = torch_facts["cuda_build"] if known else NOT_RECORDED
    for name, row in found.rows.items():
        library = library_of(name, row, kind, cuda)
        if library and row.version is not None and is_unread(facts[library]):
            facts[library] = {**blank_of(LIBRARY, "not-recorded"), "installed": row.version,
                              "found": "wheel" if row.by_pip else "conda"}
    own = conda_build(dump, torch_facts["version"]) if known and isinstance(torch_facts["version"], str) else None
    bundled = CUDNN_OF_BUILD.search(own.build) if own else None
    if bundled:
        facts["cudnn"] = {**blank_of(LIBRARY, "not-recorded"), "installed": bundled[1],
                          "compiled_against": bundled[1], "found": "conda"}
    miopen = version_fact(dump.value("MIOpen runtime version"))
    if isinstance(miopen, str):
        facts["miopen"] = {**blank_of(LIBRARY, "not-recorded"), "compiled_against": miopen}
    return facts


def library_of(name: str, row: Row, kind: Any, cuda: Any) -> str | None:
    """Return the library that a row installs for this torch: a wheel of another CUDA major is somebody else's."""
    if row.build == "?":
        return None
    if name in _ANY:
        return _ANY[name]
    if name in _CONDA:
        return None if kind == "wheel" or row.by_pip else _CONDA[name]
    wheel = _NVIDIA_WHEEL.fullmatch(name)
    if wheel is None or kind != "wheel":
        return None
    major = wheel[2] or (row.version or "").partition(".")[0]
    if isinstance(cuda, str) and wheel[2] and major != cuda.partition(".")[0]:
        return None
    return _WHEELS.get(wheel[1])
