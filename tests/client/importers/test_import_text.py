"""The door: what is recognised, what is refused and with which words, ids, bounds."""

from __future__ import annotations

import contextlib
import json
import time

import pytest
from importing import dump_text, notes_of, stack_of

from repro_env import importers
from repro_env.errors import InvalidDocument, UnknownFormat
from repro_env.fingerprint.validate import part_digests, validate


def test_document_is_valid_and_says_where_it_came_from():
    document = importers.import_text(dump_text())
    assert validate(document) == document
    capture = document["capture"]
    assert (capture["vantage"], capture["subject"]) == ("import", "document")
    assert capture["imported"]["format"] == "pytorch-collect-env"
    assert set(capture["sources"].values()) == {"imported:pytorch-collect-env"}
    assert document["digests"] == part_digests(document)


def test_same_text_is_the_same_document():
    assert importers.import_text(dump_text()) == importers.import_text(dump_text(), name="other.txt")


def test_another_text_is_another_run_and_observation():
    first, second = (
        importers.import_text(dump_text(driver=version))["capture"] for version in ("550.54.14", "550.54.15")
    )
    assert first["run_id"] != second["run_id"]
    assert first["observation_id"] != second["observation_id"]


@pytest.mark.parametrize(
    "given",
    [
        {"run_id": "r-1"},
        {"project": "vision"},
        {"group": "table-2"},
        {"labels": {"owner": "a"}},
        {"captured_at": "2026-01-31T12:00:00Z"},
    ],
    ids=lambda given: next(iter(given)),
)
def test_what_the_user_adds_is_kept_and_makes_another_observation(given):
    plain, told = importers.import_text(dump_text()), importers.import_text(dump_text(), **given)
    for key, value in given.items():
        assert told["capture"][key] == value
    assert told["capture"]["observation_id"] != plain["capture"]["observation_id"]
    assert told["digests"] == plain["digests"]


def test_run_id_says_whether_it_was_given():
    assert importers.import_text(dump_text())["capture"]["run_id_source"] == "made"
    assert importers.import_text(dump_text(), run_id="r")["capture"]["run_id_source"] == "given"


def test_label_that_no_document_may_hold_is_refused_with_its_field():
    with pytest.raises(InvalidDocument, match="capture"):
        importers.import_text(dump_text(), labels={"\u00e9": "x"})


BEGINNINGS = {
    "nvidia-smi": "Mon Jul  1\n+-----------+\n"
    "| NVIDIA-SMI 535.161.08   Driver Version: 535.161.08   CUDA Version: 12.2 |\n",
    "nvidia-smi ": "GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-00000000-0000-0000-0000-000000000000)\n",
    "wandb-metadata": json.dumps({"os": "Linux", "startedAt": "2026-02-11", "cudaVersion": "12.4"}, indent=1),
    "transformers-env": "- `transformers` version: 4.19.0\n- Platform: Linux\n"
    "- PyTorch version (GPU?): 1.11.0 (False)\n",
    "accelerate-env": "- `Accelerate` version: 0.12.0\n- Platform: Linux\n",
    "lightning-collect-env": "* CUDA:\n\t- GPU:\n\t\t- NVIDIA A100\n",
    "ultralytics-checks": "Ultralytics YOLOv8.1.30 Python-3.10.11 torch-2.2.1+cu121 CUDA:0 (NVIDIA L4, 22478MiB)\n",
    "ds-report": "DeepSpeed C++/CUDA extension op report\n",
    "paddle-version": "PaddlePaddle 0.11.0, compiled with\n    with_avx: ON\n",
    "free-text": "torch 2.1.2 cu118 on 2x A100\n",
}


@pytest.mark.parametrize(("name", "text"), BEGINNINGS.items(), ids=[repr(name) for name in BEGINNINGS])
def test_a_few_lines_tell_the_format(name, text):
    assert importers.detect(text) == name.strip()


def test_every_format_says_how_one_makes_it():
    assert len(importers.FORMATS) == len(importers.IMPORTERS) + 1
    assert all(importers.FORMATS.values())


OTHERS = {
    "document of repro-env": '{"schema": "1.0", "stack": {}}',
    "lscpu": "Architecture:            x86_64\n  CPU op-mode(s):        32-bit, 64-bit\n",
}


@pytest.mark.parametrize(("name", "text"), OTHERS.items(), ids=[name.strip() for name in OTHERS])
def test_known_other_format_is_named_in_the_refusal(name, text):
    with pytest.raises(UnknownFormat, match=name.strip()) as refusal:
        importers.import_text(text, name="env.txt")
    assert str(refusal.value).startswith("env.txt: ")
    assert "python -m torch.utils.collect_env" in str(refusal.value)


def test_unknown_text_is_refused_with_its_beginning_and_what_is_expected():
    with pytest.raises(UnknownFormat, match="got a text that begins with 'once upon a time'; paste the report"):
        importers.detect("\n\n once upon a time\n")


@pytest.mark.parametrize("text", ["", "\n \n", "```\n```"])
def test_empty_text_is_refused(text):
    with pytest.raises(UnknownFormat, match=r"got (an empty text|a text that begins)"):
        importers.import_text(text)


def test_issue_form_filled_by_hand_is_not_a_dump():
    with pytest.raises(UnknownFormat):
        importers.detect("- OS (e.g., Linux): Ubuntu\n- Python version: 3.7\n- Any other relevant information:\n")


def test_typed_form_above_the_dump_is_not_the_dump():
    text = "- PyTorch version: 1.0\n- OS: Linux\n- Python version: 3.6\n\n" + dump_text()
    assert stack_of(text)["frameworks"]["torch"]["version"] == "2.4.1+cu121"


def test_of_two_dumps_the_first_is_imported_and_the_other_noted():
    text = dump_text() + "\nand on the other machine:\n\n" + dump_text(torch="2.3.0+cu118", driver="525.1.1")
    assert stack_of(text)["frameworks"]["torch"]["version"] == "2.4.1+cu121"
    assert stack_of(text)["driver"]["kernel_module"] == "550.54.15"
    (note,) = [note for note in notes_of(text) if "another dump" in note]
    line = int(note.split("line ")[1].split(":")[0])
    assert text.splitlines()[line - 1].startswith("PyTorch version: 2.3.0")


def test_a_text_of_one_mebibyte_is_refused():
    with pytest.raises(UnknownFormat, match="less than 1048576 characters, got 1048576"):
        importers.import_text("x" * (1 << 20))


def garbage(size):
    """Texts of about ``size`` characters that a careless pattern would read many times over."""
    return {
        "one line": "x" * size,
        "blanks": " " * size,
        "brackets": "[pip3] " * (size // 7),
        "colons": ":" * size,
        "escapes": "\x1b[" * (size // 2),
        "entities": "&#" * (size // 2),
        "tags": "<p " * (size // 3),
        "lines": "\n" * size,
        "keys": "OS:\n" * (size // 4),
        "stars": "* " * (size // 2),
        "quotes": "> " * (size // 2),
        "letters and blanks": "a b " * (size // 4),
        "openings": "PyTorch version: 1.0\n" * (size // 21),
        "titles": "\x1b]0;" * (size // 4),
        "no-break blanks": "\u00a0" * size,
        "flags": dump_text(cpu="Flags: " + "fpu " * (size // 5)),
        "rows": dump_text(rows="[conda] a 1 b\n" * (size // 17)),
        "gpus": dump_text(gpus="\n" + "GPU 0: NVIDIA L4\n" * (size // 26)),
        "wrapped": dump_text(rows="[pip3] a==1\n" + "b\n" * (size // 3)),
        "packages": dump_text(rows="".join(f"[pip3] p{n}==1\n" for n in range(size // 21))),
        "cudnn": dump_text(cudnn="\n" + "".join(f"/usr/{n}/libcudnn.so.8.1.{n}\n" for n in range(size // 42))),
        "cpu rows": dump_text(cpu="a: b\n" * (size // 7)),
        "smi rows": "NVIDIA-SMI 1 Driver Version: 1 |\n" + "| 0  a  Off | 0000:06:00.0 Off | 0 |\n" * (size // 37),
        "smi heads": "NVIDIA-SMI 1 Driver Version: 1 |\n" * (size // 34),
        "smi list": "GPU 0: a (UUID: GPU-0)\n" * (size // 24),
        "smi logs": "======NVSMI LOG======\nGPU 00000000:06:00.0\n" * (size // 43),
        "smi log": "======NVSMI LOG======\n" + "MIG Device\nTotal : 5 MiB\n" * (size // 25),
        "smi queries": "name, driver_version\nTesla T4, 1.2\n" * (size // 35),
        "json": '{"os": "Linux", "startedAt": "", "gpu_nvidia": [' + '{"name": "a"},' * (size // 14),
        "brackets of json": "[" * size,
        "json openings": '{"os":\n' * (size // 8),
        "labels": "- `transformers` version: 1.0\n" + "- a b c d: x\n" * (size // 13),
        "labels without an end": "- `Accelerate` version: 1.0\n" + "a " * (size // 2),
        "lists again": "- `transformers` version: 1.0\n- Platform: x\n" * (size // 44),
        "dots": "torch version " + "." * size,
        "operators": "DeepSpeed general environment info:\n" + "fused_adam " + " ." * (size // 2),
        "lightning": "* CUDA:\n\t- GPU:\n" + "\t\t- NVIDIA L4\n" * (size // 14),
        "titles of lightning": "* CUDA:\n" * (size // 8),
        "yolo": "Ultralytics 8.3.1 Python-3.10.1 torch-2.1.0 CUDA:0 (a, 5MiB)\n" * (size // 62),
        "yolo rows": "YOLOv5 torch 2.1.0 CUDA:0 (a, 5MiB)\n" + "numpy  \u2705 1.0>=1.0\n" * (size // 18),
        "paddle": "Paddle version: 2.4\n" + "GPU 0: a\n" * (size // 9),
        "paddle again": "PaddlePaddle 1.0, compiled with\n" * (size // 32),
        "statements": "torch 2.1.2 on 2x A100\n" * (size // 23),
        "words": ("torch 2.1.2, " * 15 + "\n") * (size // 196),
        "devices": ("A100 80GB " * 19 + "\n") * (size // 191),
    }


SMALL, LARGE = garbage(1 << 15), garbage(1 << 17)


def seconds_for(text):
    """The least processor time that an import of the text took in three tries."""
    tries = []
    for _ in range(3):
        start = time.process_time()
        with contextlib.suppress(UnknownFormat, InvalidDocument):
            importers.import_text(text)
        tries.append(time.process_time() - start)
    return min(tries)


@pytest.mark.parametrize("kind", SMALL)
def test_time_grows_no_faster_than_the_text(kind):
    assert len(LARGE[kind]) > 3 * len(SMALL[kind])
    assert seconds_for(LARGE[kind]) < 8 * max(seconds_for(SMALL[kind]), 0.004)


def test_the_longest_text_that_is_taken_is_refused_in_words():
    with pytest.raises(UnknownFormat, match="got a text that begins with"):
        importers.import_text("x" * ((1 << 20) - 1))
