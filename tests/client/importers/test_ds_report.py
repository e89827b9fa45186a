"""DeepSpeed's report: three CUDA versions that stay apart, errors in place of versions, and cuts."""

from __future__ import annotations

import pytest
from importing import document_of, notes_of, stack_of

from repro_env.errors import UnknownFormat
from repro_env.fingerprint.facts import is_unread
from repro_env.importers import import_text

SILENT = {"unread": "not-reported"}
NOT_RECORDED = {"unread": "not-recorded"}
TITLE = "DeepSpeed general environment info:\n"
ROWS = {
    "torch install path": "['/opt/venv/lib/python3.10/site-packages/torch']",
    "torch version": "2.3.0+cu121",
    "deepspeed install path": "['/opt/venv/lib/python3.10/site-packages/deepspeed']",
    "deepspeed info": "0.14.2, unknown, unknown",
    "torch cuda version": "12.1",
    "torch hip version": "None",
    "nvcc version": "12.4",
    "deepspeed wheel compiled w.": "torch 2.2, cuda 11.8",
}


def report(**values):
    rows = {**ROWS, **{name.replace("_", " "): value for name, value in values.items()}}
    told = {name: value for name, value in rows.items() if value is not None}
    return TITLE + "".join(f"{name} {'.' * (33 - len(name))} {value}\n" for name, value in told.items())


def test_three_cuda_versions_stay_apart():
    stack = stack_of(report())
    assert stack["frameworks"]["torch"]["cuda_build"] == "12.1"
    assert stack["libraries"]["cuda_toolkit"] == "12.4"
    assert is_unread(stack["driver"]["cuda_level"])
    assert is_unread(stack["libraries"]["cuda_runtime"])
    assert "DeepSpeed was compiled with: torch 2.2, cuda 11.8" in notes_of(report())


def test_torch_and_deepspeed_are_distributions():
    installed = stack_of(report(deepspeed_info="0.14.2+3f875d9, 3f875d9, HEAD"))["distributions"]["installed"]
    assert {row["name"]: row["version"] for row in installed} == {"deepspeed": "0.14.2+3f875d9", "torch": "2.3.0+cu121"}


@pytest.mark.parametrize(
    ("cuda", "hip", "builds"),
    [
        ("12.1", "None", ("12.1", None)),
        ("None", "None", (None, None)),
        ("None", "6.0.32830-d62f6a171", (None, "6.0.32830-d62f6a171")),
        ("11.1", None, ("11.1", None)),
        (None, None, ("12.1", None)),
    ],
    ids=["cuda", "cpu", "rocm", "before hip", "by the label alone"],
)
def test_what_torch_was_built_with(cuda, hip, builds):
    found = stack_of(report(torch_cuda_version=cuda, torch_hip_version=hip))["frameworks"]["torch"]
    assert (found["cuda_build"], found["rocm_build"]) == builds


@pytest.mark.parametrize(
    "value",
    [
        "[FAIL] cannot find CUDA_HOME via torch.utils.cpp_extension.CUDA_HOME=None",
        "[FAIL] nvcc missing",
        "None",
    ],
)
def test_a_toolkit_that_was_not_found_is_not_surely_absent(value):
    assert stack_of(report(nvcc_version=value))["libraries"]["cuda_toolkit"] == SILENT


def test_a_report_that_ends_before_the_toolkit_did_not_record_it():
    text = report().partition("nvcc version")[0]
    assert stack_of(text)["libraries"]["cuda_toolkit"] == NOT_RECORDED


@pytest.mark.parametrize(
    ("path", "version"),
    [
        ("['/opt/venv/lib/python3.10/site-packages/torch']", "3.10"),
        ("['/usr/lib/python3/dist-packages/torch']", NOT_RECORDED),
        ("['C:\\\\env\\\\Lib\\\\site-packages\\\\torch']", NOT_RECORDED),
    ],
)
def test_the_folder_of_torch_tells_python_where_it_names_it(path, version):
    text = report(torch_install_path=path, deepspeed_install_path=path)
    assert stack_of(text)["python"]["version"] == version


def test_two_pythons_tell_none():
    text = report(torch_install_path="['/a/lib/python3.9/site-packages/torch']")
    assert is_unread(stack_of(text)["python"]["version"])


def test_the_accelerator_of_the_reports_own_process_is_no_fact():
    line = "[2024-05-24 09:17:18] [INFO] [real_accelerator.py:203] Setting ds_accelerator to cpu (auto detect)\n"
    document = document_of(line + report())
    assert "accelerator that DeepSpeed chose: cpu (auto detect)" in document["capture"]["imported"]["notes"]
    assert is_unread(document["stack"]["frameworks"]["backend"])
    assert is_unread(document["stack"]["accelerators"]["devices"])


def test_operators_that_are_built_are_noted():
    rows = "fused_adam ............. [YES] ...... [OKAY]\ncpu_adam ............... [NO] ....... [OKAY]\n"
    text = "DeepSpeed C++/CUDA extension op report\n" + rows + report()
    assert "operators built beforehand: fused_adam" in notes_of(text)


def test_of_two_reports_the_first_is_imported():
    text = report() + "\n" + report(torch_version="2.1.0+cu118")
    assert stack_of(text)["frameworks"]["torch"]["version"] == "2.3.0+cu121"
    assert any("another such report" in note for note in notes_of(text))


def test_the_title_of_the_operators_alone_is_a_report_that_says_nothing():
    stack = stack_of("DeepSpeed C++/CUDA extension op report\n-----\n")
    assert is_unread(stack["frameworks"]["torch"])


@pytest.mark.parametrize("text", ["torch version .... 2.1\n", "DeepSpeed is great\nsee ds_report\n"])
def test_one_row_or_a_word_on_it_is_no_report(text):
    with pytest.raises(UnknownFormat):
        import_text(text)
