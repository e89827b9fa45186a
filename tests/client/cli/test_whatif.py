"""Short facts as sides of ``compare`` and ``doctor``, alone, against documents, and from a TOML file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from documents import complete_document

from repro_env.flat_toml import parse
from repro_env.whatif import document, document_of_table
from repro_env.whatif.keys import table

Run = Callable[..., Any]
A100, H100 = "gpu=A100,torch=2.3.1+cu121,tf32=on", "gpu=H100,torch=2.3.1+cu121,tf32=on"
#: the same as the file below.
SHORT = "gpu=H100 PCIe,gpus=8,torch=2.5.1+cu124,tf32=off,NVIDIA_TF32_OVERRIDE=0"
TOML = """# what if
gpu = "H100 PCIe"
gpus = 8
torch = "2.5.1+cu124"
tf32 = false

[variables]
NVIDIA_TF32_OVERRIDE = "0"
"""
GUIDE = Path(__file__).resolve().parents[3] / "docs" / "whatif.md"


def test_two_sides_of_facts_are_judged_as_stacks(repro_env: Run) -> None:
    done = repro_env("compare", A100, H100, "--json")
    told = done.json()
    assert done.code == 1
    assert (told["scope"], told["expected"], told["answer"]) == ("stack", "statistical", "no")
    assert told["reasons"][0]["cause"] == "gpu_architecture"
    assert "was not observed" in told["headline"]


def test_the_same_facts_twice_are_no_run_held_against_itself(repro_env: Run) -> None:
    assert not repro_env("compare", A100, A100, "--json").json()["headline"].startswith("Same run")


def test_text_names_both_sides_as_they_were_written(repro_env: Run) -> None:
    done = repro_env("compare", A100, H100)
    assert A100 in done.out
    assert H100 in done.out


def test_facts_against_a_document_name_the_difference(repro_env: Run, folder: Path) -> None:
    (folder / "real.json").write_text(json.dumps(complete_document("process", machine="h100")))
    told = repro_env("compare", "real.json", "gpu=A100-SXM4-80GB,torch=2.5.1+cu124", "--json").json()
    assert told["reasons"][0]["rule"] == "gpu-architecture"
    same = repro_env("compare", "real.json", "gpu=H100 SXM,torch=2.5.1+cu124,driver=550.54.15", "--json").json()
    assert (same["reasons"], same["expected"]) == ([], "bitwise")


def test_facts_after_two_dashes_and_among_several_sides(repro_env: Run) -> None:
    done = repro_env("compare", "--json", "--", A100, H100, "gpu=A100,torch=2.3.1+cu121,tf32=on,threads=8")
    assert done.code == 1, done.err
    assert done.json()


def test_a_toml_file_states_what_the_short_form_does(repro_env: Run, folder: Path) -> None:
    (folder / "what.toml").write_text(TOML)
    done = repro_env("compare", "what.toml", SHORT, "--json")
    assert done.json()["reasons"] == []


def test_older_pythons_read_the_same_file() -> None:
    short = document(SHORT)
    assert document_of_table(parse(TOML, "", "what.toml"), "what.toml")["stack"] == short["stack"]


@pytest.mark.parametrize(("word", "code", "says"), [
    ("tourch=2.3", 64, "did you mean torch?"), ("gpu=A1000000", 65, "facts: gpu: no device is known"),
    ("cudnn=9", 65, "as in cudnn=9.1.0"), ("gpu=A100,tf32", 64, "expected key=value"),
    ("lost/run=1.json", 64, "could not be read")])
def test_wrong_facts_end_with_a_code_and_a_word(repro_env: Run, word: str, code: int, says: str) -> None:
    done = repro_env("compare", word, A100)
    assert (done.code, done.out) == (code, "")
    assert says in done.err


def test_a_wrong_file_names_itself_and_its_key(repro_env: Run, folder: Path) -> None:
    (folder / "what.toml").write_text('gpu = "A1000000"\n')
    done = repro_env("compare", "what.toml", A100)
    assert done.code == 65
    assert "what.toml: gpu: no device is known" in done.err


def test_a_file_whose_name_looks_like_facts_is_a_file(repro_env: Run, folder: Path) -> None:
    (folder / "lr=0.1").write_text(json.dumps(complete_document("process", machine="cpu")))
    assert repro_env("compare", "lr=0.1", "lr=0.1", "--json").json()["scope"] == "process"


def test_contradictory_facts_are_named_and_cap_the_verdict(repro_env: Run) -> None:
    told = repro_env("compare", "gpu=A100,capability=9.0", "gpu=A100,capability=9.0", "--json").json()
    assert (told["guaranteed"], told["expected"]) == ("none", "statistical")
    assert told["reasons"][0]["cause"] == "contradiction"
    assert "A100 is of compute capability 8.0, not 9.0" in told["headline"]


def test_doctor_finds_contradictions_of_facts(repro_env: Run) -> None:
    done = repro_env("doctor", "gpu=B200,driver=535.104.05,torch=2.3.1+cu121,cudnn=8.5.0", "--json")
    assert done.code == 1
    assert {row["check"] for row in done.json() if row["kind"] == "contradiction"} == {
        "driver-older-than-gpu", "torch-cudnn-contradiction"}


def test_the_guide_lists_every_key() -> None:
    assert table() in GUIDE.read_text()


@pytest.mark.parametrize(("text", "says"), [
    ("torch = 2.5\n", "what.toml: torch: expected text in quotes"), ("torch =\n", "what.toml"),
    ('tourch = "2.5.1"\n', "what.toml: unknown key 'tourch' (did you mean torch?)")])
def test_a_wrong_file_of_facts_is_invalid_input(repro_env: Run, folder: Path, text: str, says: str) -> None:
    (folder / "what.toml").write_text(text)
    done = repro_env("compare", "what.toml", A100)
    assert (done.code, says in done.err) == (65, True)


def test_a_name_that_is_only_partly_known_is_said_on_stderr(repro_env: Run) -> None:
    done = repro_env("compare", "gpu=RTX 4090 turbo", "gpu=4090", "--json")
    assert "nothing is known of 'turbo'" in done.err
    assert done.json()["reasons"] == []


@pytest.mark.parametrize("form", ["text", "markdown"])
def test_what_a_side_of_facts_leaves_open_is_told_as_keys(repro_env: Run, form: str) -> None:
    assert "driver=550.54.15" in repro_env("compare", A100, H100, "--format", form).out
    assert "short facts leave open" not in repro_env("compare", A100, H100, "--json").out
