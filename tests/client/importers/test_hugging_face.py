"""Lists of transformers and its sisters, and of accelerate: rows, versions, devices, and what is only a default."""

from __future__ import annotations

import pytest
from importing import document_of, notes_of, stack_of

from repro_env.errors import UnknownFormat
from repro_env.fingerprint.facts import is_unread
from repro_env.importers import detect, import_text

SILENT = {"unread": "not-reported"}
NOT_RECORDED = {"unread": "not-recorded"}
LINUX = "Linux-5.15.0-105-generic-x86_64-with-glibc2.35"


def listing(*rows, head="- `transformers` version: 4.41.2", python="3.10.12"):
    lines = (head, f"- Platform: {LINUX}", f"- Python version: {python}", *(f"- {row}" for row in rows))
    return "\n".join(lines) + "\n"


def torch(told, label="PyTorch version (GPU?)"):
    return stack_of(listing(f"{label}: {told}"))["frameworks"]["torch"]


def test_versions_are_distributions_by_their_own_names():
    rows = ("Huggingface_hub version: 0.23.3", "Safetensors version: 0.4.3", "PyTorch version (GPU?): 2.3.0 (True)")
    installed = stack_of(listing(*rows))["distributions"]["installed"]
    assert {row["name"]: row["version"] for row in installed} == {
        "huggingface-hub": "0.23.3",
        "safetensors": "0.4.3",
        "torch": "2.3.0",
        "transformers": "4.41.2",
    }


@pytest.mark.parametrize("value", ["not installed (NA)", "not installed", "not found", "", "NA", "None"])
def test_what_is_not_installed_has_no_version(value):
    stack = stack_of(listing(f"Tensorflow version (GPU?): {value}", f"PyTorch version (GPU?): {value}"))
    assert is_unread(stack["frameworks"]["tensorflow"])
    assert is_unread(stack["frameworks"]["torch"])


@pytest.mark.parametrize(
    ("told", "version", "cuda", "rocm", "build"),
    [
        ("1.11.0+cu102 (False)", "1.11.0+cu102", "10.2", None, "wheel"),
        ("2.8.0+cu129 (CUDA)", "2.8.0+cu129", "12.9", None, "wheel"),
        ("2.3.1+rocm6.0 (True)", "2.3.1+rocm6.0", None, "6.0", "wheel"),
        ("2.4.1+cpu (False)", "2.4.1+cpu", None, None, "wheel"),
        ("1.12.1 (True)", "1.12.1", NOT_RECORDED, NOT_RECORDED, NOT_RECORDED),
        ("2.1.0a0+32f93b1 (True)", "2.1.0a0+32f93b1", NOT_RECORDED, NOT_RECORDED, "source"),
    ],
)
def test_the_label_of_torch_tells_its_build(told, version, cuda, rocm, build):
    found = torch(told)
    assert (found["version"], found["cuda_build"], found["rocm_build"], found["build"]) == (version, cuda, rocm, build)


@pytest.mark.parametrize(
    "label", ["PyTorch version (GPU?)", "PyTorch version (GPU)", "PyTorch version", "`PyTorch` version"]
)
def test_labels_of_every_era_and_hand(label):
    assert torch("2.1.2+cu121", label)["version"] == "2.1.2+cu121"


@pytest.mark.parametrize("flag", ["True", "False"])
def test_availability_is_noted_and_says_nothing_of_devices(flag):
    text = listing(f"PyTorch version (GPU?): 2.3.0 ({flag})")
    assert f"Is CUDA available: {flag}" in notes_of(text)
    assert stack_of(text)["accelerators"]["devices"] == NOT_RECORDED


def test_gpu_type_is_the_current_device_and_perhaps_not_the_only_one():
    found = stack_of(listing("GPU type: NVIDIA H800"))["accelerators"]["devices"]
    assert [item["name"] for item in found] == ["NVIDIA H800", NOT_RECORDED]


@pytest.mark.parametrize("value", ["None", "N/A", ""])
def test_gpu_type_without_a_name_says_nothing(value):
    assert stack_of(listing(f"GPU type: {value}"))["accelerators"]["devices"] == NOT_RECORDED


def test_accelerators_of_diffusers_with_their_memory():
    text = listing(
        "Accelerator: NVIDIA A100-SXM4-80GB, 81920 MiB",
        head="- \U0001f917 Diffusers version: 0.30.0",
    ).rstrip("\n")
    text += "\nNVIDIA A100-SXM4-80GB, 81920 MiB\n```\n"
    found = stack_of(text)["accelerators"]["devices"]
    assert [(item["name"], item["memory_bytes"]) for item in found] == [("NVIDIA A100-SXM4-80GB", 81920 << 20)] * 2


def test_devices_of_trl_are_all():
    rows = (f"Platform: {LINUX}", "Python version: 3.11.9", "TRL version: 0.12.0")
    text = "".join(f"- {row}\n" for row in (*rows, "CUDA device(s): NVIDIA L4, NVIDIA L4"))
    assert detect(text) == "transformers-env"
    assert [item["name"] for item in stack_of(text)["accelerators"]["devices"]] == ["NVIDIA L4"] * 2


def test_a_default_configuration_is_no_fact():
    rows = ("Accelerate config: \t- compute_environment: LOCAL_MACHINE", "mixed_precision: fp16", "num_processes: 8")
    document = document_of(listing(*rows))
    assert is_unread(document["program"]["layout"]["world_size"])
    assert is_unread(document["stack"]["precision"]["autocast"])
    (note,) = [note for note in document["capture"]["imported"]["notes"] if "default configuration" in note]
    assert "mixed_precision fp16, num_processes 8" in note


@pytest.mark.parametrize(("told", "noted"), [("Yes", True), ("no", True), ("<fill in>", False), ("", False)])
def test_what_a_person_answered_is_noted(told, noted):
    notes = notes_of(listing(f"Using distributed or parallel set-up in script?: {told}"))
    assert any(note.startswith("distributed or parallel set-up in the script: ") for note in notes) is noted


@pytest.mark.parametrize(
    "dress",
    [
        lambda line: line.replace("- ", "* ", 1),
        lambda line: line.replace("- ", "", 1),
        lambda line: line.replace("`", ""),
        lambda line: "**" + line[2:].replace(":", ":**", 1),
    ],
    ids=["stars", "no marks", "no ticks", "bold"],
)
def test_lists_retyped_by_hand_are_read(dress):
    text = listing("PyTorch version (GPU?): 2.3.0+cu121 (True)", "GPU type: NVIDIA L4")
    dressed = "".join(f"{dress(line)}\n" for line in text.splitlines())
    assert stack_of(dressed) == stack_of(text)


def test_a_prompt_above_and_a_command_below_change_nothing():
    text = listing("PyTorch version (GPU?): 2.3.0+cu121 (True)")
    around = f"(env) root@HOST:/work# transformers-cli env\n\n{text}(env) root@HOST:/work# python run.py --lr 0.1\n"
    assert stack_of(around) == stack_of(text)


def test_a_list_below_another_tools_rows_is_a_list_of_its_own():
    above = "Platform: of ours\nPython version: 3.6\nNumpy version: 1.0\n\n"
    text = above + listing("PyTorch version (GPU?): 2.3.0 (True)")
    assert stack_of(text)["frameworks"]["torch"]["version"] == "2.3.0"
    assert stack_of(text)["python"]["version"] == "3.10.12"


def test_the_last_line_without_a_break_is_not_believed():
    text = listing("PyTorch version (GPU?): 2.3.0+cu121")
    assert is_unread(stack_of(text.rstrip("\n"))["frameworks"]["torch"])


def test_a_list_of_accelerate_is_told_from_one_of_transformers():
    assert detect(listing("Numpy version: 1.26.4", head="- `Accelerate` version: 0.31.0")) == "accelerate-env"
    assert detect(listing("Accelerate version: 0.31.0")) == "transformers-env"


@pytest.mark.parametrize(
    "text",
    [
        "- OS: Linux\n- Python version: 3.7\n",
        "Environment:\n- Platform: Linux\n- Python version: 3.7\n",
        "please use transformers version 4\n",
    ],
)
def test_rows_without_a_library_of_theirs_are_no_list(text):
    with pytest.raises(UnknownFormat):
        import_text(text)
