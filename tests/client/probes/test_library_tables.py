"""The tables of numeric libraries fit each other and the document; what recorded hosts have is found by them."""

from __future__ import annotations

from typing import Any

import pytest
from recorded import RecordedSystem

from repro_env.capture import capture
from repro_env.probes import libraries, library_files, library_questions
from repro_env.probes.keys import LIBRARIES
from repro_env.probes.libcuda import described

KNOWN = frozenset(LIBRARIES)
#: libraries whose files are told by more than the start of their names.
BY_RULE = frozenset(("triton", "openblas"))
#: libraries that report no version: by distribution, by build id, or with a device only.
WITHOUT_QUESTION = frozenset(("triton", "openmp", "hipblaslt"))


def test_every_library_of_the_document_has_its_files() -> None:
    assert set(library_files.STEMS.values()) | BY_RULE == KNOWN


def test_every_library_that_can_answer_is_asked() -> None:
    assert library_questions.QUESTIONS.keys() | WITHOUT_QUESTION == KNOWN
    assert library_questions.QUESTIONS.keys().isdisjoint(WITHOUT_QUESTION)


@pytest.mark.parametrize("table", [library_files.DISTRIBUTIONS, dict.fromkeys(library_files.SEVERAL_ARE_USUAL),
                                   library_questions.FRONTS, dict.fromkeys(library_files.PARTS.values())],
                         ids=["distributions", "several-are-usual", "fronts", "parts"])
def test_tables_name_libraries_of_the_document(table: dict[str, Any]) -> None:
    assert table.keys() <= KNOWN


def test_the_parts_that_answer_for_a_front_are_files_of_that_library() -> None:
    for name, stems in library_questions.FRONTS.items():
        for stem in stems:
            assert {**library_files.STEMS, **library_files.PARTS}[stem] == name


def test_main_files_and_parts_are_told_apart() -> None:
    assert library_files.STEMS.keys().isdisjoint(library_files.PARTS)
    main, parts = library_files.by_library(
        ["/x/libcudnn_ops.so.9", "/x/libcudnn.so.9", "/x/libc.so.6", "/x/libcublasLt.so.12", "/y/libcudnn.so.9"])
    assert main == {"cudnn": ["/x/libcudnn.so.9", "/y/libcudnn.so.9"]}
    assert parts == {"cudnn": ["/x/libcudnn_ops.so.9"], "cublas": ["/x/libcublasLt.so.12"]}


@pytest.mark.parametrize(("name", "distributions"), [
    ("cudnn", ["nvidia-cudnn", "nvidia-cudnn-cu13", "nvidia-cudnn-cu12", "nvidia-cudnn-cu11"]), ("mkl", ["mkl"]),
    ("openblas", [])])
def test_distributions_of_nvidia_carry_the_major_version_of_cuda(name: str, distributions: list[str]) -> None:
    assert library_files.distributions_of(name) == distributions


@pytest.mark.parametrize(("name", "folder"), [
    ("cudnn", "nvidia/cudnn/lib"), ("nvrtc", "nvidia/cuda_nvrtc/lib"), ("cublas", "nvidia/cu13/lib"),
    ("miopen", "torch/lib")])
def test_wheels_keep_a_library_in_known_folders(name: str, folder: str) -> None:
    assert folder in library_files.wheel_folders(name)


@pytest.mark.parametrize(("path", "version", "compat"), [
    ("/usr/lib/x86_64-linux-gnu/libcuda.so.550.54.15", "550.54.15", False),
    ("/usr/local/cuda-12.4/compat/libcuda.so.550.54.15", "550.54.15", True),
    ("/usr/local/cuda/compat/lib.real/libcuda.so.570.86.10", "570.86.10", True),
    ("/opt/conda/cuda-compat/libcuda.so.550.90.07", "550.90.07", True),
    ("/usr/lib/wsl/drivers/nv/libcuda.so.1.1", None, False), ("/home/compat/lib/libcuda.so.535.1", "535.1", True),
    ("/x/libcuda.so.1", None, False)])
def test_the_driver_s_library_by_its_path(path: str, version: str | None, compat: bool) -> None:
    assert described(path) == ({"unread": "not-reported"} if version is None else version, compat)


def test_a_rocm_build_has_amd_s_libraries_and_none_of_nvidia_s() -> None:
    found = capture(RecordedSystem("mi300x-node"))["stack"]["libraries"]
    assert found["miopen"]["candidates"] == ["wheel"]
    assert found["rccl"]["candidates"] == ["wheel"]
    assert found["rocblas"] is not None
    assert [found[name] for name in libraries._CUDA] == [None] * len(libraries._CUDA)


def test_a_cpu_build_has_surely_none_of_amd_s_libraries() -> None:
    found = capture(RecordedSystem("cpu-container"))["stack"]["libraries"]
    assert [found[name] for name in libraries._ROCM] == [None] * len(libraries._ROCM)


def test_files_inside_an_older_torch_are_candidates() -> None:
    found = capture(RecordedSystem("a100-mig"))["stack"]["libraries"]
    for name in ("cuda_runtime", "cublas", "cudnn", "nccl"):
        assert found[name]["candidates"][0].startswith("wheel"), name
        assert found[name]["found"] == "wheel"


def test_a_wheel_whose_files_were_not_seen_stays_as_its_record_says() -> None:
    found = capture(RecordedSystem("h100-node"))["stack"]["libraries"]["cudnn"]
    assert (found["installed"], found["found"]) == ("9.1.0.70", "wheel")
    assert found["build_id"] == {"unread": "not-loaded"}


def test_every_list_of_candidates_has_its_source() -> None:
    document = capture(RecordedSystem("a100-mig"))
    for name in LIBRARIES:
        facts = document["stack"]["libraries"][name]
        if isinstance(facts, dict) and isinstance(facts["candidates"], list):
            assert document["capture"]["sources"][f"libraries.{name}.candidates"] == "files"
