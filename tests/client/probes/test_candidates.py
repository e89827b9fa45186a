"""Before a program runs: the files that a loader could take, in its order, with what they tell without being loaded."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from compiled import distribution, shared_library

from repro_env.capture import capture
from repro_env.probes import candidates, elf
from repro_env.system import System

NOTHING = "int nothing(void) { return 0; }\n"


class Machine(System):
    """This machine with a loader's cache of the test's own, and one folder that counts as the system's."""

    def __init__(self, cache: Path | None, folder: Path) -> None:
        self.cache, self.folder = cache, str(folder)

    def read_bytes(self, path: str, limit: int = 65536) -> bytes:
        if path == "/etc/ld.so.cache":
            if self.cache is None:
                raise FileNotFoundError(path)
            path = str(self.cache)
        return super().read_bytes(path, limit)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A virtual environment with a torch for CUDA 12.4 and two of NVIDIA's wheels."""
    (tmp_path / "venv" / "bin").mkdir(parents=True)
    (tmp_path / "venv" / "pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.11.7\n")
    python = tmp_path / "venv" / "bin" / "python"
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    site = tmp_path / "venv" / "lib" / "python3.11" / "site-packages"
    shared_library(site / "nvidia" / "cudnn" / "lib" / "libcudnn.so.9", NOTHING, "-Wl,-soname,libcudnn.so.9")
    shared_library(site / "nvidia" / "cuda_runtime" / "lib" / "libcudart.so.12", NOTHING, "-Wl,-soname,libcudart.so.12")
    distribution(site, "nvidia-cudnn-cu12", "9.1.0.70", ["nvidia/cudnn/lib/libcudnn.so.9"])
    distribution(site, "nvidia-cuda-runtime-cu12", "12.4.127", ["nvidia/cuda_runtime/lib/libcudart.so.12"])
    distribution(site, "torch", "2.5.1+cu124", ["torch/version.py", "torch/lib/libtorch_cuda.so"])
    (site / "torch").mkdir()
    (site / "torch" / "version.py").write_text("__version__ = '2.5.1+cu124'\ncuda = '12.4'\nhip = None\n")
    return site


def torch_with(site: Path, tag: str) -> None:
    """Put the file of torch that needs cuDNN 9 there, its search path in the old or the new form."""
    shared_library(site / "torch" / "lib" / "libtorch_cuda.so", NOTHING, "-Wl,--no-as-needed",
                   str(site / "nvidia" / "cudnn" / "lib" / "libcudnn.so.9"),
                   "-Wl,-rpath,$ORIGIN/../../nvidia/cudnn/lib", f"-Wl,--{tag}-new-dtags")


def cluster(folder: Path, version: str) -> Path:
    """Make a folder as clusters have it: the file with its version, and the link by which programs find it."""
    path = shared_library(folder / f"libcudnn.so.{version}", NOTHING, f"-Wl,-soname,libcudnn.so.{version[0]}")
    (folder / f"libcudnn.so.{version[0]}").symlink_to(path.name)
    return folder


def libraries(site: Path, cache: Path | None = None) -> dict[str, Any]:
    python = str(site.parents[2] / "bin" / "python")
    document = capture(Machine(cache, site), python=python, budget_s=60)
    assert [error for error in document["capture"]["errors"] if error["path"].startswith("libraries")] == []
    return document["stack"]["libraries"]  # type: ignore[no-any-return]


def test_a_wheel_alone_is_what_would_be_loaded(site: Path) -> None:
    torch_with(site, "enable")
    facts = libraries(site)["cudnn"]
    assert facts["candidates"] == ["wheel 9.1.0.70"]
    assert (facts["found"], facts["installed"]) == ("wheel", "9.1.0.70")
    assert facts["build_id"] == elf.build_id(System(), str(site / "nvidia" / "cudnn" / "lib" / "libcudnn.so.9"))
    assert facts["loaded"] == {"unread": "not-loaded"}


def test_a_library_path_comes_before_a_runpath(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch_with(site, "enable")
    monkeypatch.setenv("LD_LIBRARY_PATH", f"{cluster(tmp_path / 'cluster', '9.5.1')}:/nowhere")
    facts = libraries(site)["cudnn"]
    assert facts["candidates"] == ["user 9.5.1", "wheel 9.1.0.70"]
    assert (facts["found"], facts["installed"]) == ("user", "9.5.1")
    assert facts["build_id"] == {"unread": "not-loaded"}, "two files come into question"


def test_the_old_rpath_comes_before_a_library_path(site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch_with(site, "disable")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(cluster(tmp_path / "cluster", "9.5.1")))
    facts = libraries(site)["cudnn"]
    assert facts["candidates"] == ["wheel 9.1.0.70", "user 9.5.1"]
    assert (facts["found"], facts["installed"]) == ("wheel", "9.1.0.70")


def test_a_library_of_another_interface_is_listed_and_not_taken(site: Path, tmp_path: Path,
                                                                monkeypatch: pytest.MonkeyPatch) -> None:
    torch_with(site, "enable")
    monkeypatch.setenv("LD_LIBRARY_PATH", str(cluster(tmp_path / "cluster", "8.9.7")))
    facts = libraries(site)["cudnn"]
    assert facts["candidates"] == ["user 8.9.7", "wheel 9.1.0.70"]
    assert (facts["found"], facts["installed"]) == ("wheel", "9.1.0.70")
    assert isinstance(facts["build_id"], str)


def test_the_loader_s_own_cache_comes_last(site: Path, tmp_path: Path) -> None:
    ldconfig = shutil.which("ldconfig", path="/sbin:/usr/sbin:/bin:/usr/bin")
    if ldconfig is None:
        pytest.skip("a cache is made by the C library's own tool; install libc-bin")
    torch_with(site, "enable")
    folder = cluster(tmp_path / "cluster", "9.0.0")
    (tmp_path / "ld.so.conf").write_text(f"{folder}\n")
    cache = tmp_path / "ld.so.cache"
    subprocess.run([ldconfig, "-X", "-f", str(tmp_path / "ld.so.conf"), "-C", str(cache)], check=True,
                   capture_output=True)
    assert str(folder / "libcudnn.so.9") in candidates.paths_in_cache(cache.read_bytes())

    facts = libraries(site, cache)["cudnn"]

    assert facts["candidates"] == ["wheel 9.1.0.70", "user 9.0.0"]
    assert facts["found"] == "wheel"


def test_a_cache_of_nonsense_holds_nothing() -> None:
    assert candidates.paths_in_cache(b"") == []
    assert candidates.paths_in_cache(b"\xff\0/libcudnn.so.9") == []
    assert candidates.paths_in_cache(b"\0libcudnn.so.9\0no/libcudnn.so.9\0/usr/lib/libcudnn.so.9\0") == [
        "/usr/lib/libcudnn.so.9"]


def test_conda_s_record_tells_more_of_a_version_than_the_name_of_its_file(tmp_path: Path) -> None:
    prefix = tmp_path / "conda"
    for folder in ("bin", "conda-meta", "lib/python3.11/site-packages"):
        (prefix / folder).mkdir(parents=True)
    (prefix / "conda-meta" / "cudnn-9.1.0.70-h1.json").write_text("{}")
    python = prefix / "bin" / "python3.11"
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    cluster(prefix / "lib", "9.1.0")
    facts = capture(Machine(None, prefix), python=str(python), budget_s=60)["stack"]["libraries"]["cudnn"]
    assert (facts["found"], facts["installed"], facts["candidates"]) == ("conda", "9.1.0.70", ["conda 9.1.0"])


def test_nothing_is_loaded_or_started_to_tell_candidates(site: Path) -> None:
    torch_with(site, "enable")
    before = System().mapped_files()
    libraries(site)
    assert [path for path in System().mapped_files() if path not in before and str(site) in path] == []


def test_what_lies_in_a_torch_of_older_days_tells_no_version(site: Path) -> None:
    shared_library(site / "torch" / "lib" / "libcublas.so.12", NOTHING)
    facts = libraries(site)["cublas"]
    assert facts["candidates"] == ["wheel"]
    assert facts["installed"] == {"unread": "not-reported"}


def test_a_look_in_the_process_leaves_candidates_to_the_prologue(site: Path) -> None:
    document = capture(System(), vantage="process")
    found = [facts for facts in document["stack"]["libraries"].values() if isinstance(facts, dict)]
    assert all(facts.get("candidates", {"unread": "not-loaded"}) == {"unread": "not-loaded"} for facts in found)


def test_a_library_path_of_a_thousand_folders_ends(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch_with(site, "enable")
    monkeypatch.setenv("LD_LIBRARY_PATH", ":".join(f"/nowhere/{number}" for number in range(1000)))
    assert libraries(site)["cudnn"]["candidates"] == ["wheel 9.1.0.70"]
