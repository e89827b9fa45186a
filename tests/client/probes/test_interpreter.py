"""Which interpreter a prologue looks at, and that its environment is read without starting it."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

from repro_env.capture import capture
from repro_env.probes.interpreter import compiler, key_values, short_version
from repro_env.system import System


def python_section(**settings: object) -> dict[str, object]:
    return capture(System(), **settings)["stack"]["python"]  # type: ignore[arg-type,no-any-return]


@pytest.fixture(scope="module")
def venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real virtual environment of this interpreter, without pip, with one distribution."""
    folder = tmp_path_factory.mktemp("venvs") / "with space"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (site,) = folder.glob("lib/python3*/site-packages")
    (site / "only_here-1.0.dist-info").mkdir()
    return folder


def test_the_running_interpreter_says_what_it_is() -> None:
    assert python_section(vantage="process") == {
        "version": platform.python_version(), "implementation": sys.implementation.name,
        "compiler": platform.python_compiler(), "free_threaded": False, "environment": "venv"}


def test_the_first_python_on_path_is_looked_at(venv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{venv}/bin:{os.environ['PATH']}")
    document = capture(System())
    assert document["stack"]["python"]["environment"] == "venv"
    assert document["stack"]["python"]["version"] == platform.python_version()
    assert [row["name"] for row in document["stack"]["distributions"]["installed"]] == ["only-here"]


def test_a_named_interpreter_wins_over_path(venv: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    rows = capture(System(), python=str(venv / "bin" / "python"))["stack"]["distributions"]["installed"]
    assert [row["name"] for row in rows] == ["only-here"]


def test_the_interpreter_is_not_started(venv: Path, tmp_path: Path) -> None:
    folder = tmp_path / "trap"
    (folder / "bin").mkdir(parents=True)
    (folder / "lib" / "python3.11" / "site-packages" / "there-2.0.dist-info").mkdir(parents=True)
    (folder / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.11.4\n")
    (folder / "bin" / "python").write_text(f"#!/bin/sh\ntouch '{tmp_path}/started'\n")
    (folder / "bin" / "python").chmod(0o755)
    document = capture(System(), python=str(folder / "bin" / "python"))
    assert not (tmp_path / "started").exists()
    assert document["stack"]["python"]["version"] == "3.11.4"
    assert document["stack"]["python"]["compiler"] == {"unread": "not-reported"}
    assert [row["name"] for row in document["stack"]["distributions"]["installed"]] == ["there"]


def test_an_unknown_interpreter_leaves_its_environment_unread_and_says_why() -> None:
    document = capture(System(), python="/no/such/python")
    for path in ("python", "distributions", "frameworks", "libraries"):
        assert {"unread": "failed"} in document["stack"][path].values()
    assert "--python" in document["capture"]["errors"][0]["message"]
    assert document["stack"]["cpu"]["cores"] == os.cpu_count()


def test_pyenv_s_shim_is_followed_to_the_interpreter_it_would_start(tmp_path: Path, monkeypatch) -> None:
    root = tmp_path / "pyenv"
    (root / "shims").mkdir(parents=True)
    (root / "shims" / "python").write_text("#!/bin/sh\nexit 1\n")
    (root / "shims" / "python").chmod(0o755)
    for version in ("3.10.1", "3.12.4"):
        base = root / "versions" / version
        short = version.rpartition(".")[0]
        (base / "bin").mkdir(parents=True)
        (base / "bin" / f"python{short}").write_text("")
        (base / "bin" / "python").symlink_to(f"python{short}")
        (base / "lib" / f"python{short}" / "site-packages" / f"v-{version}.dist-info").mkdir(parents=True)
        header = base / "include" / f"python{short}" / "patchlevel.h"
        header.parent.mkdir(parents=True)
        header.write_text(f'#define PY_MAJOR_VERSION 3\n#define PY_VERSION              "{version}"\n')
    (root / "version").write_text("3.10.1\n")
    project = tmp_path / "project" / "deep"
    project.mkdir(parents=True)
    monkeypatch.chdir(project)
    monkeypatch.setenv("PATH", f"{root}/shims:{os.environ['PATH']}")
    assert python_section()["version"] == "3.10.1"
    (project.parent / ".python-version").write_text("3.12.4\n")
    assert python_section()["version"] == "3.12.4"
    monkeypatch.setenv("PYENV_VERSION", "3.10.1")
    assert python_section()["version"] == "3.10.1"
    monkeypatch.setenv("PYENV_VERSION", "9.9.9")
    assert python_section()["version"] == {"unread": "not-reported"}


def test_folders_that_pth_files_add_are_on_the_path_and_their_code_is_not_run(venv: Path, tmp_path: Path) -> None:
    (tmp_path / "added" / "linked-3.0.dist-info").mkdir(parents=True)
    (site,) = venv.glob("lib/python3*/site-packages")
    file = site / "extra.pth"
    file.write_text(f"# comment\nimport os; open('{tmp_path}/run', 'w')\n{tmp_path}/added\n/nowhere\n")
    try:
        rows = capture(System(), python=str(venv / "bin" / "python"))["stack"]["distributions"]["installed"]
    finally:
        file.unlink()
    assert [row["name"] for row in rows] == ["linked", "only-here"]
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("text", "expected"), [
    ("3.11.7 (main, Jan 1 2024) [GCC 12.2.0]", "GCC 12.2.0"), ("3.12 [Clang 15.0.0 (clang-1500)]",
                                                              "Clang 15.0.0 (clang-1500)"),
    ("3.11", {"unread": "not-reported"})])
def test_the_compiler_stands_in_brackets(text: str, expected: object) -> None:
    assert compiler(text) == expected


def test_pyvenv_settings_are_read_as_the_interpreter_reads_them() -> None:
    text = "home = /usr/bin\nInclude-System-Site-Packages=TRUE\nno pair\n"
    assert key_values(text) == {"home": "/usr/bin", "include-system-site-packages": "TRUE"}


@pytest.mark.parametrize(("text", "short"), [("3.11.7", "3.11"), ("3.13t", "3.13t"), ("3", ""), ("", ""), ("x.y", "")])
def test_short_versions(text: str, short: str) -> None:
    assert short_version(text) == short
