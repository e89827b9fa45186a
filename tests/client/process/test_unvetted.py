"""Extensions nobody vouches for are listed with owner and build; ordinary environments list none."""

from __future__ import annotations

import json
import sysconfig
from pathlib import Path
from typing import Any

import pytest
import torch
from compiled import distribution, shared_library

from repro_env.probes import elf, inprocess
from repro_env.probes.inprocess_libraries import Environment
from repro_env.probes.inprocess_unvetted import unvetted
from repro_env.probes.owners import Owner
from repro_env.system import System
from tests.client.process.test_readers import Host, settled
from tests.client.process.vendors import LOOK, look

KERNEL = "int answer(void) { return 42; }\n"
LIBRARIES = f"{Path(torch.__file__).parent}/lib"
#: links to torch's core as every extension of torch does, against the library itself and without its headers.
LINKED = ("-Wl,--no-as-needed", f"-L{LIBRARIES}", "-lc10", f"-Wl,-rpath,{LIBRARIES}")


class Mapping(System):
    """This machine with the files of a test mapped, and a search path of the test's."""

    def __init__(self, files: list[Path], path: list[Path]) -> None:
        self.files, self.path = files, path

    def mapped_files(self) -> list[str]:
        return [str(file.resolve()) for file in self.files]

    def interpreter(self) -> dict[str, Any]:
        return {**super().interpreter(), "search_path": [str(folder) for folder in self.path]}


def listed(files: list[Path], *path: Path) -> list[str]:
    return unvetted(Environment(Mapping(files, list(path))))


def build_id(path: Path) -> str:
    return elf.build_id(System(), str(path))


def test_this_test_environment_lists_nothing() -> None:
    program = ("import numpy, pydantic, sqlalchemy, torch, yaml\n" + LOOK
               + "assert sum(path.endswith('.so') for path in before) > 40, before\n")
    assert look(program=program)["libraries.unvetted_kernels"] == []


def test_a_kernel_built_on_the_spot_is_listed_whatever_it_links(tmp_path: Path) -> None:
    kernel = shared_library(tmp_path / "kernel.so", KERNEL)
    assert look(kernel)["libraries.unvetted_kernels"] == [f"kernel.so@{build_id(kernel)}"]


def test_an_extension_of_torch_is_listed_when_a_program_loads_it(tmp_path: Path) -> None:
    cache = tmp_path / ".cache" / "torch_extensions" / "py311_cpu" / "my_ops"
    module = shared_library(cache / f"my_ops{sysconfig.get_config_var('EXT_SUFFIX')}", """
        #include <Python.h>
        static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "my_ops", 0, -1, 0};
        PyMODINIT_FUNC PyInit_my_ops(void) { return PyModule_Create(&definition); }
        """, f"-I{sysconfig.get_path('include')}", *LINKED)
    load = f"import sys; sys.path.insert(0, {str(cache)!r}); import my_ops\n"
    program = LOOK.replace("import ctypes", f"{load}import ctypes")

    assert look(program=program)["libraries.unvetted_kernels"] == [f"{module.name}@{build_id(module)}"]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    return tmp_path / "lib" / "python3.11" / "site-packages"


def test_an_extension_of_a_distribution_that_links_torch_is_listed_with_its_version(site: Path) -> None:
    kernel = shared_library(site / "flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so", KERNEL, *LINKED)
    distribution(site, "flash-attn", "2.5.8", [kernel.name, "flash_attn/__init__.py"])
    assert listed([kernel], site) == [f"flash-attn 2.5.8@{build_id(kernel)}"]


@pytest.mark.parametrize("needed", [
    "libcudart.so.12", "libcublas.so.12", "libgomp-a34b3233.so.1.0.0", "libamdhip64.so.6", "libopenblas.so.0",
    "libmkl_rt.so.2", "libtbb.so.12", "libscipy_openblas64_-32a4.so"])
def test_whatever_links_something_to_compute_with_is_listed(needed: str, site: Path, tmp_path: Path) -> None:
    shared_library(tmp_path / needed, "int there(void) { return 1; }\n", f"-Wl,-soname,{needed}")
    kernel = shared_library(site / "ops" / "_C.abi3.so", KERNEL, "-Wl,--no-as-needed", str(tmp_path / needed))
    distribution(site, "ops", "1.0", ["ops/_C.abi3.so"])
    assert listed([kernel], site) == [f"ops 1.0@{build_id(kernel)}"]


def test_text_and_files_of_an_unknown_distribution_are_not_listed(site: Path) -> None:
    parser = shared_library(site / "parser" / "_speedups.so", KERNEL, "-lm")
    distribution(site, "parser", "1.0", ["parser/_speedups.so"])
    assert listed([parser], site) == []


@pytest.mark.parametrize(("name", "installer", "origin", "counts"), [
    ("torchvision", "pip", None, False), ("numpy", "conda", {"url": "file:///home/conda/feedstock_root/work",
                                                             "dir_info": {}}, False),
    ("torchvision", "pip", {"url": "file:///wheelhouse/torchvision-0.19-cp311.whl", "archive_info": {}}, False),
    ("torchvision", "pip", {"url": "https://example.org/vision.git", "vcs_info": {"vcs": "git"}}, True),
    ("psutil", "pip", {"url": "file:///src/psutil", "dir_info": {}}, False), ("xformers", "pip", None, True)],
    ids=["index", "conda", "wheelhouse", "from-source", "harmless-from-source", "unknown"])
def test_a_known_distribution_is_vouched_for_unless_it_was_built_here(name: str, installer: str, origin: Any,
                                                                      counts: bool, site: Path) -> None:
    kernel = shared_library(site / name / "_C.so", KERNEL, *LINKED)
    distribution(site, name, "0.19", [f"{name}/_C.so"], installer=installer,
                 origin=None if origin is None else json.dumps(origin))
    assert listed([kernel], site) == ([f"{name} 0.19@{build_id(kernel)}"] if counts else [])


def test_an_editable_install_is_listed_whatever_it_links(site: Path, tmp_path: Path) -> None:
    source = tmp_path / "work" / "my_kernels"
    kernel = shared_library(source / "my_kernels" / "ops.so", KERNEL)
    distribution(site, "my-kernels", "0.3.dev0", [], origin=json.dumps(
        {"url": source.resolve().as_uri(), "dir_info": {"editable": True}}))
    assert listed([kernel], site) == [f"my-kernels 0.3.dev0@{build_id(kernel)}"]


def test_a_file_put_into_a_known_package_by_hand_is_listed(site: Path) -> None:
    distribution(site, "torch", "2.4.1", ["torch/lib/libtorch_cpu.so"])
    own = shared_library(site / "torch" / "lib" / "libtorch_cpu.so", KERNEL)
    other = shared_library(site / "torch" / "lib" / "libmine.so", KERNEL)
    assert listed([own, other], site) == [f"libmine.so@{build_id(other)}"]


def test_libraries_with_facts_of_their_own_are_not_listed_again(tmp_path: Path) -> None:
    names = ("libcublas.so.12", "libcublasLt.so.12", "libgomp.so.1")
    files = [shared_library(tmp_path / name, KERNEL) for name in names]
    assert listed(files) == []


@pytest.mark.parametrize("path", [
    "/scratch/torchinductor_me/ab/cabc.so", "/home/me/.triton/cache/ab/cuda_utils.so",
    "/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30", "/usr/lib/python3/dist-packages/apt_pkg.cpython-311.so",
    "/usr/local/lib/python3.12/lib-dynload/_json.so", "/data/weights.bin", "/opt/rocm/lib/libamdhip64.so.6"])
def test_products_of_compilation_and_what_the_system_brings_are_not_looked_at(path: str) -> None:
    class Elsewhere(Mapping):
        def mapped_files(self) -> list[str]:
            return [path]

        def interpreter(self) -> dict[str, Any]:
            return {**super().interpreter(), "base_prefix": "/usr/local", "search_path": []}

    assert unvetted(Environment(Elsewhere([], []))) == []


def test_the_folder_of_a_compile_cache_is_taken_from_its_variable(tmp_path: Path,
                                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = shared_library(tmp_path / "cache" / "ab.so", KERNEL)
    assert len(listed([kernel])) == 1
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "cache"))
    assert listed([kernel]) == []


def test_a_triton_of_one_s_own_is_no_cache(tmp_path: Path) -> None:
    kernel = shared_library(tmp_path / "triton" / "kernels.so", KERNEL)
    assert listed([kernel]) == [f"kernels.so@{build_id(kernel)}"]


def test_a_list_with_a_hole_is_no_list(tmp_path: Path) -> None:
    facts = inprocess.read(Host(files=[str(tmp_path / "gone.so")]), settled()).facts
    assert facts["libraries.unvetted_kernels"] == {"unread": "failed"}


def test_two_files_of_one_owner_are_two_lines_and_a_copy_is_none(site: Path) -> None:
    first, second = (shared_library(site / "ops" / f"{name}.so", f"int {name}(void) {{ return 1; }}\n", *LINKED)
                     for name in ("a", "b"))
    distribution(site, "ops", "1.0", ["ops/a.so", "ops/b.so"])
    assert listed([second, first, first], site) == sorted(f"ops 1.0@{build_id(path)}" for path in (first, second))


def test_an_owner_without_a_version_is_told_by_name() -> None:
    assert str(Owner("ops", None, "index")) == "ops"


def test_an_environment_with_scikit_learn_and_scipy_lists_nothing() -> None:
    python = Path(__file__).parents[3] / ".venv-frameworks" / "bin" / "python"
    if not python.exists():
        pytest.skip("they have an environment of their own; run make venv-frameworks")
    imports = "import scipy.linalg, sklearn.cluster\n"
    facts = look(python=python, program=LOOK.replace("import ctypes", f"{imports}import ctypes", 1))
    assert facts["libraries.unvetted_kernels"] == []
    assert (facts["libraries.openblas.found"], facts["libraries.openblas.conflicts"]) == ("wheel", [])
    assert facts["libraries.openblas.build_id"].count(", ") == 1, "NumPy's and SciPy's"
    assert facts["libraries.openmp.found"] == "wheel"
