"""The service's wheel holds what the service reads while it runs: migrations, templates, dumps of the demo."""

from __future__ import annotations

import zipfile
from pathlib import Path

from wheels import ROOT, build_wheel

PACKAGE = ROOT / "service" / "src" / "repro_env_service"


def test_wheel_has_every_file_of_the_package(tmp_path: Path) -> None:
    with zipfile.ZipFile(build_wheel("service", tmp_path)) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == {str(Path("repro_env_service") / path.relative_to(PACKAGE)) for path in PACKAGE.rglob("*")
                     if path.is_file() and "__pycache__" not in path.parts}
    assert [name for name in names if "/migrations/versions/" in name and not name.endswith("__init__.py")]
