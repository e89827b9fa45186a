"""Building the wheels of a checkout, and finding other Pythons to install them with."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST = (3, 9)
NEWEST_KNOWN = (3, 14)

Version = tuple[int, int]


def build_wheel(project: str, folder: Path) -> Path:
    """Build the wheel of ``client`` or ``service`` with the pinned tools, and return where it is."""
    checked([sys.executable, "-m", "pip", "wheel", "--no-index", "--no-deps", "--no-build-isolation",
             "--wheel-dir", folder, ROOT / project])
    [wheel] = folder.glob("*.whl")
    return wheel


@functools.cache
def interpreters() -> dict[Version, str]:
    """Return the Pythons at hand that the client supports, oldest first: this one, PATH's, and pyenv's."""
    found = {sys.version_info[:2]: sys.executable}
    for minor in range(OLDEST[1], NEWEST_KNOWN[1] + 1):
        on_path = shutil.which(f"python3.{minor}")
        for path in [*([on_path] if on_path else []), *_pyenv(minor)]:
            if (3, minor) not in found and _starts_as((3, minor), path):
                found[3, minor] = path
    return dict(sorted(found.items()))


def _pyenv(minor: int) -> list[str]:
    root = os.environ.get("PYENV_ROOT")
    return sorted(map(str, Path(root, "versions").glob(f"3.{minor}.*/bin/python3"))) if root else []


def _starts_as(version: Version, path: str) -> bool:
    """Tell whether a name leads to that Python: version managers leave names on PATH that start nothing."""
    process = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    match = re.match(r"Python (\d+)\.(\d+)\.\d+\s*$", process.stdout)
    return process.returncode == 0 and match is not None and (int(match[1]), int(match[2])) == version


def checked(argv: list[str | Path], **options: object) -> str:
    """Run a program and return its stdout; on failure show all that it wrote."""
    process = subprocess.run(argv, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload]
    assert process.returncode == 0, f"{argv} ended with {process.returncode}\n{process.stdout}\n{process.stderr}"
    return str(process.stdout)
