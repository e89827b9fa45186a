"""Paddle's three texts: which distribution it is, and whose CUDA and cuDNN they name."""

from __future__ import annotations

import pytest
from importing import document_of, notes_of, stack_of

from repro_env.errors import UnknownFormat
from repro_env.fingerprint.facts import is_unread
from repro_env.importers import detect, import_text

SILENT = {"unread": "not-reported"}
NOT_RECORDED = {"unread": "not-recorded"}
SUMMARY = """Paddle version: {version}
Paddle With CUDA: {cuda}

OS: {os}
GCC version: (GCC) 8.2.0
Clang version: N/A
CMake version: version 3.16.0
Libc version: glibc 2.31
Python version: {python}

CUDA version: {toolkit}
cuDNN version: {cudnn}
Nvidia driver version: {driver}
Nvidia driver List:{gpus}
****************************************
"""
DEFAULTS = {
    "version": "2.4.1",
    "cuda": "True",
    "os": "Ubuntu 20.04",
    "python": "3.8.10",
    "toolkit": "11.2.152",
    "cudnn": "8.1.1",
    "driver": "460.106.00",
    "gpus": "\nGPU 0: Tesla T4",
}


def summary(**lines):
    return SUMMARY.format(**{**DEFAULTS, **lines})


def installed(text):
    rows = stack_of(text)["distributions"]["installed"]
    return {row["name"]: row["version"] for row in rows} if isinstance(rows, list) else rows


def test_a_summary_is_paddles_though_its_rows_are_pytorchs_too():
    assert detect(summary()) == "paddle-version"
    assert is_unread(stack_of(summary())["frameworks"]["torch"])


def test_cuda_of_a_summary_is_the_toolkit_and_cudnn_the_systems():
    libraries = stack_of(summary())["libraries"]
    assert (libraries["cuda_toolkit"], libraries["system_cudnn"]) == ("11.2.152", ["8.1.1"])
    assert is_unread(libraries["cudnn"])
    assert is_unread(stack_of(summary())["driver"]["cuda_level"])


@pytest.mark.parametrize(
    ("cuda", "name"), [("True", "paddlepaddle-gpu"), ("False", "paddlepaddle"), ("ON", "paddlepaddle-gpu")]
)
def test_the_distribution_follows_from_its_build(cuda, name):
    assert installed(summary(cuda=cuda)) == {name: "2.4.1"}


def test_a_build_from_source_has_no_version():
    assert installed(summary(version="0.0.0")) == NOT_RECORDED
    assert any("built from source" in note for note in notes_of(summary(version="0.0.0")))


def test_a_build_that_does_not_say_so_is_noted_alone():
    text = "PaddlePaddle 1.8.5, compiled with\n    with_avx: ON\n"
    assert installed(text) == NOT_RECORDED
    assert "Paddle 1.8.5: whether it is the distribution for GPUs is not told" in notes_of(text)


@pytest.mark.parametrize("word", ["N/A", "", "None"])
def test_what_a_summary_could_not_find_is_unread(word):
    stack = stack_of(summary(toolkit=word, cudnn=word, driver=word, os=word, python=word, gpus=f" {word}"))
    assert stack["libraries"]["cuda_toolkit"] == SILENT
    assert stack["libraries"]["system_cudnn"] == SILENT
    assert stack["driver"]["kernel_module"] == SILENT
    assert stack["accelerators"]["devices"] == SILENT
    assert is_unread(stack["system"]["os_name"])
    assert is_unread(stack["python"]["version"])


@pytest.mark.parametrize(
    ("os", "family"),
    [("Ubuntu 20.04", "linux"), ("Windows 10", "windows"), ("macOs 12.3", "macos"), ("CentOS 7", "linux")],
)
def test_systems(os, family):
    assert stack_of(summary(os=os))["system"]["os_family"] == family


def test_devices_of_a_summary():
    found = stack_of(summary(gpus="\nGPU 0: Tesla T4\nGPU 1: Tesla T4"))["accelerators"]["devices"]
    assert [item["name"] for item in found] == ["Tesla T4", "Tesla T4"]


def test_devices_that_the_text_ends_are_open():
    text = summary(gpus="\nGPU 0: Tesla T4\nGPU 1: Tesla T4").partition("GPU 1")[0]
    assert [item["name"] for item in stack_of(text)["accelerators"]["devices"]] == ["Tesla T4", NOT_RECORDED]


def test_switches_are_noted():
    text = "PaddlePaddle 0.11.0, compiled with\n    with_avx: ON\n    with_gpu: OFF\n"
    assert "Paddle 0.11.0 was compiled with avx ON, gpu OFF" in notes_of(text)
    assert installed(text) == {"paddlepaddle": "0.11.0"}


SHOWN = "full_version: 2.6.1\nmajor: 2\nminor: 6\npatch: 1\nrc: 0\ncuda: {cuda}\ncudnn: {cudnn}\ncommit: 0123\n"


@pytest.mark.parametrize(
    ("cuda", "name"), [("12.0", "paddlepaddle-gpu"), ("False", "paddlepaddle")], ids=["gpu", "processor"]
)
def test_what_paddle_says_it_was_built_with_is_noted(cuda, name):
    document = document_of(SHOWN.format(cuda=cuda, cudnn="8.9.1"))
    stack = document["stack"]
    assert stack["distributions"]["installed"][0]["name"] == name
    assert is_unread(stack["libraries"]["cuda_toolkit"])
    assert is_unread(stack["libraries"]["system_cudnn"])
    assert "Paddle 2.6.1 was built with cudnn 8.9.1" in document["capture"]["imported"]["notes"]


@pytest.mark.parametrize("text", ["full_version: 2.6.1\n", "We use PaddlePaddle 2.4\n", "Paddle version\n"])
def test_words_on_it_are_no_text_of_it(text):
    with pytest.raises(UnknownFormat):
        import_text(text)
