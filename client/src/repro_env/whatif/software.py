"""Frameworks, libraries, switches and system of short facts, and what surely follows from them."""

from __future__ import annotations

import re
from typing import Any

from ..comparability.compatible import cuda_of_label
from ..comparability.versions import local_label, older
from ..errors import InvalidDocument
from .paths import ABSENT, OFF, ON, switch
from .stated import Stated

#: library -> what it is called, and a version in full.
LIBRARIES = (
    ("cudnn", "cuDNN", "cudnn=9.1.0"), ("cublas", "cuBLAS", "cublas=12.4.5"), ("nccl", "NCCL", "nccl=2.21.5"),
    ("cuda_runtime", "CUDA runtime", "cuda_runtime=12.4.127"), ("cufft", "cuFFT", "cufft=11.2.1"),
    ("cusolver", "cuSOLVER", "cusolver=11.6.1"), ("cusparse", "cuSPARSE", "cusparse=12.3.1"),
    ("nvrtc", "NVRTC", "nvrtc=12.4.127"), ("nvjitlink", "nvJitLink", "nvjitlink=12.4.127"),
    ("triton", "Triton", "triton=3.1.0"), ("mkl", "oneMKL", "mkl=2024.2"), ("onednn", "oneDNN", "onednn=3.5.3"),
    ("openblas", "OpenBLAS", "openblas=0.3.27"), ("miopen", "MIOpen", "miopen=3.2.0"),
    ("rocblas", "rocBLAS", "rocblas=4.2.0"), ("hipblaslt", "hipBLASLt", "hipblaslt=0.8.0"),
    ("rccl", "RCCL", "rccl=2.20.5"), ("hip_runtime", "HIP runtime", "hip_runtime=6.2.41133"),
)
#: libraries whose version counts with fewer than three numbers.
_PARTS = {"mkl": 2}
_VERSION = re.compile(r"v?(\d+(?:\.\d+)*)(?:[-.]?(?:a|b|rc|dev|post)\.?\d*)*(?:[+][0-9A-Za-z._-]+)?")
_NONE = ("none", *ABSENT)
#: distribution -> the framework of the document that it is.
FRAMEWORK_FACTS = {"torch": "torch", "jax": "jax", "tensorflow": "tensorflow", "numpy": "numpy", "scipy": "scipy",
                    "scikit-learn": "scikit_learn"}
#: what says whether products may use TF32.
_PRODUCTS = ("precision.allow_tf32_matmul", "precision.float32_matmul_precision", "precision.fp32_cuda_matmul")
_BACKENDS = ("cuda", "rocm", "mps", "xpu", "tpu", "cpu")
_CASTS = {"bf16": "bfloat16", "bfloat16": "bfloat16", "fp16": "float16", "float16": "float16", "half": "float16"}
_FULL = ("fp32", "float32", "full")
_FAMILIES = {"ubuntu": "linux", "debian": "linux", "rocky": "linux", "centos": "linux", "rhel": "linux",
             "red hat": "linux", "alma": "linux", "fedora": "linux", "suse": "linux", "arch": "linux",
             "amazon linux": "linux", "linux": "linux", "windows": "windows", "macos": "macos", "darwin": "macos"}
#: integer that torch and cuDNN print for a version, from this on with two digits more for the major one.
_CUDNN_9 = 90000


def version(key: str, text: str, parts: int, example: str) -> str:
    """Return a version of at least ``parts`` numbers; raise ``InvalidDocument`` for anything else."""
    match = _VERSION.fullmatch(text)
    if match is None or match[1].count(".") + 1 < parts:
        told = f"a version of at least {parts} numbers" if parts > 1 else "a version"
        raise InvalidDocument(key, f"expected {told}, as in {example}, got {text!r}")
    return text.removeprefix("v")


def versioned(path: str, parts: int, stated: Stated, key: str, text: str) -> None:
    """Read a version into one fact."""
    stated.put(key, path, version(key, text, parts, "3.11.7"))


def framework(name: str, stated: Stated, key: str, text: str) -> None:
    """Read a framework, or that it is surely not installed."""
    if text.lower() in _NONE:
        stated.put(key, f"frameworks.{FRAMEWORK_FACTS[name]}", None)
        return
    stated.row(key, name, version(key, text, 2, "2.3.1+cu121" if name == "torch" else "2.1.0"))


def distribution(stated: Stated, key: str, name: str, text: str) -> None:
    """Read one installed distribution."""
    stated.row(key, name, version(key, text, 1, "4.47.1"))


def library(name: str, stated: Stated, key: str, text: str) -> None:
    """Read a library that is installed and loaded, or that it is surely not there."""
    if text.lower() in _NONE:
        stated.put(key, f"libraries.{name}", None)
        return
    if name == "cudnn" and text.isdigit() and len(text) > 3:
        number = int(text)
        unit = 10000 if number >= _CUDNN_9 else 1000
        text = f"{number // unit}.{number % unit // 100}.{number % 100}"
    told = version(key, text, _PARTS.get(name, 3), next(row[2] for row in LIBRARIES if row[0] == name))
    stated.put(key, f"libraries.{name}.installed", told)
    stated.put(key, f"libraries.{name}.loaded", told)


def cuda(stated: Stated, key: str, text: str) -> None:
    """Read the CUDA version of the build, as 12.1 or cu121; of which framework it is follows from what is stated."""
    stated.claim(key, "cuda")
    label = cuda_of_label(f"0+{text.lower()}")
    stated.cuda = (None if text.lower() in _NONE else label or version(key, text, 2, "12.1"),)


def rocm(stated: Stated, key: str, text: str) -> None:
    """Read the ROCm version of torch's build."""
    told = None if text.lower() in _NONE else version(key, text.lower().removeprefix("rocm"), 2, "6.2")
    stated.put(key, "frameworks.torch.rocm_build", told)
    if told is not None:
        stated.follows("frameworks.torch.cuda_build", None)


def driver(stated: Stated, key: str, text: str) -> None:
    """Read the driver; its libcuda is of the same version, so no compat package stands in unless one is stated."""
    if text.lower() in _NONE:
        for fact in ("kernel_module", "user_libcuda", "compat", "cuda_level", "kernel_flavour"):
            stated.put(key, f"driver.{fact}", None)
        return
    stated.put(key, "driver.kernel_module", version(key, text, 1, "550.54.15"))


def backend(stated: Stated, key: str, text: str) -> None:
    """Read what the program computes on."""
    if text.lower() not in _BACKENDS:
        raise InvalidDocument(key, f"expected one of {', '.join(_BACKENDS)}, got {text!r}")
    stated.put(key, "frameworks.backend", text.lower())


def tf32(stated: Stated, key: str, text: str) -> None:
    """Read TF32 for products and convolutions; ``set_float32_matmul_precision`` says the same of products."""
    on = switch(key, text)
    stated.put(key, "precision.allow_tf32_matmul", on)
    stated.put(key, "precision.allow_tf32_cudnn", on)
    stated.follows("precision.float32_matmul_precision", "high" if on else "highest")


def precision(stated: Stated, key: str, text: str) -> None:
    """Read the arithmetic that the program asks for."""
    word = text.lower()
    if word in _CASTS:
        stated.put(key, "precision.autocast", _CASTS[word])
    elif word in (*_FULL, *OFF):
        stated.put(key, "precision.autocast", None)
        stated.full = word in _FULL
    elif word in ("fp64", "float64", "double"):
        stated.put(key, "precision.default_dtype", "float64")
    elif word in ("highest", "high", "medium"):
        stated.put(key, "precision.float32_matmul_precision", word)
        stated.follows("precision.allow_tf32_matmul", word != "highest")
    elif word == "tf32":
        tf32(stated, key, "on")
    else:
        raise InvalidDocument(key, "expected fp32, bf16, fp16, fp64, tf32, or highest, high, medium for products in "
                              f"float32, got {text!r}")
    if word not in _CASTS:
        stated.follows("precision.autocast", None)
    if word not in OFF:
        stated.follows("precision.default_dtype", "float32")


def deterministic(stated: Stated, key: str, text: str) -> None:
    """Read torch's deterministic mode; ``warn`` asks for it and only warns where there is none."""
    word = text.lower()
    if word not in ("warn", "warn_only", *ON, *OFF):
        raise InvalidDocument(key, f"expected on, off or warn, got {text!r}")
    stated.put(key, "determinism.deterministic_algorithms", word not in OFF)
    stated.put(key, "determinism.warn_only", word.startswith("warn"))


def system(stated: Stated, key: str, text: str) -> None:
    """Read the operating system; its family follows where the name tells it."""
    family = next((family for word, family in _FAMILIES.items() if word in text.lower()), None)
    if family is None:
        raise InvalidDocument(key, f"expected linux, windows, macos or a name such as 'Ubuntu 22.04', got {text!r}")
    stated.put(key, "system.os_family", family)
    if text.lower() not in _FAMILIES:
        stated.put(key, "system.os_name", text)


def libc(stated: Stated, key: str, text: str) -> None:
    """Read the C library: glibc where only a version is told."""
    stated.put(key, "system.libc", f"glibc {text}" if text[:1].isdigit() else text)


def image(stated: Stated, key: str, text: str) -> None:
    """Read a container image by its name, its digest, or both."""
    name, _, digest = text.rpartition("sha256:")
    if digest and (name or text.startswith("sha256:")):
        if not re.fullmatch(r"[0-9a-f]{64}", digest):
            raise InvalidDocument(key, f"expected sha256: and 64 hexadecimal digits, got {text!r}")
        stated.put(key, "container.image_digest", f"sha256:{digest}")
        stated.follows("container.learned", "claimed")
        name = name.rstrip("@")
    else:
        name = text
    if name:
        stated.put(key, "container.image_reference", name)


def follow(stated: Stated) -> None:
    """Add what surely follows: which framework a CUDA version is of, and the libcuda of a driver."""
    if stated.cuda is not None:
        _place_cuda(stated, stated.cuda[0])
    if stated.full and not any(map(stated.has, _PRODUCTS)) and _full_by_default(stated.version("torch")):
        stated.follows("precision.allow_tf32_matmul", value=False)
        stated.follows("precision.float32_matmul_precision", "highest")
    module: Any = stated.facts.get("driver.kernel_module")
    if module is not None and not stated.facts.get("driver.compat"):
        stated.follows("driver.user_libcuda", module)
        stated.follows("driver.compat", value=False)


def _full_by_default(torch: str | None) -> bool:
    """Tell whether products stay in full float32 by default: not before torch 1.12, nor in builds of NVIDIA."""
    return torch is None or not (older(torch, "1.12") or "nv" in (local_label(torch) or ""))


def _place_cuda(stated: Stated, told: str | None) -> None:
    """State a CUDA version of torch, else of TensorFlow, else of the runtime that JAX loads."""
    if stated.version("torch") is None and stated.version("tensorflow"):
        stated.put("cuda", "frameworks.tensorflow.cuda_build", told)
    elif stated.version("torch") is None and stated.version("jax"):
        if told is not None:
            stated.follows("libraries.cuda_runtime.installed", told)
    else:
        stated.put("cuda", "frameworks.torch.cuda_build", told)
        if told is not None:
            stated.follows("frameworks.torch.rocm_build", None)
