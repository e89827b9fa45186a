"""Shared libraries made for a test: compiled from a few lines of C, loaded by the real loader."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest


def shared_library(path: Path, source: str, *options: str) -> Path:
    """Compile ``source`` to a shared library at ``path``; further options go to the compiler and the linker."""
    if shutil.which("gcc") is None:
        pytest.skip("a library is compiled from C; install gcc")
    path.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["gcc", "-shared", "-fPIC", "-Wl,--build-id=sha1", "-o", str(path), "-x", "c", "-", "-x", "none",
                    *options], input=source, text=True, check=True, capture_output=True)
    return path


def integer_function(name: str, value: int) -> str:
    """Return C for a function that writes one integer, as the vendors' version functions do."""
    return f"int {name}(int *out) {{ *out = {value}; return 0; }}\n"


def distribution(site: Path, name: str, version: str, files: list[str], *, installer: str = "pip",
                 origin: str | None = None) -> Path:
    """Write what an installer leaves for a distribution with these files, given relative to the site folder."""
    folder = site / f"{name.replace('-', '_')}-{version}.dist-info"
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"{file},," for file in sorted([*files, f"{folder.name}/RECORD"])]
    (folder / "RECORD").write_text("\n".join(lines) + "\n")
    (folder / "INSTALLER").write_text(f"{installer}\n")
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n\n")
    if origin is not None:
        (folder / "direct_url.json").write_text(origin)
    return folder
