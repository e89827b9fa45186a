"""The client as others get it: the built wheel in a bare environment, on the oldest and the newest Python at hand."""

from __future__ import annotations

import email
import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from wheels import OLDEST, ROOT, Version, build_wheel, checked, interpreters

PACKAGE = ROOT / "client" / "src" / "repro_env"
#: starts every module of the package but those that act when imported.
IMPORT_ALL = """
import importlib, pkgutil, repro_env
for module in pkgutil.walk_packages(repro_env.__path__, "repro_env."):
    if not module.name.endswith(("__main__", ".sitecustomize")):
        importlib.import_module(module.name)
        print(module.name)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel("client", tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module", params=sorted({OLDEST, sys.version_info[:2], max(interpreters())}),
                ids=lambda version: "python" + ".".join(map(str, version)))
def bare(request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment that holds the wheel and nothing else of ours, in a folder with a space in its name."""
    version: Version = request.param
    if version not in interpreters():
        pytest.skip(f"no Python {version[0]}.{version[1]} on this machine")
    folder = tmp_path_factory.mktemp("bare") / "an environment"
    checked([interpreters()[version], "-m", "venv", "--without-pip", folder])
    checked([sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install", "--no-index", "--no-deps",
             wheel])
    return folder


def test_wheel_has_no_dependency_and_every_file_of_the_package(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        [metadata] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        fields = email.message_from_bytes(archive.read(metadata))
    assert names == {str(Path("repro_env") / path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*")
                     if path.is_file() and "__pycache__" not in path.parts}
    assert (fields["Name"], fields["Requires-Python"], fields["License-Expression"]) == (
        "repro-env", ">=3.9", "Apache-2.0")
    assert fields.get_all("Requires-Dist") is None


def test_capture_of_the_wheel_prints_a_document_and_exits_0(bare: Path, tmp_path: Path) -> None:
    process = subprocess.run([bare / "bin" / "repro-env", "capture", "--json", "--no-send"], capture_output=True,
                             text=True, cwd=tmp_path, env={**os.environ, "PYTHONWARNINGS": "error"}, check=False)
    assert process.returncode == 0, process.stderr
    document = json.loads(process.stdout)
    assert {"stack", "program", "capture"} <= set(document)
    assert all(document[part] for part in ("stack", "program", "capture"))
    assert "Traceback" not in process.stderr
    assert not list(tmp_path.iterdir())


def test_every_module_of_the_wheel_imports_without_a_warning(bare: Path, tmp_path: Path) -> None:
    imported = checked([bare / "bin" / "python", "-W", "error", "-c", IMPORT_ALL], cwd=tmp_path).split()
    assert "repro_env.comparability.judge" in imported


def test_wheel_says_its_version(bare: Path, tmp_path: Path) -> None:
    code = "import repro_env.version as v, importlib.metadata as m; print(v.VERSION == m.version('repro-env'))"
    assert checked([bare / "bin" / "python", "-c", code], cwd=tmp_path) == "True\n"
