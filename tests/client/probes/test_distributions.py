"""Installed distributions from the names of their metadata folders, agreeing with what the standard library finds."""

from __future__ import annotations

import importlib.metadata
import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest
from packaging.utils import canonicalize_name

from repro_env.capture import capture
from repro_env.probes.distributions import normalised, parse_origin
from repro_env.system import System


class Elsewhere(System):
    """This machine with another search path."""

    def __init__(self, *path: Path) -> None:
        self.path = [str(folder) for folder in path]

    def interpreter(self) -> dict[str, Any]:
        return {**super().interpreter(), "search_path": self.path}


def installed(*path: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = capture(Elsewhere(*path), vantage="process")["stack"]["distributions"]["installed"]
    return rows


def put(folder: Path, entry: str, **files: str) -> Path:
    (folder / entry).mkdir(parents=True)
    for name, text in files.items():
        (folder / entry / name.replace("_json", ".json")).write_text(text)
    return folder


def test_the_list_is_the_one_the_standard_library_finds() -> None:
    found = {(row["name"], row["version"]) for row in capture(System(), vantage="process")["stack"]["distributions"][
        "installed"]}
    expected = {(canonicalize_name(item.metadata["Name"]), item.version) for item in importlib.metadata.distributions()}
    assert found == expected


def test_a_prologue_finds_from_files_what_the_interpreter_itself_finds() -> None:
    prologue = capture(System(), python=sys.executable)["stack"]["distributions"]
    assert prologue["complete"] is True
    assert {row["name"] for row in prologue["installed"]} >= {"pytest", "torch", "numpy", "repro-env"}
    (ours,) = [row for row in prologue["installed"] if row["name"] == "repro-env"]
    assert ours["version"] == importlib.metadata.version("repro-env")


@pytest.mark.parametrize(("entry", "files", "expected"), [
    ("numpy-2.1.0.dist-info", {}, ("numpy", "2.1.0")),
    ("Foo_Bar.baz-1.0rc1+cu121.dist-info", {}, ("foo-bar-baz", "1.0rc1+cu121")),
    ("old-1.2-py3.11.egg-info", {}, ("old", "1.2")),
    ("bare.egg-info", {"PKG-INFO": "Metadata-Version: 2.1\nName: Bare\nVersion: 3.0\n\nVersion: 9\n"}, ("bare", "3.0")),
    ("silent.egg-info", {}, ("silent", {"unread": "not-reported"})),
    ("a-b-1.0.dist-info", {"METADATA": "Name: a-b\nVersion: 1.0\n"}, ("a-b", "1.0")),
], ids=["plain", "spelling", "egg", "egg-without-version", "nothing", "dash-in-name"])
def test_names_of_metadata_folders(tmp_path: Path, entry: str, files: dict[str, str],
                                   expected: tuple[str, Any]) -> None:
    (row,) = installed(put(tmp_path, entry, **files))
    assert (row["name"], row["version"]) == expected


def test_leftovers_of_an_installer_are_no_distributions(tmp_path: Path) -> None:
    put(tmp_path, "~umpy-2.1.0.dist-info")
    put(tmp_path, "__pycache__")
    assert installed(tmp_path) == []


def test_a_later_copy_is_shadowed(tmp_path: Path) -> None:
    first, second = put(tmp_path / "a", "numpy-2.1.0.dist-info"), put(tmp_path / "b", "numpy-1.26.4.dist-info")
    assert {row["version"]: row["shadowed"] for row in installed(first, second)} == {"1.26.4": True, "2.1.0": False}
    assert {row["version"]: row["shadowed"] for row in installed(second, first)} == {"1.26.4": False, "2.1.0": True}


def test_the_build_folder_of_an_editable_install_is_no_second_copy(tmp_path: Path) -> None:
    site, source = put(tmp_path / "site", "mine-1.0.dist-info"), put(tmp_path / "src", "mine-1.0-py3.11.egg-info")
    assert [row["shadowed"] for row in installed(site, source)] == [False]


def test_a_folder_that_cannot_be_read_makes_the_list_incomplete(tmp_path: Path) -> None:
    site = put(tmp_path / "site", "mine-1.0.dist-info")
    closed = tmp_path / "closed"
    closed.mkdir()

    class Closed(Elsewhere):
        def list_dir(self, path: str) -> list[str]:
            if path == str(closed):
                raise PermissionError(13, "refused", path)
            return super().list_dir(path)

    document = capture(Closed(site, closed), vantage="process")
    assert document["stack"]["distributions"]["complete"] is False
    assert document["stack"]["frameworks"]["torch"] == {"unread": "denied"}
    assert document["stack"]["libraries"]["cudnn"] is not None  # nothing is surely absent any more


def test_develop_mode_is_editable(tmp_path: Path) -> None:
    source = put(tmp_path / "src", "mine.egg-info", **{"PKG-INFO": "Name: mine\nVersion: 0.3\n"})
    site = tmp_path / "site"
    site.mkdir()
    (site / "mine.egg-link").write_text(f"{source}\n.\n")
    (row,) = installed(site)
    assert (row["name"], row["version"], row["editable"]) == ("mine", "0.3", True)
    assert row["origin"] == f"file://{source}"


@pytest.mark.parametrize(("record", "expected"), [
    ({"url": "https://user:planted@example.org/p.git", "vcs_info": {"vcs": "git", "commit_id": "9f1c2d3"}},
     ("git+https://example.org/p.git", "9f1c2d3", False)),
    ({"url": "file:///home/researcher/project", "dir_info": {"editable": True}},
     ("file://~/project", None, True)),
    ({"url": "https://example.org/p.whl?token=planted", "archive_info": {}},
     ("https://example.org/p.whl", None, False)),
], ids=["git", "editable", "archive"])
def test_origins_without_credentials(tmp_path: Path, record: dict[str, Any], expected: tuple[Any, ...]) -> None:
    (row,) = installed(put(tmp_path, "p-1.dist-info", direct_url_json=json.dumps(record)))
    assert (row["origin"], row["revision"], row["editable"]) == expected
    assert "planted" not in json.dumps(row)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"url": 1}', '{"vcs_info": {}}'])
def test_a_broken_origin_record_is_unread(tmp_path: Path, text: str) -> None:
    (row,) = installed(put(tmp_path, "p-1.dist-info", direct_url_json=text))
    assert row["origin"] == row["revision"] == row["editable"] == {"unread": "failed"}


def test_strange_types_in_an_origin_record_do_not_pass() -> None:
    assert parse_origin({"url": "https://example.org", "vcs_info": [], "dir_info": "x"})["editable"] is False


@pytest.mark.parametrize("name", ["Foo", "foo_bar", "foo.bar", "Foo-_.Bar", "a1"])
def test_names_are_normalised_as_pep_503_says(name: str) -> None:
    assert normalised(name) == canonicalize_name(name)


def test_distributions_on_pythonpath_come_first_in_a_prologue(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "pytest-0.0.1.dist-info")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}{os.pathsep}/nowhere")
    rows = [row for row in capture(System(), python=sys.executable)["stack"]["distributions"]["installed"]
            if row["name"] == "pytest"]
    assert {row["version"]: row["shadowed"] for row in rows} == {"0.0.1": False, pytest.__version__: True}
