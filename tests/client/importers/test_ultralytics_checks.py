"""Ultralytics' first line and rows: five facts in a line, requirements that are no versions, memory that is torch's."""

from __future__ import annotations

import pytest
from importing import notes_of, stack_of

from repro_env.errors import UnknownFormat
from repro_env.fingerprint.facts import is_unread
from repro_env.importers import import_text

NOT_RECORDED = {"unread": "not-recorded"}
HEAD = "Ultralytics YOLOv8.2.48 \U0001f680 Python-3.10.14 torch-2.3.1+cu121 CUDA:0 (Tesla T4, 14931MiB)\n"
SETUP = "Setup complete \u2705 (48 CPUs, 187.2 GB RAM, 100.2/484.4 GB disk)\n\n"
ROWS = """OS                  Linux-5.15.0-105-generic-x86_64-with-glibc2.35
Environment         Linux
Python              3.10.14
Install             pip
RAM                 187.21 GB
CPU                 Intel Xeon Platinum 8259CL 2.50GHz
CUDA                12.1

numpy               \u2705 1.26.4<2.0.0,>=1.23.0
torch               \u2705 2.3.1>=1.8.0
torch               \u2705 2.3.1!=2.4.0,>=1.8.0; sys_platform == "win32"
psutil              \u2705 6.0.0
thop                \u274c (not installed)
"""


def names(text):
    return [device["name"] for device in stack_of(text)["accelerators"]["devices"]]


@pytest.mark.parametrize(
    ("line", "torch", "python", "gpus"),
    [
        (HEAD, "2.3.1+cu121", "3.10.14", ["Tesla T4"]),
        (
            "YOLOv5 \U0001f680 v7.0-72-g064365d8 Python-3.8.10 torch-1.12.1+cu113 CUDA:0 (NVIDIA A10, 22731MiB)\n",
            "1.12.1+cu113",
            "3.8.10",
            ["NVIDIA A10"],
        ),
        (
            "YOLOv5 \U0001f680 2021-5-4 torch 1.8.1+cu101 CUDA:0 (Tesla V100-SXM2-16GB, 16160.5MB)\n",
            "1.8.1+cu101",
            NOT_RECORDED,
            ["Tesla V100-SXM2-16GB"],
        ),
        (
            "Ultralytics 8.3.111 Python-3.12.4 torch-2.6.0 CUDA:1 (NVIDIA L4, 22478MiB)\n",
            "2.6.0",
            "3.12.4",
            ["NVIDIA L4"],
        ),
    ],
    ids=["8.2", "5", "5 of 2021", "8.3"],
)
def test_the_first_line_of_every_era(line, torch, python, gpus):
    stack = stack_of(line + "\nrun\n")
    assert stack["frameworks"]["torch"]["version"] == torch
    assert stack["python"]["version"] == python
    assert names(line + "\nrun\n") == gpus


@pytest.mark.parametrize("device", ["CPU (Intel Core(TM) i7-9750H 2.60GHz)", "MPS (Apple M2)", "CPU ()"])
def test_a_run_on_the_processor_says_nothing_of_gpus(device):
    stack = stack_of(f"Ultralytics 8.3.40 Python-3.11.5 torch-2.5.1 {device}\n")
    assert stack["frameworks"]["torch"]["version"] == "2.5.1"
    assert stack["accelerators"]["devices"] == NOT_RECORDED


def test_every_chosen_device_has_a_line():
    more = "".join(f"{'':54}CUDA:{number} (Tesla T4, 14931MiB)\n" for number in (1, 2))
    assert names(HEAD + more + SETUP) == ["Tesla T4"] * 3


def test_devices_that_the_text_ends_are_open():
    assert names(HEAD) == ["Tesla T4", NOT_RECORDED]


def test_memory_is_what_torch_can_use_and_no_fact():
    (device,) = stack_of(HEAD + SETUP)["accelerators"]["devices"]
    assert is_unread(device["memory_bytes"])
    assert "memory that torch can use: 14931 MiB" in notes_of(HEAD + SETUP)


def test_a_requirement_is_no_version():
    installed = stack_of(HEAD + SETUP + ROWS)["distributions"]["installed"]
    assert {row["name"]: row["version"] for row in installed} == {
        "numpy": "1.26.4",
        "psutil": "6.0.0",
        "torch": "2.3.1+cu121",
        "ultralytics": "8.2.48",
    }


def test_torch_by_its_own_word_wins_over_its_row():
    assert stack_of(HEAD + SETUP + ROWS)["frameworks"]["torch"]["version"] == "2.3.1+cu121"


def test_a_shortened_processor_is_noted_and_no_model():
    stack = stack_of(HEAD + SETUP + ROWS)
    assert is_unread(stack["cpu"]["model"])
    assert "processor, its name shortened: Intel Xeon Platinum 8259CL 2.50GHz" in notes_of(HEAD + SETUP + ROWS)
    assert stack["cpu"]["cores"] == 48


@pytest.mark.parametrize(("told", "build"), [("12.1", "12.1"), ("None", "12.1"), ("N/A", "12.1")])
def test_cuda_is_that_of_torch(told, build):
    stack = stack_of(HEAD + SETUP + ROWS.replace("CUDA                12.1", f"CUDA                {told}"))
    assert stack["frameworks"]["torch"]["cuda_build"] == build
    assert is_unread(stack["libraries"]["cuda_toolkit"])
    assert is_unread(stack["driver"]["cuda_level"])


def test_rows_without_the_first_line_are_a_report_too():
    gpu = "GPU                 Tesla T4, 14931MiB\nGPU count           2\n"
    text = ROWS.replace("CUDA                ", gpu + "CUDA                ")
    assert names(text) == ["Tesla T4", "Tesla T4"]
    assert "2 GPUs are counted and one is named: taken for all" in notes_of(text)
    assert stack_of(text)["frameworks"]["torch"]["version"] == "2.3.1"


def test_chosen_devices_fewer_than_counted_leave_the_list_open():
    text = HEAD + SETUP + ROWS.replace("CUDA                12.1", "GPU count           4\nCUDA                12.1")
    assert names(text) == ["Tesla T4", NOT_RECORDED]


def test_a_container_is_noted():
    text = HEAD + SETUP + ROWS.replace("Environment         Linux", "Environment         Docker")
    assert "the report was made inside a container" in notes_of(text)


def test_a_second_report_is_another():
    second = HEAD.replace("2.3.1+cu121", "2.0.0")
    assert stack_of(HEAD + SETUP + second + SETUP)["frameworks"]["torch"]["version"] == "2.3.1+cu121"


@pytest.mark.parametrize(
    "text",
    [
        "I use Ultralytics with torch and CUDA:0\n",
        "YOLOv8 is great, torch 2.1\n",
        "OS                  Linux\nPython              3.10\n",
        "CUDA:0 (Tesla T4, 14931MiB)\n",
    ],
)
def test_words_on_it_are_no_report(text):
    with pytest.raises(UnknownFormat):
        import_text(text)
