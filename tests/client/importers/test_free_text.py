"""A person's own words: what counts as a statement, what is prose, and when a text is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from importing import document_of, dump_text, notes_of, stack_of

from repro_env.errors import UnknownFormat
from repro_env.fingerprint.facts import is_unread
from repro_env.importers import detect, free_text, import_text

NOT_RECORDED = {"unread": "not-recorded"}


def names(text):
    return [device["name"] for device in stack_of(text)["accelerators"]["devices"]]


@pytest.mark.parametrize(
    ("line", "version"),
    [
        ("torch 2.1.2, Python 3.10", "2.1.2"),
        ("torch==2.1.2 / python 3.10", "2.1.2"),
        ("PyTorch: 2.1.2 and Python: 3.10", "2.1.2"),
        ("PyTorch version: 2.1.2, python 3.10", "2.1.2"),
        ("pytorch-2.1.2 python-3.10", "2.1.2"),
        ("torch v2.1.2 + python 3.10", "2.1.2"),
        ("torch 2.1.2+cu118; python 3.10", "2.1.2+cu118"),
        ("torch 2.1.2 (cu118), python 3.10", "2.1.2+cu118"),
        ("torch 2.2.0.dev20231010 python 3.10", "2.2.0.dev20231010"),
        ("**torch 2.1.2** with `Python 3.10`", "2.1.2"),
    ],
)
def test_a_version_is_told_in_many_ways(line, version):
    stack = stack_of(line + "\n")
    assert stack["frameworks"]["torch"]["version"] == version
    assert stack["python"]["version"] == "3.10"


@pytest.mark.parametrize(
    ("label", "cuda", "rocm"), [("cu118", "11.8", None), ("cu92", "9.2", None), ("rocm6.0", None, "6.0")]
)
def test_a_label_tells_the_build(label, cuda, rocm):
    torch = stack_of(f"torch 2.1.2 {label} Python 3.10\n")["frameworks"]["torch"]
    assert (torch["cuda_build"], torch["rocm_build"]) == (cuda, rocm)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("2x A100", ["A100"] * 2),
        ("2 x A100", ["A100"] * 2),
        ("A100 x 2", ["A100"] * 2),
        ("8 H100", ["H100"] * 8),
        ("4\u00d7 RTX 3090", ["RTX 3090"] * 4),
        ("1x NVIDIA A100-SXM4-80GB", ["NVIDIA A100-SXM4-80GB"]),
        ("1 x GeForce RTX 2080 Ti GPU", ["GeForce RTX 2080 Ti"]),
        ("A100", ["A100", NOT_RECORDED]),
        ("GPU: Tesla V100 32GB", ["Tesla V100 32GB", NOT_RECORDED]),
        ("2x MI250X", ["MI250X"] * 2),
    ],
)
def test_devices_are_named_as_the_person_does_and_counted_where_told(words, found):
    assert names(f"torch 2.1.2 on {words}\n") == found


@pytest.mark.parametrize(
    "line",
    [
        "I upgraded torch 2.1 to 2.3 on A100",
        "torch 2.1 does not work on A100",
        "not torch 2.1, A100",
        "torch >= 2.1 on A100",
        "torch 2.x on A100",
        "torch 2.1 or 2.2 on A100",
        "maybe torch 2.1 on A100",
        "torch 2.1.2rc on A100 nodes",
        "A100",
        "torch 2.1.2",
        "Python 3.10 on Ubuntu 22.04",
        "see torch issue 2.1 A100",
    ],
)
def test_prose_and_half_words_state_nothing(line):
    with pytest.raises(UnknownFormat):
        import_text(line + "\n")


@pytest.mark.parametrize("kind", ["CUDA 11.8", "CUDA version: 11.8", "cuDNN 8.7"])
def test_a_cuda_that_may_be_any_of_five_is_none_of_them(kind):
    text = f"torch 2.1.2 with {kind} on 2x A100\n"
    stack = stack_of(text)
    for section, name in (("driver", "cuda_level"), ("libraries", "cuda_toolkit"), ("libraries", "cudnn")):
        assert is_unread(stack[section][name])
    assert is_unread(stack["frameworks"]["torch"]["cuda_build"])
    assert any("not taken for any" in note for note in notes_of(text))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("torch 2.1.2 on 1x A100", "torch 2.3.0 on 1x A100"),
        ("torch 2.1.2 driver 535.54.03", "driver 550.54.15"),
        ("torch 2.1.2 on 1x A100", "1x H100, torch 2.1.2"),
        ("torch 2.1.2 on 1x A100", "torch 2.1.2 on 2x A100"),
        ("tf 1.15 RTX 2070", "RTX 2080"),
    ],
    ids=["torch", "driver", "device", "number", "heading"],
)
def test_two_environments_are_refused_with_both_places(first, second):
    with pytest.raises(UnknownFormat, match=r"speaks of two environments: .* at line 2, .* at line 4; give each"):
        import_text(f"one:\n{first}\nother:\n{second}\n")


def test_what_is_said_twice_alike_is_said_once():
    text = "torch 2.1.2 on 2x A100\n\nagain: nothing\ntorch 2.1.2\n"
    assert stack_of(text)["frameworks"]["torch"]["version"] == "2.1.2"


def test_a_last_line_without_a_break_asks_for_one():
    with pytest.raises(UnknownFormat, match="end it with a line break if it is whole"):
        import_text("torch 2.1.2 on 2x A100")


def test_examples_of_a_form_are_no_answers():
    text = "- PyTorch Version (e.g., 1.0): 2.0.1\n- OS (e.g., Linux): Linux\n- Python version (e.g. 3.8): 3.10.9\n"
    stack = stack_of(text)
    assert stack["frameworks"]["torch"]["version"] == "2.0.1"
    assert (stack["python"]["version"], stack["system"]["os_family"]) == ("3.10.9", "linux")


def test_words_around_a_report_of_a_tool_are_not_read():
    text = "torch 1.0.0 on 8x V100\n\n" + dump_text()
    assert detect(text) == "pytorch-collect-env"
    assert stack_of(text)["frameworks"]["torch"]["version"] == "2.4.1+cu121"


def test_words_state_no_list_of_distributions():
    document = document_of("torch 2.1.2, numpy 1.26.4 on 2x A100\n")
    assert document["stack"]["frameworks"]["numpy"]["version"] == "1.26.4"
    assert is_unread(document["stack"]["distributions"]["installed"])
    assert "a person's own words: versions may be told in part" in document["capture"]["imported"]["notes"]


WORDS = st.sampled_from(
    [
        *("torch", "2.1", "2.1.2", "cu118", "tf", "python", "3.10", "driver", "535.54", "CUDA", "11.8", "==", "-", ","),
        *("on", "2x", "x", "8", "A100", "H100", "80GB", "RTX 3090", "GPU:", "(", ")", "\n", "not", "Ubuntu 22.04"),
    ]
)


@given(st.lists(WORDS, max_size=30).map(" ".join))
def test_no_mixture_of_its_words_mixes_two_versions(text):
    try:
        document = import_text(text + "\n")
    except UnknownFormat:
        return
    torch = document["stack"]["frameworks"]["torch"]
    if document["capture"]["imported"]["format"] == free_text.NAME and not is_unread(torch):
        lines = [line for line in text.split("\n") if "torch" in line]
        assert any(torch["version"].partition("+")[0] in line for line in lines)
