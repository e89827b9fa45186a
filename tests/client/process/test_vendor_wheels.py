"""NVIDIA's own CUDA runtimes, from their wheels: loaded by the real loader on a machine without a device, and asked."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from repro_env.capture import capture
from repro_env.probes import elf
from repro_env.system import System
from tests.client.process.vendors import LOOK, look

ROOT = Path(__file__).parents[3]
PYTHON = ROOT / ".venv-vendors" / "bin" / "python"
SOURCES = {11: "libcudart.so.11.0", 12: "libcudart.so.12"}


@pytest.fixture(scope="module")
def folder() -> Path:
    """The folder of both runtimes in their environment."""
    found = sorted((PYTHON.parents[1]).glob("lib/python*/site-packages/nvidia/cuda_runtime/lib"))
    if not found:
        pytest.skip("the runtimes come from hash-pinned wheels; run make venv-vendors")
    return found[0].resolve()


def runtime(*paths: Path | str, program: str = LOOK, **variables: str) -> dict[str, Any]:
    """Return the facts of the CUDA runtime in a process of that environment which loads ``paths``."""
    facts = look(*map(Path, paths), python=PYTHON, program=program, **variables)
    assert facts["libraries.unvetted_kernels"] == []
    start = "libraries.cuda_runtime."
    return {path[len(start):]: fact for path, fact in facts.items() if path.startswith(start)}


def pinned(major: int, library: str = "cuda-runtime") -> str:
    """Return the version of a wheel as it is pinned."""
    lines = (ROOT / "requirements" / "vendors.txt").read_text().splitlines()
    name = f"nvidia-{library}-cu{major}=="
    return next(line[len(name):].split(" ")[0] for line in lines if line.startswith(name))


def test_the_runtime_says_the_version_of_its_wheel_without_a_driver(folder: Path) -> None:
    file = folder / SOURCES[12]
    facts = runtime(file)
    assert facts["installed"] == pinned(12)
    assert facts["loaded"] == ".".join(pinned(12).split(".")[:2])
    assert (facts["found"], facts["conflicts"]) == ("wheel", [])
    assert facts["build_id"] == elf.build_id(System(), str(file))


def test_the_build_id_is_the_linker_s(folder: Path) -> None:
    if shutil.which("readelf") is None:
        pytest.skip("binutils reads the same file; install binutils")
    for name in SOURCES.values():
        text = subprocess.run(["readelf", "-nW", str(folder / name)], check=True, capture_output=True, text=True).stdout
        found = elf.read(System(), str(folder / name))
        assert found is not None
        assert found.build_id is None or f"Build ID: {found.build_id}" in text


def test_the_older_runtime_looks_for_a_driver_when_asked_and_so_is_not(folder: Path) -> None:
    facts = runtime(folder / SOURCES[11])
    assert facts["loaded"] == {"unread": "not-loaded"}
    assert (facts["installed"], facts["found"]) == (pinned(11), "wheel")


@pytest.mark.parametrize(("major", "asks"), [(11, True), (12, False)])
def test_which_of_them_looks_for_a_driver(major: int, asks: bool, folder: Path) -> None:
    if shutil.which("strace") is None:
        code = ("import ctypes, sys\nnumber = ctypes.c_int(-1)\n"
                "status = ctypes.CDLL(sys.argv[1]).cudaRuntimeGetVersion(ctypes.byref(number))\n"
                "print(status != 0 and number.value == -1)")
        done = subprocess.run([PYTHON, "-c", code, folder / SOURCES[major]], check=True, capture_output=True, text=True)
        assert done.stdout == f"{asks}\n"
        return
    code = ("import ctypes, sys\nnumber = ctypes.c_int(-1)\n"
            "ctypes.CDLL(sys.argv[1]).cudaRuntimeGetVersion(ctypes.byref(number))")
    done = subprocess.run(["strace", "-f", "-e", "trace=openat", PYTHON, "-c", code, folder / SOURCES[major]],
                          check=True, capture_output=True, text=True)
    assert ("libcuda.so.1" in done.stderr) is asks


def test_both_runtimes_in_one_process_are_two_copies(folder: Path) -> None:
    facts = runtime(folder / SOURCES[11], folder / SOURCES[12])
    assert facts["conflicts"] == ["two-copies"]
    assert facts["installed"] == f"{pinned(11)}, {pinned(12)}"


def test_the_same_file_from_another_folder_is_a_second_copy(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copy(folder / SOURCES[12], tmp_path / SOURCES[12])
    facts = runtime(folder / SOURCES[12], copy)
    assert facts["conflicts"] == ["two-copies"]
    assert facts["found"] == "user, wheel"
    assert ", " not in facts["build_id"], "one build, twice"


def test_a_preloaded_runtime_is_told(folder: Path, tmp_path: Path) -> None:
    copy = shutil.copy(folder / SOURCES[12], tmp_path / SOURCES[12])
    assert runtime(LD_PRELOAD=str(copy))["conflicts"] == ["preloaded"]


def test_a_library_path_that_supplies_the_runtime_shadows_the_wheel(folder: Path, tmp_path: Path) -> None:
    shutil.copy(folder / SOURCES[12], tmp_path / SOURCES[12])
    by_name = LOOK.replace("for path in sys.argv[1:]:\n    ctypes.CDLL(path)", "ctypes.CDLL('libcudart.so.12')")
    facts = runtime(program=by_name, LD_LIBRARY_PATH=str(tmp_path))
    assert (facts["conflicts"], facts["found"]) == (["shadowed"], "user")
    facts = runtime(program=by_name, LD_LIBRARY_PATH=str(folder))
    assert (facts["conflicts"], facts["found"]) == ([], "wheel")


def test_nccl_says_the_version_of_its_wheel_without_a_device(folder: Path) -> None:
    file = folder.parents[1] / "nccl" / "lib" / "libnccl.so.2"
    facts = look(file, folder / SOURCES[12], python=PYTHON)
    assert facts["libraries.nccl.loaded"] == facts["libraries.nccl.installed"] == pinned(12, "nccl")
    assert (facts["libraries.nccl.found"], facts["libraries.nccl.conflicts"]) == ("wheel", [])
    assert facts["libraries.nccl.build_id"] == elf.build_id(System(), str(file))
    assert facts["libraries.unvetted_kernels"] == []


def test_a_prologue_sees_nccl_without_loading_it(folder: Path) -> None:
    facts = capture(System(), python=str(PYTHON), budget_s=60)["stack"]["libraries"]["nccl"]
    assert (facts["installed"], facts["found"]) == (pinned(12, "nccl"), "wheel")
    assert facts["loaded"] == {"unread": "not-loaded"}
    assert f"wheel {pinned(12, 'nccl')}" in facts["candidates"]


def test_a_prologue_sees_both_as_candidates(folder: Path) -> None:
    facts = capture(System(), python=str(PYTHON), budget_s=60)["stack"]["libraries"]["cuda_runtime"]
    assert [each for each in facts["candidates"] if each.startswith("wheel")] != []
    assert facts["found"] == "wheel"
    assert facts["installed"] == pinned(12)
