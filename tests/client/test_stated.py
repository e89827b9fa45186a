"""The one line on what an imported report states."""

from __future__ import annotations

import pytest
from importing import document_of, dump_text

from repro_env.render.stated import stated


def test_chief_facts_stand_in_one_line_by_what_they_are():
    line = stated(document_of(dump_text()))
    assert line.startswith("torch 2.4.1+cu121 built with CUDA 12.1, NumPy 1.26.4, 1 x NVIDIA H100 80GB HBM3, driver")
    assert "CUDA toolkit 12.4.131, Python 3.10.12, Ubuntu 22.04.4 LTS" in line
    assert "\n" not in line


@pytest.mark.parametrize(
    ("gpus", "words"),
    [
        ("\nGPU 0: NVIDIA L4\nGPU 1: NVIDIA L4\nGPU 2: Tesla T4\n", "2 x NVIDIA L4, 1 x Tesla T4"),
        ("\nGPU 0: NVIDIA A30\n  MIG 2g.12gb Device 0:\n", "1 x NVIDIA A30 [2g.12gb]"),
        ("Could not collect", "NumPy 1.26.4, driver"),
    ],
    ids=["kinds", "slice", "unread"],
)
def test_devices_are_counted_by_name(gpus, words):
    assert words in stated(document_of(dump_text(gpus=gpus)))


def test_a_list_that_may_not_be_whole_says_so():
    assert "1 x NVIDIA L4, perhaps other devices" in stated(document_of("torch 2.1.2 on NVIDIA L4\n"))


def test_a_cpu_build_without_devices():
    text = dump_text(gpus="No CUDA", driver="No CUDA", cudnn="No CUDA", cuda="None", torch="2.4.1+cpu", nvcc="No CUDA")
    line = stated(document_of(text))
    assert line.startswith("torch 2.4.1+cpu, NumPy 1.26.4, no accelerator, Python")


def test_a_report_that_failed_states_no_chief_fact():
    assert stated(document_of("No devices were found\n")) == "no chief fact"
