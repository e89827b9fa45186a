"""From a list of packages to facts: what pip's and conda's lists, requirements and environment files have in common.

Owns what a package's name, version and build prove. How a list is written is left to the module of its format.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ..fingerprint.facts import is_unread
from ..probes.distributions import parse_origin
from ..probes.keys import FRAMEWORK, FRAMEWORKS, LIBRARY, blank_of
from . import rows, software
from .rows import Row, normalised
from .words import NOT_RECORDED

#: framework -> distributions that bring it, the surest first.
_FRAMEWORKS: dict[str, tuple[str, ...]] = {
    "torch": ("torch",), "jax": ("jax",),
    "tensorflow": ("tensorflow", "tensorflow-gpu", "tensorflow-cpu", "tensorflow-macos", "intel-tensorflow",
                   "tensorflow-rocm", "tf-nightly", "tf-nightly-gpu", "tf-nightly-cpu"),
    "numpy": ("numpy",), "scipy": ("scipy",), "scikit_learn": ("scikit-learn",),
}
_WITHOUT_CUDA = frozenset(("tensorflow-cpu", "tensorflow-macos", "intel-tensorflow", "tensorflow-rocm",
                           "tf-nightly-cpu"))
_CUDA_LABEL = re.compile(r"cu(\d{1,2})(\d)(?=$|[._-])")
_ROCM_LABEL = re.compile(r"rocm(\d+\.\d+(?:\.\d+)?)")
#: CUDA in conda's build strings: ``py3.9_cuda11.8_cudnn8.7.0_0`` of the channel pytorch, ``cuda112py39h…`` of others.
_CUDA_BUILD = re.compile(r"(?:^|_)cuda?(?:(\d+\.\d+(?:\.\d+)?)|(\d{1,2})(\d))(?=_|py|h[0-9a-f]|$)")
_CPU_BUILD = re.compile(r"(?:^|_)(?:cpu|mkl|eigen)(?=_|py|$)")
#: packages that conda has for one platform only -> system and machine.
_PLATFORM_PACKAGES = {
    "ld-impl-linux-64": ("linux", "x86_64"), "ld-impl-linux-aarch64": ("linux", "aarch64"),
    "libgcc-mutex": ("linux", None), "libgcc-ng": ("linux", None), "libstdcxx-ng": ("linux", None),
    "vs2015-runtime": ("windows", None), "ucrt": ("windows", None), "vc14-runtime": ("windows", None),
    "m2w64-gcc-libs": ("windows", None), "appnope": ("macos", None),
}
_PLATFORMS = {"linux": "linux", "osx": "macos", "win": "windows"}
_MACHINES = {"64": "x86_64", "32": "i686", "arm64": "arm64", "aarch64": "aarch64", "ppc64le": "ppc64le",
             "s390x": "s390x", "armv7l": "armv7l"}
_PYTHON = re.compile(r"\d+\.\d+(?:\.\d+)?(?:a\d+|b\d+|rc\d+)?")
_WHEEL_NAME = re.compile(r"/([A-Za-z0-9][\w.]*)-([^-/]+)(?:-\d[^-/]*)?-[^-/]+-[^-/]+-[^-/]+\.whl$")
_COMMIT = re.compile(r"[0-9a-f]{7,64}")

Sections = dict[str, dict[str, Any]]


def sections(found: list[Row], notes: list[str], *, whole: bool | None = False) -> Sections:
    """Return what the rows state.

    ``whole``: the list surely holds everything that is installed; ``None``: it does unless the end is missing.
    """
    believed = rows.chosen(found, notes)
    frameworks = {name: framework(name, believed, whole=whole is True) for name in FRAMEWORKS}
    result: Sections = {"distributions": rows.listed(believed, complete=whole), "frameworks": frameworks,
                        "libraries": libraries(believed, frameworks["torch"], notes)}
    python = believed.get("python")
    if python is not None and python.conda and not python.by_pip:
        result["python"] = of_conda_python(python)
    platform = platform_of(believed)
    if platform is not None:
        result.update(of_platform(*platform))
    return result


def is_followed(lines: Sequence[str], end: int) -> bool:
    """Tell whether something stands below a list that ends before line ``end``: then nothing of it is missing.

    What could be the beginning of a row, and the unfinished last line of a text, do not show that.
    """
    return any(lines[end:-1]) and not lines[end][:1].isalnum()


def framework(name: str, believed: dict[str, Row], *, whole: bool) -> Any:
    """Return the facts of one framework; ``None`` where the whole list does not hold it."""
    row = next((believed[key] for key in _FRAMEWORKS[name] if key in believed), None)
    if row is None:
        return None if whole else NOT_RECORDED
    version = row.version if row.version is not None else NOT_RECORDED
    facts = {**blank_of(FRAMEWORK, "not-recorded"), "version": version, "build": build(row)}
    if name in ("numpy", "scipy", "scikit_learn"):
        return {**facts, "cuda_build": None, "rocm_build": None, "arch_list": None}
    if name == "torch" and row.version is not None:
        facts["revision"] = software.revision(row.version)
    if name != "jax":
        facts.update(accelerated(row))
    return facts


def build(row: Row) -> Any:
    """Return where a framework came from, as far as its row proves it: pip's own list holds conda's packages too."""
    _, _, label = (row.version or "").partition("+")
    if row.conda and not row.by_pip:
        return "conda"
    if re.search(r"\.?nv\d\d\.\d", label):
        return "vendor"
    if row.source.get("editable") is True or isinstance(row.source.get("revision"), str):
        return "source"
    if re.match(r"cu\d|cpu|rocm\d|xpu", label) or row.conda:
        return "wheel"
    return NOT_RECORDED if is_unread(software.revision(row.version or "")) else "source"


def accelerated(row: Row) -> dict[str, Any]:
    """Return the CUDA and ROCm versions that a row says its framework was built with."""
    if row.name in _WITHOUT_CUDA:
        return _built(None, NOT_RECORDED if "rocm" in row.name else None)
    _, _, label = (row.version or "").partition("+")
    by_label = _CUDA_LABEL.match(label)
    if by_label:
        return _built(f"{by_label[1]}.{by_label[2]}", None)
    rocm = _ROCM_LABEL.match(label)
    if rocm:
        return _built(None, rocm[1])
    if label.startswith(("cpu", "xpu")):
        return _built(None, None)
    if row.by_pip:
        return {}
    by_build = _CUDA_BUILD.search(row.build)
    if by_build:
        return _built(by_build[1] or f"{by_build[2]}.{by_build[3]}", None)
    return _built(None, None) if _CPU_BUILD.search(row.build) else {}


def _built(cuda: Any, rocm: Any) -> dict[str, Any]:
    return {"cuda_build": cuda, "rocm_build": rocm,
            "arch_list": None if cuda is None and rocm is None else NOT_RECORDED}


def libraries(believed: dict[str, Row], torch: Any, notes: list[str]) -> dict[str, Any]:
    """Return the libraries that rows install: NVIDIA's wheels of one CUDA, conda's packages, the cuDNN within torch."""
    known = isinstance(torch, dict) and not is_unread(torch)
    cuda = torch["cuda_build"] if known else NOT_RECORDED
    kind = _wheels_of(torch["build"] if known else NOT_RECORDED, cuda, believed, notes)
    facts: dict[str, Any] = {}
    for name, row in believed.items():
        library = software.library_of(name, row, kind if row.by_pip else "conda", cuda)
        if library and row.version is not None and library not in facts:
            facts[library] = {**blank_of(LIBRARY, "not-recorded"), "installed": row.version,
                              "found": "wheel" if row.by_pip else "conda"}
    bundled = software.CUDNN_OF_BUILD.search(believed["torch"].build) if "torch" in believed else None
    if bundled:
        facts["cudnn"] = {**blank_of(LIBRARY, "not-recorded"), "installed": bundled[1],
                          "compiled_against": bundled[1], "found": "conda"}
    return facts


def _wheels_of(build: Any, cuda: Any, believed: dict[str, Row], notes: list[str]) -> Any:
    """Return ``wheel`` where NVIDIA's wheels are what the frameworks load, else the build of torch."""
    majors = {name.rpartition("-cu")[2] for name in believed if re.fullmatch(r"nvidia-[a-z-]+-cu\d\d", name)}
    if len(majors) > 1 and not isinstance(cuda, str):
        notes.append("NVIDIA's wheels of more than one CUDA are listed: none is taken for the one in use")
        return build
    return build if build in ("conda", "source", "vendor") else "wheel"


def of_conda_python(row: Row) -> dict[str, Any]:
    """Return the section ``python`` of an environment of conda."""
    match = _PYTHON.fullmatch(row.version or "")
    facts: dict[str, Any] = {"version": match[0] if match else NOT_RECORDED, "environment": "conda"}
    if row.build.endswith(("_cpython", "_cp313t", "_cp314t")):
        facts.update(implementation="cpython", free_threaded=row.build.endswith("t"))
    elif "pypy" in row.build:
        facts["implementation"] = "pypy"
    return facts


def platform_of(believed: dict[str, Row]) -> tuple[str, str | None] | None:
    """Return system and machine where packages for one platform alone show them."""
    found = [_PLATFORM_PACKAGES[name] for name, row in believed.items()
             if name in _PLATFORM_PACKAGES and row.conda and not row.by_pip]
    if len({system for system, _ in found}) != 1:
        return None
    machines = {machine for _, machine in found if machine}
    return found[0][0], machines.pop() if len(machines) == 1 else None


def platform(name: str) -> tuple[str, str | None] | None:
    """Return system and machine of conda's name of a platform, such as ``linux-64``."""
    system, dash, machine = name.strip().partition("-")
    return (_PLATFORMS[system], _MACHINES.get(machine)) if dash and system in _PLATFORMS else None


def of_platform(system: str, machine: str | None) -> Sections:
    """Return the sections that state system and machine."""
    return {"system": {"os_family": system}, **({"cpu": {"architecture": machine}} if machine else {})}


def pip_row(name: str, version: str | None, **source: Any) -> Row:
    """Return a row of pip's."""
    return Row(normalised(name), version, conda=False, source=source)


def from_address(name: str, address: str) -> Row:
    """Return the row of a distribution that was installed from an address: a repository, a wheel, a folder.

    The path of a local folder is not kept: it says who built, not what.
    """
    kind, plus, url = address.partition("+")
    vcs = kind if plus and kind in ("git", "hg", "bzr", "svn") else None
    if vcs is None:
        wheel = _WHEEL_NAME.search(address.partition("#")[0].partition("?")[0])
        version = _unquoted(wheel[2]) if wheel and normalised(wheel[1]) == normalised(name) else None
        if address.startswith(("file:", "/", ".")):
            return pip_row(name, version)
        return pip_row(name, version, **parse_origin({"url": address.partition("#")[0]}))
    url = url.partition("#")[0]
    folder, slash, last = url.rpartition("/")
    last, _, reference = last.partition("@")
    commit = reference if _COMMIT.fullmatch(reference) else None
    facts = parse_origin({"url": f"{folder}{slash}{last}", "vcs_info": {"vcs": vcs, "commit_id": commit}})
    return pip_row(name, None, **{**facts, "revision": commit or NOT_RECORDED})


def _unquoted(version: str) -> str:
    return version.replace("%2B", "+").replace("%2b", "+").replace("%21", "!")
