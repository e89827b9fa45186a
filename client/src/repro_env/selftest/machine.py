"""What this machine and its interpreters can do: which workloads run on it, and which factors can be set."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import Any

from .bases import NEEDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

TIMEOUT_S = 600
_NAMESPACES = (("unshare", "--map-root-user", "--uts", "true"), ("unshare", "--map-user=1234", "true"))
#: asks an interpreter what it can import, and what NumPy may be kept from.
_ASK = """
import importlib.util, json
found = [name for name in ("torch", "numpy", "scipy", "sklearn") if importlib.util.find_spec(name)]
dispatched = []
if "numpy" in found:
    try:
        from numpy._core import _multiarray_umath as core
    except ImportError:
        from numpy.core import _multiarray_umath as core
    dispatched = [name for name in core.__cpu_dispatch__ if core.__cpu_features__.get(name)]
print(json.dumps({"modules": found, "dispatched": dispatched}))
"""


class Machine:
    """What this machine and its interpreters can do."""

    def __init__(self, pythons: Sequence[str], others: Sequence[str] = ()) -> None:
        self.pythons = {python: _asked(python) for python in (*pythons, *others)}
        self.others = tuple(others)
        self.cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
        self._means: dict[str, bool] = {}

    @property
    def broken(self) -> list[str]:
        """Interpreters that could not be asked."""
        return [python for python, told in self.pythons.items() if "failed" in told]

    def python_of(self, workload: str) -> str | None:
        """Return the first interpreter that has what a workload imports."""
        return next((python for python in self.pythons
                     if python not in self.others and self.imports(python, workload)), None)

    def imports(self, python: str, workload: str) -> bool:
        """Tell whether an interpreter has what a workload imports."""
        return set(NEEDS[workload]) <= set(self.pythons[python]["modules"])

    def has(self, need: str) -> bool:
        """Tell whether the machine has what a factor needs."""
        if need not in self._means:
            self._means[need] = not need or self._look(need)
        return self._means[need]

    def _look(self, need: str) -> bool:
        if need == "avx512":
            return "avx512f" in text_of("/proc/cpuinfo")
        if need == "unshare":
            return all(map(works, _NAMESPACES))
        if need == "setarch":
            return works(("setarch", "-R", "true"))
        return shutil.which(need) is not None


def _asked(python: str) -> dict[str, Any]:
    try:
        told = subprocess.run([python, "-c", _ASK], capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
        found: dict[str, Any] = json.loads(told.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return {"modules": [], "dispatched": [], "failed": True}
    return found


def text_of(path: str) -> str:
    """Return the text of a file, nothing where it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as stream:
            return stream.read()
    except OSError:
        return ""


def works(command: Sequence[str]) -> bool:
    """Tell whether a command can be run and succeeds."""
    try:
        return subprocess.run(command, capture_output=True, timeout=20, check=False).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False
