"""Mapped extensions of which no rule knows anything: built on the spot, put there by hand, or of little-known origin.

Listed is whatever may compute on tensors. Left out are the interpreter and the system, distributions that rules know
by version, and code of an ordinary distribution that links nothing to compute with.
"""

from __future__ import annotations

import re

from . import elf, known_distributions
from .places import SYSTEM_FOLDERS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..system import System
    from .inprocess_libraries import Environment
    from .owners import Owner

_EXTENSION = re.compile(r"\.(so(\.[0-9.]+)?|dylib|pyd)( \(deleted\))?$")
#: products of compilation at run time: whether and how a program compiles is a fact of its own.
_COMPILED = re.compile(r"/torchinductor_[^/]+/|/\.triton/(cache|dump)/|/numba_cache/")
_CACHES = ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")
#: needed libraries that say: this computes on tensors, or with threads that add in any order.
_COMPUTING = tuple(f"lib{name}" for name in (
    "torch", "c10", "cudart", "cuda.", "cublas", "cudnn", "cufft", "curand", "cusolver", "cusparse", "nvrtc",
    "nvjitlink", "nccl", "amdhip", "hip", "roc", "rccl", "miopen", "gomp", "iomp5", "omp.", "omp-", "mkl", "dnnl",
    "tbb", "sycl", "ze_loader", "opencl", "blas", "cblas", "lapack", "blis", "flexiblas", "atlas", "satlas", "tatlas"))
#: folders of the system that hold what a person builds as well as what a vendor ships.
_BY_HAND = ("/usr/local/lib/", "/opt/")


def unvetted(environment: Environment) -> list[str]:
    """Return ``owner version@build-id`` of every mapped extension that nobody vouches for, ``file@build-id`` without.

    Raise ``OSError`` where one of them cannot be read: a list with a hole would say that there is nothing in it.
    """
    system = environment.system
    caches = tuple(system.realpath(folder) + "/" for folder in map(system.environ.get, _CACHES) if folder)
    sites = tuple(folder + "/" for folder in environment.owners.folders
                  if folder.endswith("-packages") and not folder.startswith("/usr/lib/python3/"))
    extensions = [path for path in environment.mapped if path not in environment.described
                  and _EXTENSION.search(path) and not _COMPILED.search(path) and not path.startswith(caches)]
    owners = environment.owners.of(path for path in extensions
                                   if path.startswith(sites) or not _settled(environment, path))
    return sorted({f"{owner or path.rpartition('/')[2]}@{elf.build_id(system, path)}" for path, owner in owners.items()
                   if not vouched_for(system, path, owner)})


def _settled(environment: Environment, path: str) -> bool:
    """Tell whether a file outside the site folders is the interpreter's or the system's."""
    if path.startswith(environment.own) and "-packages/" not in path:
        return True
    return path.startswith(SYSTEM_FOLDERS) and not path.startswith(_BY_HAND)


def vouched_for(system: System, path: str, owner: Owner | None) -> bool:
    """Tell whether an extension needs no listing: its distribution is known, or it links nothing that computes."""
    if owner is None:
        return path.startswith(_BY_HAND) and not computes(system, path)
    if owner.way == "editable":
        return False
    if known_distributions.harmless(owner.name):
        return True
    if owner.way == "local":
        return False
    return known_distributions.numeric(owner.name) or not computes(system, path)


def computes(system: System, path: str) -> bool:
    """Tell whether a file links to something that computes; one that cannot be understood may."""
    found = elf.known(system, path)
    return found is None or any(name.lower().startswith(_COMPUTING) or "openblas" in name for name in found.needed)
