"""The CUDA driver's library as a process has it mapped: version, and whether it is that of forward compatibility."""

from __future__ import annotations

from ..fingerprint.facts import unread
from .library_files import version_in_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: names of folders that the compatibility package is unpacked into, by NVIDIA's packages and by conda's.
_COMPAT_FOLDERS = frozenset(("compat", "cuda-compat"))


def described(path: str) -> tuple[Any, bool]:
    """Return version and whether it is the compatibility library, from the path with all links followed.

    A name like ``libcuda.so.1.1`` (Jetson, WSL) tells no version of the driver.
    """
    version = version_in_name(path)
    told = version is not None and len(version.partition(".")[0]) >= 3
    return version if told else unread("not-reported"), not _COMPAT_FOLDERS.isdisjoint(path.split("/")[:-1])
