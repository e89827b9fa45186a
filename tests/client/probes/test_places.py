"""Where a file lies is told in words that hold on every machine, and who owns it by the lists that installers leave."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path

import numpy as np  # noqa: F401 - its extensions are mapped, as are those of the next two
import pytest
import torch  # noqa: F401
import yaml  # noqa: F401
from compiled import distribution

from repro_env.probes.known_distributions import HARMLESS, NUMERIC, OF_MODULE, harmless, numeric
from repro_env.probes.owners import Owner, Owners
from repro_env.probes.places import Places, mount_points
from repro_env.system import System

MOUNTS = """22 1 0:21 / / rw,relatime - overlay overlay rw
30 22 0:5 / /usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15 ro,nosuid - ext4 /dev/sda1 ro
31 22 0:5 / /data/with\\040blank rw - ext4 /dev/sda1 rw
32 22 0:5 / /usr/local/nvidia ro - ext4 /dev/sda1 ro
"""


class Machine(System):
    """Folders that are there, mounts and variables, all made up."""

    def __init__(self, *folders: str, mounts: str = "", **variables: str) -> None:
        self.folders, self.mounts, self.variables = folders, mounts, variables

    @property
    def environ(self) -> Mapping[str, str]:
        return self.variables

    def is_dir(self, path: str) -> bool:
        return path in self.folders

    def realpath(self, path: str) -> str:
        return path

    def read_bytes(self, path: str, limit: int = 65536) -> bytes:
        assert path == "/proc/self/mountinfo"
        if not self.mounts:
            raise FileNotFoundError(path)
        return self.mounts.encode()


SITE = "/home/a/venv/lib/python3.11/site-packages"


@pytest.mark.parametrize(("path", "place"), [
    (f"{SITE}/nvidia/cudnn/lib/libcudnn.so.9", "wheel"),
    ("/home/a/.local/lib/python3.11/site-packages/nvidia/cudnn/lib/libcudnn.so.9", "user"),
    ("/opt/conda/lib/libcudnn.so.9.1.0", "conda"),
    ("/usr/lib/x86_64-linux-gnu/libcudnn.so.9.1.0", "system"), ("/usr/local/cuda-12.4/lib64/libcublas.so.12", "system"),
    ("/opt/rocm-6.1.0/lib/librocblas.so.4.1.60100", "system"), ("/usr/lib/python3/dist-packages/x/lib.so", "system"),
    ("/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15", "container"), ("/.singularity.d/libs/libcuda.so.1", "container"),
    ("/usr/local/nvidia/lib64/libcuda.so.550.54.15", "container"),
    ("/home/a/cudnn/lib/libcudnn.so.8", "user"), ("/scratch/job/lib/libnccl.so.2.21.5", "user"),
])
def test_a_file_has_one_place(path: str, place: str) -> None:
    machine = Machine("/opt/conda/conda-meta", mounts=MOUNTS, HOME="/home/a")
    assert Places(machine, ("/home/a/venv", "/opt/conda"), (SITE, "/home/a/project")).of(path) == place


def test_a_virtual_environment_below_the_user_s_data_is_no_user_site() -> None:
    site = "/home/a/.local/share/virtualenvs/x/lib/python3.11/site-packages"
    assert Places(Machine(HOME="/home/a"), (), (site,)).of(f"{site}/torch/lib/libc10.so") == "wheel"


def test_without_a_mount_the_kubernetes_folder_is_the_system_s() -> None:
    assert Places(Machine(HOME="/root"), (), ()).of("/usr/local/nvidia/lib64/libcuda.so.1") == "system"


def test_blanks_in_mount_points_are_read() -> None:
    assert "/data/with blank" in mount_points(MOUNTS)
    assert mount_points("nonsense\n\n") == frozenset()


def test_this_process_has_mounts() -> None:
    assert "/" in Places(System(), (), ()).mounts()


@pytest.fixture
def site(tmp_path: Path) -> Path:
    site = tmp_path / "venv" / "lib" / "python3.11" / "site-packages"
    distribution(site, "flash-attn", "2.5.8", ["flash_attn/__init__.py", "flash_attn_2_cuda.cpython-311-x86.so"])
    distribution(site, "numpy", "2.1.0", ["numpy/core.so", "numpy.libs/libopenblas-ab12cd34.so"])
    distribution(site, "nvidia-cudnn-cu12", "9.1.0.70", ["nvidia/cudnn/lib/libcudnn.so.9"])
    distribution(site, "nvidia-cublas-cu12", "12.1.3.1", ["nvidia/cublas/lib/libcublas.so.12"])
    distribution(site, "local-kernels", "0.1", ["local_kernels/k.so"], origin=json.dumps(
        {"url": "file:///src/local-kernels", "dir_info": {}}))
    distribution(site, "from-wheel", "1.0", ["from_wheel/k.so"], origin=json.dumps(
        {"url": "file:///wheelhouse/from_wheel-1.0-cp311-cp311-linux_x86_64.whl", "archive_info": {}}))
    distribution(site, "scipy", "1.14.1", ["scipy/k.so"], installer="conda", origin=json.dumps(
        {"url": "file:///home/conda/feedstock_root/build_artifacts/scipy/work", "dir_info": {}}))
    return site


@pytest.mark.parametrize(("file", "owner", "way"), [
    ("flash_attn_2_cuda.cpython-311-x86.so", "flash-attn 2.5.8", "index"),
    ("numpy/core.so", "numpy 2.1.0", "index"), ("numpy.libs/libopenblas-ab12cd34.so", "numpy 2.1.0", "index"),
    ("nvidia/cudnn/lib/libcudnn.so.9", "nvidia-cudnn-cu12 9.1.0.70", "index"),
    ("nvidia/cublas/lib/libcublas.so.12", "nvidia-cublas-cu12 12.1.3.1", "index"),
    ("local_kernels/k.so", "local-kernels 0.1", "local"), ("from_wheel/k.so", "from-wheel 1.0", "index"),
    ("scipy/k.so", "scipy 1.14.1", "conda")])
def test_a_listed_file_belongs_to_its_distribution(file: str, owner: str, way: str, site: Path) -> None:
    path = str(site.resolve() / file)
    found = Owners(System(), [str(site)]).of([path])[path]
    assert isinstance(found, Owner)
    assert (str(found), found.way) == (owner, way)


@pytest.mark.parametrize("file", ["numpy/put_here.so", "flash_attn/core", "nvidia/cudnn/lib/libcudnn.so", "own.so"])
def test_a_file_that_no_list_holds_belongs_to_nobody(file: str, site: Path) -> None:
    path = str(site.resolve() / file)
    assert Owners(System(), [str(site)]).of([path]) == {path: None}


def test_a_library_that_a_wheel_put_beside_the_site_folder_belongs_to_it(site: Path) -> None:
    beside = site.resolve().parents[1]
    distribution(site, "mkl", "2024.2.0", ["../../libmkl_rt.so.2", "../../libmkl_vml_def.so.2"])
    paths = [str(beside / name) for name in ("libmkl_vml_def.so.2", "libmine.so")]
    found = Owners(System(), [str(site)]).of(paths)
    assert str(found[paths[0]]) == "mkl 2024.2.0"
    assert found[paths[1]] is None


def test_without_a_list_the_name_decides(tmp_path: Path) -> None:
    site = tmp_path / "dist-packages"
    for name in ("numpy", "other"):
        (site / f"{name}-1.26.4.egg-info").mkdir(parents=True)
    paths = [str(site.resolve() / "numpy" / "core.so"), str(site.resolve() / "kernels.so")]
    found = Owners(System(), [str(site)]).of(paths)
    assert str(found[paths[0]]) == "numpy 1.26.4"
    assert found[paths[1]] is None


def test_a_record_of_conda_stands_in_for_the_installer(tmp_path: Path) -> None:
    site = tmp_path / "lib" / "python3.11" / "site-packages"
    (site / "PyYAML-6.0-py3.11.egg-info").mkdir(parents=True)
    (tmp_path / "conda-meta").mkdir()
    path = str(site.resolve() / "yaml" / "_yaml.so")
    owner = Owners(System(), [str(site)]).of([path])[path]
    assert owner is not None
    assert owner.way == "conda"


def test_a_file_in_the_source_folder_of_an_editable_install_belongs_to_it(tmp_path: Path) -> None:
    site, source = tmp_path / "site-packages", tmp_path / "src" / "my kernels"
    source.mkdir(parents=True)
    distribution(site, "my-kernels", "0.3", [], origin=json.dumps(
        {"url": source.resolve().as_uri(), "dir_info": {"editable": True}}))
    path = str(source.resolve() / "my_kernels" / "ops.so")
    owners = Owners(System(), [str(site)]).of([path, "/elsewhere/ops.so"])
    found = owners[path]
    assert found is not None
    assert (str(found), found.way) == ("my-kernels 0.3", "editable")
    assert owners["/elsewhere/ops.so"] is None


def test_a_new_distribution_is_seen_although_the_folder_was_known(site: Path) -> None:
    path = str(site.resolve() / "late" / "k.so")
    assert Owners(System(), [str(site)]).of([path]) == {path: None}
    distribution(site, "late", "1.0", ["late/k.so"])
    assert str(Owners(System(), [str(site)]).of([path])[path]) == "late 1.0"


def test_every_extension_that_this_process_maps_from_a_site_folder_has_an_owner() -> None:
    paths = [path for path in System().mapped_files() if "/site-packages/" in path and ".so" in path]
    assert any("/torch/lib/" in path for path in paths)
    owners = Owners(System(), [path for path in sys.path if path]).of(paths)
    assert [path for path in paths if owners[path] is None] == []
    assert {str(owner).partition(" ")[0] for owner in owners.values()} >= {"torch", "numpy", "pyyaml"}


def test_the_tables_hold_normalised_names_and_do_not_contradict_each_other() -> None:
    names = [*NUMERIC, *HARMLESS, *(name for names in OF_MODULE.values() for name in names)]
    assert [name for name in names if name != name.lower().replace("_", "-").replace(".", "-")] == []
    assert NUMERIC.isdisjoint(HARMLESS)
    assert [name for name in HARMLESS if numeric(name)] == []


@pytest.mark.parametrize(("name", "known", "without"), [
    ("torch", True, False), ("nvidia-cudnn-cu12", True, False), ("opencv-python-headless", True, False),
    ("psutil", False, True), ("flash-attn", False, False), ("xformers", False, False), ("apex", False, False)])
def test_kinds_of_distributions(name: str, known: bool, without: bool) -> None:
    assert (numeric(name), harmless(name)) == (known, without)
