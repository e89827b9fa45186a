"""Section ``libraries``: numeric libraries as installed, from distributions, conda's records and files.

What a process loads is a matter of the process: ``loaded`` is unread here, and a file is only a candidate.
"""

from __future__ import annotations

import json
import os

from ..fingerprint.facts import is_captured, unread
from . import distributions
from .candidates import Candidates, described
from .frameworks import framework
from .keys import LIBRARIES, LIBRARY, blank_of
from .library_files import DISTRIBUTIONS, distributions_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..system import System
    from .look import Look

#: library -> names of conda packages.
_CONDA: dict[str, tuple[str, ...]] = {
    "cuda_runtime": ("cuda-cudart", "cudatoolkit"), "cublas": ("libcublas",), "cudnn": ("cudnn", "libcudnn"),
    "cufft": ("libcufft",), "cusolver": ("libcusolver",), "cusparse": ("libcusparse",), "nccl": ("nccl",),
    "nvjitlink": ("libnvjitlink",), "nvrtc": ("cuda-nvrtc",), "mkl": ("mkl",), "onednn": ("onednn",),
    "openblas": ("libopenblas",), "openmp": ("llvm-openmp", "intel-openmp", "libgomp"),
}
#: library -> start of the file names by which older wheels of torch carry it themselves.
_BUNDLED: dict[str, str] = {
    "cuda_runtime": "libcudart", "cublas": "libcublas", "cudnn": "libcudnn", "cufft": "libcufft",
    "cusolver": "libcusolver", "cusparse": "libcusparse", "nccl": "libnccl", "nvjitlink": "libnvJitLink",
    "nvrtc": "libnvrtc", "hip_runtime": "libamdhip64", "rocblas": "librocblas", "hipblaslt": "libhipblaslt",
    "miopen": "libMIOpen", "rccl": "librccl", "openmp": "libgomp",
}
_CUDA = ("cuda_runtime", "cublas", "cudnn", "cufft", "cusolver", "cusparse", "nccl", "nvjitlink", "nvrtc")
_ROCM = ("hip_runtime", "rocblas", "hipblaslt", "miopen", "rccl")
_SYSTEM_FOLDERS = ("/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib/aarch64-linux-gnu", "/usr/local/cuda/lib64")


def probe(system: System, look: Look) -> dict[str, Any]:
    """Return every library: as installed, ``None`` only where the whole environment was seen and cannot bring it."""
    look.sources["libraries"] = "distribution-metadata"
    look.sources["libraries.system_cudnn"] = look.sources["libraries.cuda_toolkit"] = "files"
    found = {**in_torch(system, look), **in_numpy(system, look), **in_conda(system, look), **in_wheels(system, look)}
    absent = surely_absent(system, look) - found.keys()
    if not look.in_process:
        add_candidates(Candidates(system, look), found, look)
    section: dict[str, Any] = {
        name: None if name in absent else found.get(name) or blank_of(LIBRARY, "not-loaded") for name in LIBRARIES
    }
    section.update(system_cudnn=system_cudnn(system), cuda_toolkit=cuda_toolkit(system),
                   unvetted_kernels=unread("not-loaded"))
    return section


def add_candidates(candidates: Candidates, found: dict[str, Any], look: Look) -> None:
    """Add the files that a loader could take to what distributions and conda's records tell.

    What was read from records stays where its own file would be taken (a version there has more parts than one in a
    name), and where no file of that place was found.
    """
    for name in LIBRARIES:
        if name not in candidates.found and name not in found:
            continue
        facts = described(candidates, name)
        known = found.setdefault(name, blank_of(LIBRARY, "not-loaded"))
        places = {candidate.place for candidate in candidates.found.get(name, ())}
        if is_captured(known["found"]) and (facts.get("found") == known["found"] or known["found"] not in places):
            facts.pop("found", None)
            if is_captured(known["installed"]) or known["found"] not in places:
                facts.pop("installed", None)
        known.update(facts)
        look.sources[f"libraries.{name}.candidates"] = "files"


def library(version: Any, found: str) -> dict[str, Any]:
    """Return a library known as installed."""
    return {**blank_of(LIBRARY, "not-loaded"), "installed": version, "found": found}


def in_wheels(system: System, look: Look) -> dict[str, Any]:
    """Return the libraries that distributions on the path bring."""
    installed = distributions.first_by_name(system, look)
    result = {}
    for name in DISTRIBUTIONS:
        for key in distributions_of(name):
            if key in installed:
                result[name] = library(installed[key].version or unread("not-reported"), "wheel")
                break
    return result


def in_conda(system: System, look: Look) -> dict[str, Any]:
    """Return the libraries that conda's records name: ``<name>-<version>-<build>.json`` below conda-meta."""
    if look.interpreter.environment != "conda":
        return {}
    records = {}
    for entry in system.list_dir(os.path.join(look.interpreter.prefix, "conda-meta")):
        parts = entry.rsplit("-", 2)
        if len(parts) == 3 and entry.endswith(".json"):
            records[parts[0]] = parts[1]
    return {name: library(records[key], "conda") for name, keys in _CONDA.items() for key in reversed(keys)
            if key in records}


def in_torch(system: System, look: Look) -> dict[str, Any]:
    """Return the libraries that lie in torch's own folder; their file names rarely tell a version."""
    folder = distributions.holding(system, look, "torch")
    try:
        names = system.list_dir(f"{folder}/torch/lib") if folder else []
    except OSError:
        return {}
    return {name: library(unread("not-reported"), "wheel") for name, start in _BUNDLED.items()
            if any(entry.startswith(start) and ".so" in entry for entry in names)}


def in_numpy(system: System, look: Look) -> dict[str, Any]:
    """Return the OpenBLAS that NumPy's build record names, where its wheel brings one."""
    folder = distributions.holding(system, look, "numpy")
    if not folder or distributions.holding(system, look, "numpy.libs") is None:
        return {}
    try:
        text = system.read_text(f"{folder}/numpy/__config__.py", 32768)
    except OSError:
        return {}
    version = blas_version(text)
    return {"openblas": library(version or unread("not-reported"), "wheel")} if "openblas" in text else {}


def blas_version(text: str) -> str | None:
    """Return the version after the first mention of OpenBLAS as a name in NumPy's ``__config__.py``."""
    _, found, rest = text.partition('"name": "scipy-openblas"')
    if not found:
        _, found, rest = text.partition('"name": "openblas')
    _, key, rest = rest.partition('"version": "') if found else ("", "", "")
    return rest.partition('"')[0] if key else None


def surely_absent(system: System, look: Look) -> frozenset[str]:
    """Return the libraries that nothing in the environment can load.

    Certain only where every folder of the path was read. CUDA's are absent where no framework was built with CUDA;
    JAX and TensorFlow are not asked, so their presence leaves it open. torch carries MKL and oneDNN inside itself.
    """
    _, complete = distributions.scan(system, look)
    if not complete:
        return frozenset()
    torch, jax, tensorflow = (framework(system, look, name) for name in ("torch", "jax", "tensorflow"))
    absent: list[str] = []
    others = {*distributions.first_by_name(system, look)} & {"cupy", "cupy-cuda12x", "cupy-cuda11x", "cupy-cuda13x",
                                                            "numba", "mxnet", "onnxruntime-gpu", "paddlepaddle-gpu"}
    if jax is None and tensorflow is None and not others:
        absent += _CUDA if torch is None or torch["cuda_build"] is None else ()
        absent += _ROCM if torch is None or torch["rocm_build"] is None else ()
        absent += ("triton",)
        if torch is None:
            absent += ("onednn",)
            numpy = framework(system, look, "numpy")
            absent += ("mkl", "openblas", "openmp") if numpy is None and not _has_blas_user(system, look) else ()
    return frozenset(absent)


def _has_blas_user(system: System, look: Look) -> bool:
    return is_captured(framework(system, look, "scipy")) or is_captured(framework(system, look, "scikit_learn"))


def system_cudnn(system: System) -> Any:
    """Return the versions of cuDNN files in system folders (not what torch's wheels load); ``None`` without any."""
    versions = set()
    for folder in _SYSTEM_FOLDERS:
        for major in ("7", "8", "9"):
            path = f"{folder}/libcudnn.so.{major}"
            if system.exists(path):
                versions.add(system.realpath(path).rpartition("libcudnn.so.")[2])
    return sorted(versions) or None


def cuda_toolkit(system: System) -> Any:
    """Return the version of the CUDA compiler on the machine; ``None`` without a toolkit."""
    if not system.exists("/usr/local/cuda"):
        return None if system.executable("nvcc") is None else unread("not-reported")
    try:
        versions = json.loads(system.read_text("/usr/local/cuda/version.json"))
        for part in ("cuda_nvcc", "cuda"):
            if isinstance(versions.get(part), dict) and isinstance(versions[part].get("version"), str):
                return versions[part]["version"]
    except (OSError, ValueError, AttributeError):
        return unread("not-reported")
    return unread("not-reported")
