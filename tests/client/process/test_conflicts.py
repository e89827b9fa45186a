"""Conflicts of loaded libraries by the real loader, under the variables that steer it, and the rule of each code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from compiled import distribution, integer_function, shared_library

from repro_env.probes.inprocess_conflicts import differs, misses, release, several
from tests.client.process.vendors import LOOK, look, stand_in


def importing(site: Path) -> str:
    """Return the program of ``look`` with a site folder on its path."""
    return LOOK.replace("import ctypes", f"import sys; sys.path.append({str(site)!r})\nimport ctypes")


def by_name(name: str, site: Path) -> str:
    """Return the program of ``look`` that has the loader search for ``name`` as a framework's file does."""
    return importing(site).replace("for path in sys.argv[1:]:\n    ctypes.CDLL(path)", f"ctypes.CDLL({name!r})")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A site folder with the wheel of NCCL 2.20.5."""
    site = tmp_path / "site-packages"
    stand_in(site / "nvidia" / "nccl" / "lib" / "libnccl.so.2")
    distribution(site, "nvidia-nccl-cu12", "2.20.5", ["nvidia/nccl/lib/libnccl.so.2"])
    return site


@pytest.fixture
def foreign(tmp_path: Path) -> Path:
    """A folder outside with NCCL 2.18.5."""
    return shared_library(tmp_path / "cluster" / "libnccl.so.2.18.5", integer_function("ncclGetVersion", 21805),
                          "-Wl,-soname,libnccl.so.2")


def wheel_file(site: Path) -> Path:
    return site / "nvidia" / "nccl" / "lib" / "libnccl.so.2"


def test_one_copy_from_its_wheel_has_no_conflict(site: Path) -> None:
    facts = look(wheel_file(site), program=importing(site))
    assert facts["libraries.nccl.conflicts"] == []
    assert facts["libraries.nccl.loaded"] == "2.20.5"


def test_two_copies_are_told_with_both_versions_and_places(site: Path, foreign: Path) -> None:
    facts = look(wheel_file(site), foreign, program=importing(site))
    assert facts["libraries.nccl.conflicts"] == ["two-copies", "not-installed"]
    assert facts["libraries.nccl.loaded"] == "2.18.5, 2.20.5"
    assert facts["libraries.nccl.found"] == "user, wheel"
    assert facts["libraries.nccl.build_id"].count(", ") == 1


def test_a_library_path_that_supplied_a_copy_shadows_the_wheel(site: Path, foreign: Path) -> None:
    (foreign.parent / "libnccl.so.2").symlink_to(foreign)
    facts = look(program=by_name("libnccl.so.2", site), LD_LIBRARY_PATH=str(foreign.parent))
    assert facts["libraries.nccl.conflicts"] == ["shadowed", "not-installed"]
    assert (facts["libraries.nccl.loaded"], facts["libraries.nccl.found"]) == ("2.18.5", "user")


def test_a_library_path_that_names_the_wheel_s_own_folder_shadows_nothing(site: Path) -> None:
    facts = look(program=by_name("libnccl.so.2", site), LD_LIBRARY_PATH=str(wheel_file(site).parent))
    assert facts["libraries.nccl.conflicts"] == []


def test_a_library_path_that_supplied_nothing_is_no_conflict(site: Path, foreign: Path) -> None:
    facts = look(wheel_file(site), program=importing(site), LD_LIBRARY_PATH=str(foreign.parent))
    assert facts["libraries.nccl.conflicts"] == []


def test_a_library_path_without_a_wheel_is_no_conflict(foreign: Path, tmp_path: Path) -> None:
    (foreign.parent / "libnccl.so.2").symlink_to(foreign)
    facts = look(program=by_name("libnccl.so.2", tmp_path / "nothing"), LD_LIBRARY_PATH=str(foreign.parent))
    assert facts["libraries.nccl.conflicts"] == []
    assert facts["libraries.nccl.installed"] == "2.18.5", "the version in the name of the file"


def test_a_library_path_set_by_the_program_for_itself_acts_on_nothing(site: Path, foreign: Path) -> None:
    own = f"import os; os.environ['LD_LIBRARY_PATH'] = {str(foreign.parent)!r}\n"
    late = importing(site).replace("import ctypes", f"{own}import ctypes", 1)
    assert look(foreign, program=late)["libraries.nccl.conflicts"] == ["not-installed"]


@pytest.mark.parametrize("how", ["path", "name"])
def test_a_preloaded_copy_is_told(how: str, foreign: Path, tmp_path: Path) -> None:
    (foreign.parent / "libnccl.so.2").symlink_to(foreign)
    entry = str(foreign.parent / "libnccl.so.2") if how == "path" else "libnccl.so.2"
    facts = look(LD_PRELOAD=entry, LD_LIBRARY_PATH=str(foreign.parent))
    assert facts["libraries.nccl.conflicts"] == ["preloaded"]


def test_a_preloaded_copy_beside_the_wheel_s_is_two_copies(site: Path, foreign: Path) -> None:
    facts = look(wheel_file(site), program=importing(site), LD_PRELOAD=str(foreign))
    assert facts["libraries.nccl.conflicts"] == ["two-copies", "preloaded", "not-installed"]


def test_a_preload_that_failed_is_not_told(site: Path, tmp_path: Path) -> None:
    facts = look(wheel_file(site), program=importing(site), LD_PRELOAD=str(tmp_path / "libnccl.so.2"))
    assert facts["libraries.nccl.conflicts"] == []


def test_parts_of_one_library_from_two_folders_are_two_copies(tmp_path: Path) -> None:
    front = stand_in(tmp_path / "a" / "libcublas.so.12")
    facts = look(front, stand_in(tmp_path / "b" / "libcublasLt.so.12"))
    assert facts["libraries.cublas.conflicts"] == ["two-copies"]
    assert look(front, stand_in(tmp_path / "a" / "libcublasLt.so.12"))["libraries.cublas.conflicts"] == []


@pytest.mark.parametrize(("name", "files", "copies"), [
    ("openblas", ["/a/libopenblas.so", "/b/libopenblas.so"], False),
    ("openmp", ["/a/libgomp.so.1", "/b/libomp.so"], False),
    ("cuda_runtime", ["/a/libcudart.so.11.0", "/a/libcudart.so.12"], True),
    ("mkl", ["/a/libmkl_rt.so.2", "/a/libmkl_core.so.2"], False),
    ("mkl", ["/a/libmkl_rt.so.2", "/b/libmkl_core.so.2"], True), ("cudnn", ["/a/libcudnn.so.9"], False)])
def test_what_counts_as_two_copies(name: str, files: list[str], copies: bool) -> None:
    assert several(name, files, []) is copies


@pytest.mark.parametrize(("loaded", "installed", "wrong"), [
    ("9.1.0", "9.1.0.70", False), ("12.1", "12.1.105", False), ("12.1.3", "12.1.3.1", False),
    ("2.20.5", "2.20.5", False), ("8.9.7", "9.1.0.70", True), ("12.4", "12.1.105", True), ("9.1.0", None, False),
    ("9.1.0", "unknown", False)])
def test_versions_disagree_only_in_parts_that_both_state(loaded: str, installed: Any, wrong: bool) -> None:
    assert differs(loaded, installed) is wrong


@pytest.mark.parametrize(("loaded", "compiled", "wrong"), [
    ("9.1.0", "9.1.0", False), ("9.5.1", "9.1.0", False), ("9.0.0", "9.1.0", True), ("8.9.7", "9.1.0", True),
    ("10.1.0", "9.1.0", True), ("12.1", "12.1", False), ("12.4", "12.1", False), ("12.1", "12.4", True),
    ("2.21.5", "2.20.5", False), ("9.1.0", None, False), ("9", "9.1", False)])
def test_a_newer_minor_version_serves_what_was_built_with_an_older_one(loaded: str, compiled: Any, wrong: bool) -> None:
    assert misses(loaded, compiled) is wrong


@pytest.mark.parametrize(("text", "numbers"), [
    ("12.4.127", (12, 4, 127)), ("2.4.1+cu121", (2, 4, 1)), ("gomp ab12", ()), (None, ()), ({"unread": "failed"}, ())])
def test_the_numbers_of_a_version(text: Any, numbers: tuple[int, ...]) -> None:
    assert release(text) == numbers


def test_the_driver_s_library_is_told_as_it_is_mapped(tmp_path: Path) -> None:
    own = stand_in(tmp_path / "lib" / "libcuda.so.550.54.15")
    facts = look(own)
    assert (facts["driver.user_libcuda"], facts["driver.compat"]) == ("550.54.15", False)
    compat = stand_in(tmp_path / "cuda-12.4" / "compat" / "libcuda.so.550.90.07")
    facts = look(compat)
    assert (facts["driver.user_libcuda"], facts["driver.compat"]) == ("550.90.07", True)


def test_a_driver_s_library_without_a_version_in_its_name_tells_none(tmp_path: Path) -> None:
    assert look(stand_in(tmp_path / "tegra" / "libcuda.so.1.1"))["driver.user_libcuda"] == {"unread": "not-reported"}


def test_two_driver_s_libraries_leave_open_which_one_is_used(tmp_path: Path) -> None:
    facts = look(stand_in(tmp_path / "a" / "libcuda.so.550.54.15"), stand_in(tmp_path / "b" / "libcuda.so.535.1.2"))
    assert "driver.user_libcuda" not in facts
