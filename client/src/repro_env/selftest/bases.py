"""What is held still: the environments that every factor is set against, with the workloads that run in them."""

from __future__ import annotations

from typing import Any, NamedTuple

#: workload -> modules it imports, all of which an interpreter must have.
NEEDS: dict[str, tuple[str, ...]] = {
    "linear": ("torch",), "convolution": ("torch",), "transformer": ("torch",), "loader": ("torch", "numpy"),
    "loader-indexed": ("torch", "numpy"), "denormal": ("torch",), "scatter": ("torch",), "numpy": ("numpy",),
    "scipy": ("scipy",), "scikit-learn": ("sklearn",), "arithmetic": (), "hash-order": (), "text": (),
}
TORCH = ("linear", "convolution", "transformer", "loader", "loader-indexed", "denormal")
LOADERS = ("loader", "loader-indexed")
PYTHON = ("arithmetic", "hash-order", "text")


class Base(NamedTuple):
    """One environment: variables over a clean one, and settings that the program makes itself.

    ``repeats``: it is held to give one result at every launch.
    """

    name: str
    words: str
    workloads: tuple[str, ...]
    variables: dict[str, str]
    settings: dict[str, Any]
    repeats: bool = True


def _threads(count: int) -> dict[str, str]:
    return {name: str(count) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")}


_QUIET = {"PYTHONHASHSEED": "0", "LANG": "C.UTF-8"}
BASES: tuple[Base, ...] = (
    Base("one-thread", "torch with one thread", TORCH, {**_threads(1), **_QUIET}, {"warm": True}),
    Base("two-threads", "torch with two threads, deterministic algorithms, elementwise functions warmed up", TORCH,
         {**_threads(2), **_QUIET}, {"warm": True, "deterministic": True}),
    Base("workers", "torch with one thread and two loader workers", LOADERS, {**_threads(1), **_QUIET},
         {"warm": True, "workers": 2}),
    Base("numpy", "NumPy and SciPy alone, two threads", ("numpy", "scipy"), {**_threads(2), **_QUIET}, {}),
    Base("scikit-learn", "scikit-learn with one thread", ("scikit-learn",), {**_threads(1), **_QUIET}, {}),
    Base("python", "Python alone", PYTHON, dict(_QUIET), {}),
    Base("unsettled", "two threads that add into one place", ("scatter",), {**_threads(2), **_QUIET}, {"warm": True},
         repeats=False),
)
BASES_BY_NAME = {base.name: base for base in BASES}
