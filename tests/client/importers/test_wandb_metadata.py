"""W&B's metadata of every era: devices, versions, the program, and what is personal."""

from __future__ import annotations

import json

import pytest
from importing import document_of, notes_of, stack_of

from repro_env.canonical import digest
from repro_env.errors import UnknownFormat
from repro_env.fingerprint.facts import is_unread
from repro_env.fingerprint.validate import validate
from repro_env.importers import import_text

SILENT = {"unread": "not-reported"}
NOT_RECORDED = {"unread": "not-recorded"}
BASE = {
    "os": "Linux-5.15.0-105-generic-x86_64-with-glibc2.35",
    "python": "3.10.12",
    "startedAt": "2024-01-01T00:00:00",
}


def metadata(**keys):
    return json.dumps({**BASE, **keys}, indent=2)


def devices(**keys):
    return stack_of(metadata(**keys))["accelerators"]["devices"]


def source(**keys):
    return document_of(metadata(**keys))["program"]["source"]


def test_platform_and_python_are_told():
    stack = stack_of(metadata())
    assert stack["system"]["kernel"] == "5.15.0-105-generic"
    assert stack["system"]["libc"] == "glibc 2.35"
    assert stack["cpu"]["architecture"] == "x86_64"
    assert stack["python"]["version"] == "3.10.12"
    assert is_unread(stack["system"]["os_name"])


@pytest.mark.parametrize(
    ("told", "version", "implementation"),
    [
        ("CPython 3.12.11", "3.12.11", "cpython"),
        ("PyPy 3.10.14", "3.10.14", "pypy"),
        ("3.8.5", "3.8.5", NOT_RECORDED),
        (3.8, NOT_RECORDED, NOT_RECORDED),
    ],
)
def test_python_of_every_era(told, version, implementation):
    python = stack_of(metadata(python=told))["python"]
    assert (python["version"], python["implementation"]) == (version, implementation)


def test_the_five_cuda_facts_stay_apart():
    stack = stack_of(metadata(cudaVersion="12.4", cuda="11.8.89"))
    assert stack["driver"]["cuda_level"] == "12.4"
    assert stack["libraries"]["cuda_toolkit"] == "11.8.89"
    for section, name in (("frameworks", "torch"), ("libraries", "cuda_runtime"), ("driver", "kernel_module")):
        assert is_unread(stack[section][name])


@pytest.mark.parametrize("keys", [{}, {"cuda": None, "gpu": None}, {"gpu_count": 0}], ids=["none", "null", "zero"])
def test_no_word_on_gpus_is_not_no_gpu(keys):
    assert devices(**keys) == NOT_RECORDED


def test_name_and_number_stand_for_all_devices():
    found = devices(gpu="Tesla V100-SXM2-16GB", gpu_count=4)
    assert [item["name"] for item in found] == ["Tesla V100-SXM2-16GB"] * 4
    assert "4 GPUs are counted and one is named: taken for all" in notes_of(
        metadata(gpu="Tesla V100-SXM2-16GB", gpu_count=4)
    )


def test_a_name_without_a_number_leaves_the_list_open():
    found = devices(gpu="Tesla T4")
    assert [item["name"] for item in found] == ["Tesla T4", NOT_RECORDED]


def test_a_list_wins_over_name_and_number():
    listed = [{"name": "NVIDIA A40", "memory_total": 48305799168}, {"name": "NVIDIA A10", "memory_total": 24146608128}]
    found = devices(gpu="NVIDIA A40", gpu_count=2, gpu_devices=listed)
    assert [(item["name"], item["memory_bytes"]) for item in found] == [
        ("NVIDIA A10", 24146608128),
        ("NVIDIA A40", 48305799168),
    ]


def test_a_list_shorter_than_the_count_is_open_and_noted():
    text = metadata(gpu_count=8, gpu_devices=[{"name": "NVIDIA A40", "memory_total": 1 << 35}])
    assert len(stack_of(text)["accelerators"]["devices"]) == 2
    assert "8 GPUs are counted and 1 are listed" in notes_of(text)


@pytest.mark.parametrize(
    ("architecture", "cores", "capability", "multiprocessors"),
    [
        ("Ada", 16384, "8.9", 128),
        ("Hopper", 16896, "9.0", 132),
        ("Turing", 2560, "7.5", 40),
        ("Ampere", 6912, NOT_RECORDED, NOT_RECORDED),
        ("Ada", 16385, "8.9", NOT_RECORDED),
        (None, None, NOT_RECORDED, NOT_RECORDED),
    ],
)
def test_an_architecture_of_one_capability_tells_it(architecture, cores, capability, multiprocessors):
    item = {"name": "GPU of NVIDIA", "memoryTotal": "25757220864", "cudaCores": cores, "architecture": architecture}
    (found,) = devices(gpu_nvidia=[item])
    assert (found["compute_capability"], found["sm_count"]) == (capability, multiprocessors)
    assert found["memory_bytes"] == 25757220864


@pytest.mark.parametrize("memory", ["", "much", "-1", -1, 1.5, None, [], "9" * 40], ids=repr)
def test_a_memory_that_is_no_number_is_unread(memory):
    (found,) = devices(gpu_nvidia=[{"name": "NVIDIA L4", "memoryTotal": memory}])
    assert is_unread(found["memory_bytes"])


@pytest.mark.parametrize(
    "keys",
    [
        {"gpu_apple": {"gpuType": "Apple M2 Pro", "vendor": "Apple"}},
        {"apple": {"name": "Apple M2 Pro", "gpuCores": 19}},
    ],
    ids=["2023", "2024"],
)
def test_apples_device(keys):
    (found,) = devices(**keys)
    assert (found["vendor"], found["name"], found["compute_capability"]) == ("apple", "Apple M2 Pro", None)


def test_amds_device():
    (found,) = devices(gpu_count=1, gpu_amd=[{"id": "0", "model": "AMD Instinct MI250X", "vendor": "AMD"}])
    assert (found["vendor"], found["compute_capability"], found["mig_profile"]) == ("amd", None, None)


def test_a_word_that_stands_for_no_name_is_none():
    assert devices(gpu="[GPU data not available]", gpu_count=1) == NOT_RECORDED


@pytest.mark.parametrize(
    ("keys", "cores"),
    [
        ({"cpu_count": 16, "cpu_count_logical": 24}, 24),
        ({"cpu_count": 96}, 96),
        ({"cpu_count": "8"}, NOT_RECORDED),
        ({"cpu_count": True}, NOT_RECORDED),
        ({}, NOT_RECORDED),
    ],
)
def test_cores_are_logical_ones(keys, cores):
    assert stack_of(metadata(**keys))["cpu"]["cores"] == cores


# the program


def test_the_program_is_told_in_the_forms_of_an_observation():
    found = source(
        git={"remote": "https://user:secret@example.org/team/project.git", "commit": "0" * 40},
        program="/home/someone/project/train.py",
        codePath="project/train.py",
        args=["--lr", "0.1"],
    )
    assert found["commit"] == "0" * 40
    assert found["remote"] == "https://example.org/team/project.git"
    assert found["entry_point"] == "project/train.py"
    assert found["arguments_digest"] == digest(["--lr", "0.1"])


@pytest.mark.parametrize("commit", ["", "0123", "Z" * 40, None, 7])
def test_an_abbreviated_or_odd_commit_is_not_believed(commit):
    assert is_unread(source(git={"commit": commit})["commit"])


@pytest.mark.parametrize("program", ["/abs/train.py", "<python with no main file>", "-m scripts.train", None])
def test_a_program_that_names_no_file_of_the_project_is_unread(program):
    assert is_unread(source(program=program)["entry_point"])


@pytest.mark.parametrize("words", [None, "--lr", ["--lr", 1], {}])
def test_arguments_that_are_no_list_of_words_are_unread(words):
    assert is_unread(source(args=words)["arguments_digest"])


def test_no_arguments_are_arguments():
    assert source(args=[])["arguments_digest"] == digest([])


def test_what_is_personal_is_left_out():
    words = {
        "email": "someone@example.org",
        "host": "someones-host",
        "username": "someone",
        "root": "/home/someone/project",
        "executable": "/home/someone/bin/python",
        "git": {"remote": "https://someone:hunter2@example.org/p.git", "commit": "1" * 40},
        "args": ["--key", "hunter2"],
        "slurm": {"job_id": "1"},
        "gpu_nvidia": [{"name": "NVIDIA L4", "uuid": "GPU-secret"}],
    }
    shown = json.dumps(document_of(metadata(**words)))
    assert not [word for word in ("someone", "hunter2", "GPU-secret") if word in shown]


def test_the_image_is_told_by_its_name():
    container = stack_of(metadata(docker="nvcr.io/nvidia/pytorch:23.08-py3"))["container"]
    assert container["image_reference"] == "nvcr.io/nvidia/pytorch:23.08-py3"
    assert is_unread(container["image_digest"])


# odd and broken texts


def test_cut_metadata_is_read_as_far_as_it_goes():
    text = metadata(cpu_count=8, gpu="NVIDIA L4", gpu_nvidia=[{"name": "NVIDIA L4"}, {"name": "NVIDIA L4"}])
    cut = text[: text.index("NVIDIA L4", text.index("gpu_nvidia") + 40) + 20]
    stack = stack_of(cut)
    assert stack["python"]["version"] == "3.10.12"
    assert stack["accelerators"]["devices"][-1]["vendor"] == NOT_RECORDED
    assert "the text is cut: what it would have said further on is not recorded" in notes_of(cut)
    assert is_unread(stack["cpu"]["cores"]), "the number of logical cores may have followed"


def test_metadata_within_a_letter_is_found():
    assert stack_of(f"See my run:\n\n```json\n{metadata()}\n```\nThanks\n") == stack_of(metadata())


@pytest.mark.parametrize(
    "value",
    [
        {"os": "Linux"},
        {"startedAt": "2024"},
        {"cpu_count": 8, "name": "x"},
        ["os", "python", "cpu_count"],
        {"nested": {"os": "Linux", "startedAt": "2024"}},
    ],
)
def test_other_json_is_not_metadata(value):
    with pytest.raises(UnknownFormat):
        import_text(json.dumps(value, indent=1))


@pytest.mark.parametrize(
    "keys",
    [
        {"gpu_nvidia": [None, 7, "x", {}, {"name": 3}, {"name": ""}]},
        {"gpu_nvidia": {"name": "x"}},
        {"gpu_count": 10**30, "gpu": "NVIDIA L4"},
        {"gpu": "\ud800 NVIDIA", "gpu_count": 1},
        {"args": ["\udfff"], "git": {"remote": "\ud800", "commit": 1}},
        {"git": "x", "cudaVersion": 12.4, "cuda": ["a"], "docker": {}},
        {"os": ["Linux"], "python": {"x": 1}},
        {"gpu_apple": [], "apple": "x"},
    ],
    ids=["devices", "object", "number", "halves", "halves in words", "types", "lists", "apple"],
)
def test_values_of_other_types_are_left_unread(keys):
    document = document_of(json.dumps({**BASE, **keys}))
    assert validate(document) == document
