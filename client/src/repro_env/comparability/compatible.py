"""What can stand together: drivers with CUDA versions and GPUs, cuDNN and NumPy with builds of torch.

Pure knowledge on versions, shared by the rules on contradictions and by ``doctor``. Each function takes values that
were read and returns words for what cannot be, or ``None``.
"""

from __future__ import annotations

import re
from functools import lru_cache

from .versions import Release, local_label, older, public, release

#: CUDA version -> oldest driver that serves it. From CUDA 11 on one branch serves a whole major version (CUDA release
#: notes, minimum required driver for minor version compatibility); before, each version had a driver of its own.
OLDEST_DRIVER: tuple[tuple[Release, Release], ...] = (
    ((13, 0), (580,)), ((12, 0), (525,)), ((11, 0), (450,)), ((10, 2), (440, 33)), ((10, 1), (418, 39)),
    ((10, 0), (410, 48)), ((9, 2), (396, 26)), ((9, 1), (390, 46)), ((9, 0), (384, 81)), ((8, 0), (367, 48)),
)
#: compute capability -> first driver branch with devices of it (driver release notes); the next lower one counts.
FIRST_DRIVER: tuple[tuple[Release, int], ...] = (
    ((12, 0), 570), ((11, 0), 570), ((10, 0), 560), ((9, 0), 510), ((8, 9), 520), ((8, 6), 455), ((8, 0), 440),
    ((7, 5), 410), ((7, 0), 384),
)
#: (torch releases, local labels of its wheels, cuDNN they were compiled against): metadata of the wheels.
_CUDNN_OF_WHEELS: tuple[tuple[tuple[str, ...], tuple[str, ...], Release], ...] = (
    (("2.0",), ("cu117",), (8, 5)), (("2.0", "2.1", "2.2", "2.3"), ("cu118",), (8, 7)),
    (("2.1", "2.2", "2.3"), ("cu121",), (8, 9)), (("2.4", "2.5"), ("cu118", "cu121", "cu124"), (9, 1)),
    (("2.6",), ("cu118", "cu124"), (9, 1)), (("2.6", "2.7"), ("cu126",), (9, 5)), (("2.7",), ("cu118",), (9, 1)),
    (("2.7",), ("cu128",), (9, 7)), (("2.8",), ("cu126", "cu128", "cu129"), (9, 10)),
    (("2.9",), ("cu126", "cu128"), (9, 10)), (("2.9",), ("cu130",), (9, 13)),
)
#: first torch release -> oldest cuDNN that any builder gave it, where the wheel is not known.
_CUDNN_OF_ANY: tuple[tuple[str, Release], ...] = (("2.6", (9, 0)), ("2.0", (8, 0)), ("1.3", (7, 0)))
#: first torch release whose builds know the interface of NumPy 2.
NUMPY_2_SINCE = "2.3"
_CUDA_LABEL = re.compile(r"cu(\d{1,2})(\d)")
_ROCM_LABEL = re.compile(r"rocm(\d+\.\d+(?:\.\d+)?)")


def cuda_of_label(version: str) -> str | None:
    """Return the CUDA version that a local label names ("2.3.1+cu121" → "12.1"), ``None`` where it names none."""
    match = _CUDA_LABEL.fullmatch(local_label(version) or "")
    return f"{int(match[1])}.{match[2]}" if match else None


def rocm_of_label(version: str) -> str | None:
    """Return the ROCm version that a local label names ("2.5.1+rocm6.2" → "6.2")."""
    match = _ROCM_LABEL.fullmatch(local_label(version) or "")
    return match[1] if match else None


def served_cuda(driver: str) -> Release:
    """Return the newest CUDA version of ``OLDEST_DRIVER`` that a driver serves; empty where it serves none of them."""
    return next((cuda for cuda, oldest in OLDEST_DRIVER if release(driver) >= oldest), ())


def label_against_build(version: str, cuda: str | None, rocm: str | None) -> str | None:
    """Hold the local label of a torch against the CUDA and ROCm versions it was built with."""
    label = local_label(version) or ""
    named_cuda, named_rocm = cuda_of_label(version), rocm_of_label(version)
    if named_cuda and (cuda is None or release(cuda)[:2] != release(named_cuda)):
        return f"torch {version} is a build for CUDA {named_cuda}, not {_build(cuda, rocm)}"
    if named_rocm and (rocm is None or not _begins(rocm, named_rocm)):
        return f"torch {version} is a build for ROCm {named_rocm}, not {_build(cuda, rocm)}"
    if label.startswith("cpu") and (cuda or rocm):
        return f"torch {version} is a build for the processor alone, not {_build(cuda, rocm)}"
    return None


def _begins(version: str, with_release: str) -> bool:
    return release(version)[:2] == release(with_release)[:2]


def _build(cuda: str | None, rocm: str | None) -> str:
    return f"for CUDA {cuda}" if cuda else f"for ROCm {rocm}" if rocm else "for the processor alone"


def driver_against_build(driver: str, cuda_build: str) -> str | None:
    """Hold a driver against the CUDA version a framework was built with; a compat libcuda is the caller's matter."""
    wanted = release(cuda_build)[:2]
    oldest = next((driver_of for cuda, driver_of in OLDEST_DRIVER if wanted >= cuda), ())
    if not wanted or not release(driver) or release(driver) >= oldest:
        return None
    return (f"torch was built for CUDA {cuda_build}, which needs driver "
            f"{'.'.join(map(str, oldest))} or newer; the driver is {driver}")


def driver_against_device(driver: str, capability: str, name: str) -> str | None:
    """Hold a driver against a GPU: a driver older than the architecture does not know it."""
    first = next((branch for target, branch in FIRST_DRIVER if release(capability) >= target), 0)
    if not release(driver) or release(driver)[0] >= first:
        return None
    return f"driver {driver} is older than {name} (compute capability {capability}), which needs {first} or newer"


@lru_cache(maxsize=256)
def cudnn_of(version: str, *, is_wheel: bool) -> Release:
    """Return the major and minor version of cuDNN that a torch was compiled against, or the oldest it may have been.

    Exact for a wheel with a label of ``_CUDNN_OF_WHEELS``; empty where nothing is known. ``is_wheel`` lets a version
    without label count as any wheel of its release.
    """
    minor, label = release(version)[:2], local_label(version)
    known = [cudnn for releases, labels, cudnn in _CUDNN_OF_WHEELS
             if minor in {release(item) for item in releases} and (label in labels or (label is None and is_wheel))]
    if known:
        return min(known)
    if label is not None:
        return ()
    return next((cudnn for since, cudnn in _CUDNN_OF_ANY if not older(version, since)), ())


def cudnn_against_torch(version: str, cudnn: str, *, is_wheel: bool) -> str | None:
    """Hold a cuDNN against a torch: it must not be older than what torch was compiled against.

    torch itself refuses an older one when it first needs it, and one of another major version.
    """
    wanted, have = cudnn_of(version, is_wheel=is_wheel), release(cudnn)[:2]
    if not wanted or not have or have >= wanted:
        return None
    return f"torch {version} needs cuDNN {wanted[0]}.{wanted[1]} or newer, not {cudnn}"


def numpy_against_torch(version: str, numpy: str) -> str | None:
    """Hold a NumPy against a torch: builds before 2.3 do not know the interface of NumPy 2."""
    if not older(version, NUMPY_2_SINCE) or older(numpy, "2") or not release(version):
        return None
    return f"torch {public(version)} was built for NumPy 1, and NumPy is {numpy}"
