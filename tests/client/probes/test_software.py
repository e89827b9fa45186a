"""Frameworks, libraries and switches before a program runs: from files and variables, not imported, not guessed."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
import torch
from recorded import RecordedSystem

from repro_env.capture import capture
from repro_env.probes.frameworks import torch_build, version_values
from repro_env.probes.libraries import blas_version
from repro_env.probes.switches import hash_seed
from repro_env.system import System

UNLOADED = {"unread": "not-loaded"}


@pytest.fixture(scope="module")
def here() -> dict[str, Any]:
    """The stack of this environment, seen from outside."""
    return capture(System(), python=sys.executable)["stack"]  # type: ignore[no-any-return]


def test_torch_is_read_from_files_as_it_says_of_itself(here: dict[str, Any]) -> None:
    facts = here["frameworks"]["torch"]
    assert facts["version"] == torch.__version__
    assert facts["revision"] == torch.version.git_version
    assert facts["cuda_build"] == torch.version.cuda
    assert facts["debug"] == torch.version.debug
    assert facts["imported"] == UNLOADED


def test_numpy_and_its_openblas_are_read_from_files(here: dict[str, Any]) -> None:
    assert here["frameworks"]["numpy"]["version"] == np.__version__
    blas = np.show_config(mode="dicts")["Build Dependencies"]["blas"]
    assert here["libraries"]["openblas"]["installed"] == blas["version"]


def test_a_framework_that_is_not_there_is_surely_absent(here: dict[str, Any]) -> None:
    assert here["frameworks"]["tensorflow"] is None
    assert here["frameworks"]["jax"] is None


def test_a_cuda_build_with_its_wheels() -> None:
    stack = capture(RecordedSystem("h100-node"))["stack"]
    facts = stack["frameworks"]["torch"]
    assert (facts["version"], facts["cuda_build"], facts["rocm_build"]) == ("2.4.1+cu121", "12.1", None)
    assert facts["arch_list"] == UNLOADED
    cudnn = stack["libraries"]["cudnn"]
    assert (cudnn["installed"], cudnn["found"], cudnn["loaded"]) == ("9.1.0.70", "wheel", UNLOADED)
    assert stack["libraries"]["triton"]["installed"] == "3.0.0"
    assert stack["libraries"]["rccl"] is None


def test_what_lies_in_system_folders_is_told_apart_from_what_is_installed() -> None:
    libraries = capture(RecordedSystem("h100-node"))["stack"]["libraries"]
    assert libraries["system_cudnn"] == ["8.9.7"]
    assert libraries["cuda_toolkit"] == "12.4.131"
    assert libraries["cuda_runtime"]["installed"] == "12.1.105"


def test_libraries_inside_an_older_torch_are_there_with_no_version() -> None:
    libraries = capture(RecordedSystem("a100-mig"))["stack"]["libraries"]
    assert libraries["cudnn"]["found"] == "wheel"
    assert libraries["cudnn"]["installed"] == {"unread": "not-reported"}
    assert libraries["cufft"]["installed"] == UNLOADED  # a CUDA build may find it elsewhere: not absent


def test_a_cpu_build_in_a_whole_environment_has_surely_no_cuda_library() -> None:
    stack = capture(RecordedSystem("cpu-container"))["stack"]
    assert [stack["libraries"][name] for name in ("cuda_runtime", "cudnn", "nccl", "miopen")] == [None] * 4
    assert stack["libraries"]["mkl"] is not None  # torch carries it inside itself
    assert stack["frameworks"]["torch"]["arch_list"] is None


def test_a_rocm_build() -> None:
    stack = capture(RecordedSystem("mi300x-node"))["stack"]
    assert stack["frameworks"]["torch"]["rocm_build"] == "6.1.40091-a8dbc0c19"
    assert stack["libraries"]["miopen"]["found"] == "wheel"
    assert stack["libraries"]["cudnn"] is None


@pytest.mark.parametrize(("version", "cuda", "rocm"), [
    ("2.4.1+cpu", None, None), ("2.4.1+cu121", {"unread": "not-reported"}, None),
    ("2.4.1+rocm6.1", None, {"unread": "not-reported"}),
    ("2.4.1", {"unread": "not-reported"}, {"unread": "not-reported"})])
def test_without_its_version_module_torch_s_label_tells_only_what_it_says(version: str, cuda: Any, rocm: Any) -> None:
    facts = torch_build({}, version)
    assert (facts["cuda_build"], facts["rocm_build"]) == (cuda, rocm)


def test_a_version_module_is_read_as_text() -> None:
    class Text(System):
        def read_text(self, path: str, limit: int = 65536) -> str:
            return ("import os\nos.system('false')\n__version__ = '2.4.1'\ncuda: Optional[str] = '12.1'\nhip = None\n"
                    "debug = False\ngit_version = \"abc\"\nx = call('y')\ny = 'a' + 'b'\n")

    assert version_values(Text(), "x") == {"__version__": "2.4.1", "cuda": "12.1", "hip": None, "debug": False,
                                           "git_version": "abc"}


@pytest.mark.parametrize(("text", "version"), [
    ('"blas": {"name": "scipy-openblas", "found": True, "version": "0.3.30"}', "0.3.30"),
    ('"blas": {"name": "openblas64", "version": "0.3.21"}', "0.3.21"), ('"name": "mkl", "version": "2024"', None),
    ("", None)])
def test_the_openblas_of_numpy_s_build_record(text: str, version: str | None) -> None:
    assert blas_version(text) == version


@pytest.mark.parametrize(("value", "expected"), [
    (None, "random"), ("", "random"), ("random", "random"), ("0", "0"), ("007", "7"), ("x", {"unread": "failed"})])
def test_the_hash_seed_as_it_acts(value: str | None, expected: Any) -> None:
    assert hash_seed(value) == expected


def test_variables_that_decide_a_switch_are_read_and_the_rest_is_too_early() -> None:
    document = capture(RecordedSystem("cpu-container", CUBLAS_WORKSPACE_CONFIG=":4096:8", NCCL_ALGO="Ring",
                                      NCCL_NVLS_ENABLE="0", WORLD_SIZE="8", RANK="0",
                                      XLA_FLAGS="--xla_gpu_deterministic_ops=true"))
    stack = document["stack"]
    assert stack["determinism"]["cublas_workspace"] == ":4096:8"
    assert stack["determinism"]["xla_deterministic"] is True
    assert stack["determinism"]["cudnn_benchmark"] == {"unread": "too-early"}
    assert (stack["collectives"]["algorithm"], stack["collectives"]["protocol"]) == ("Ring", None)
    assert stack["collectives"]["nvls"] is False
    assert document["program"]["layout"]["world_size"] == 8
    assert set(map(str, stack["precision"].values())) == {"{'unread': 'too-early'}"}


def test_unset_variables_are_surely_unset() -> None:
    stack = capture(RecordedSystem("cpu-container"))["stack"]
    assert stack["determinism"]["cublas_workspace"] is None
    assert stack["variables"]["values"]["OMP_NUM_THREADS"] is None
