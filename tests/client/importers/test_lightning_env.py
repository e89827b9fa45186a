"""Lightning's lists: GPUs that torch sees, torch by its own word, the system in its four words."""

from __future__ import annotations

import pytest
from importing import notes_of, stack_of

from repro_env.errors import UnknownFormat
from repro_env.fingerprint.facts import is_unread
from repro_env.importers import import_text

SILENT = {"unread": "not-reported"}
NOT_RECORDED = {"unread": "not-recorded"}
REPORT = """* CUDA:
\t- GPU:
{gpus}\t- available:         {available}
\t- version:           {cuda}
* Lightning:
\t- pytorch-lightning: 2.1.0
\t- torch:             {torch}
* Packages:
\t- numpy:             1.26.1
\t- torch:             {torch}
* System:
\t- OS:                {os}
\t- architecture:
\t\t- 64bit
\t\t- ELF
\t- processor:         {processor}
\t- python:            3.11.5
\t- release:           {release}
\t- version:           #97-Ubuntu SMP
"""
DEFAULTS = {
    "gpus": "\t\t- NVIDIA L4\n",
    "available": "True",
    "cuda": "12.1",
    "torch": "2.1.0",
    "os": "Linux",
    "processor": "x86_64",
    "release": "5.15.0-87-generic",
}


def report(**lines):
    return REPORT.format(**{**DEFAULTS, **lines})


def torch(**lines):
    return stack_of(report(**lines))["frameworks"]["torch"]


def names(text):
    return [device["name"] for device in stack_of(text)["accelerators"]["devices"]]


def test_version_under_cuda_is_what_torch_was_built_with():
    stack = stack_of(report())
    assert stack["frameworks"]["torch"]["cuda_build"] == "12.1"
    assert is_unread(stack["libraries"]["cuda_toolkit"])
    assert is_unread(stack["driver"]["cuda_level"])


@pytest.mark.parametrize(
    ("cuda", "version", "build"),
    [("None", "2.1.0", None), ("None", "2.1.0+cpu", None), ("11.8", "2.1.0+cu118", "11.8"), ("", "2.1.0", SILENT)],
)
def test_torch_without_cuda_says_none(cuda, version, build):
    assert torch(cuda=cuda, torch=version)["cuda_build"] == build


def test_every_gpu_of_the_list_is_a_device():
    text = report(gpus="\t\t- NVIDIA L4\n\t\t- Tesla T4\n\t\t- NVIDIA L4\n")
    assert names(text) == ["NVIDIA L4", "NVIDIA L4", "Tesla T4"]


def test_a_slice_is_told_by_the_name_that_torch_gives_it():
    (device,) = stack_of(report(gpus="\t\t- NVIDIA A100-SXM4-40GB MIG 3g.20gb\n"))["accelerators"]["devices"]
    assert (device["name"], device["mig_profile"]) == ("NVIDIA A100-SXM4-40GB", "3g.20gb")


@pytest.mark.parametrize("gpus", ["", "\t\t- None\n"])
def test_no_gpu_that_torch_sees_is_not_no_gpu(gpus):
    assert stack_of(report(gpus=gpus, available="False"))["accelerators"]["devices"] == SILENT


def test_none_on_the_line_of_the_gpus():
    text = report().replace("\t- GPU:\n\t\t- NVIDIA L4\n", "\t- GPU:               None\n")
    assert stack_of(text)["accelerators"]["devices"] == SILENT


def test_a_list_of_gpus_that_the_text_ends_is_open():
    text = report().partition("\t- available")[0]
    assert names(text) == ["NVIDIA L4", NOT_RECORDED]
    assert "the text ends in the list of GPUs: there may be more than it shows" in notes_of(text)


def test_a_row_that_the_end_breaks_is_not_believed():
    assert "T" not in str(names(report().partition("\t- available")[0] + "\t\t- Tes")[0]).replace("NVIDIA L4", "")


def test_names_of_old_rows():
    rows = "\t- pyTorch_version:   1.6.0+cu101\n\t- pyTorch_debug:     False\n"
    text = report().replace("\t- torch:             2.1.0\n", rows)
    found = stack_of(text)["frameworks"]["torch"]
    assert (found["version"], found["debug"]) == ("1.6.0+cu101", False)


@pytest.mark.parametrize(
    ("os", "processor", "release", "family", "kernel", "cpu"),
    [
        ("Linux", "x86_64", "5.15.0-87-generic", "linux", "5.15.0-87-generic", ("x86_64", NOT_RECORDED)),
        ("Linux", "aarch64", "6.5.0", "linux", "6.5.0", ("aarch64", NOT_RECORDED)),
        ("Linux", "", "6.5.0", "linux", "6.5.0", (NOT_RECORDED, NOT_RECORDED)),
        ("Darwin", "arm", "22.4.0", "macos", "22.4.0", ("arm64", NOT_RECORDED)),
        ("Darwin", "i386", "22.4.0", "macos", "22.4.0", (NOT_RECORDED, NOT_RECORDED)),
        (
            "Windows",
            "Intel64 Family 6 Model 158 Stepping 10, GenuineIntel",
            "10",
            "windows",
            NOT_RECORDED,
            (NOT_RECORDED, "6-158"),
        ),
    ],
    ids=["linux", "arm", "without processor", "apple", "intel mac", "windows"],
)
def test_systems(os, processor, release, family, kernel, cpu):
    stack = stack_of(report(os=os, processor=processor, release=release))
    assert (stack["system"]["os_family"], stack["system"]["kernel"]) == (family, kernel)
    assert (stack["cpu"]["architecture"], stack["cpu"]["microarchitecture"]) == cpu


def test_wsl_is_told_by_the_kernel():
    stack = stack_of(report(release="5.15.153.1-microsoft-standard-WSL2"))
    assert stack["system"]["virtualisation"] == "wsl2"


def test_availability_is_noted():
    assert "Is CUDA available: False" in notes_of(report(available="False"))


def test_of_two_reports_the_first_is_imported():
    assert torch()["version"] == stack_of(report() + "\n" + report(torch="1.0"))["frameworks"]["torch"]["version"]


def test_text_below_belongs_to_nobody():
    assert stack_of(report() + "\nThis happens with:\n- batch size: 8\n- optimizer: SGD\n") == stack_of(report())


@pytest.mark.parametrize(
    "text",
    [
        "* System: mine\n",
        "* Packages:\n- apples: 3\n",
        "* CUDA: 11\n* Lightning: yes\n",
        "CUDA:\n- GPU:\n",
    ],
)
def test_a_list_that_only_begins_so_is_another(text):
    with pytest.raises(UnknownFormat):
        import_text(text)
