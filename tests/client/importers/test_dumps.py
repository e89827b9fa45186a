"""Real dumps: golden documents, their sidecars, and every way to cut or dress them."""

from __future__ import annotations

import html
import importlib.util
import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from importing import contradictions

from repro_env import importers
from repro_env.errors import UnknownFormat
from repro_env.fingerprint.facts import is_unread
from repro_env.fingerprint.validate import validate

ROOT = Path(__file__).resolve().parents[3]
DUMPS = sorted((ROOT / "tests" / "golden" / "importers" / "dumps").glob("*.txt"))


def bench():
    spec = importlib.util.spec_from_file_location("bench_imports", ROOT / "bench" / "imports.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def said(value: Any) -> Any:
    """What a document says: without the facts that the text did not record."""
    if isinstance(value, dict) and not is_unread(value):
        kept = {key: said(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item not in ({"unread": "not-recorded"}, {})}
    return [said(item) for item in value] if isinstance(value, list) else value


def test_document_is_the_golden_one(dump, regenerate):
    document = importers.import_text(dump.read_text(encoding="utf-8"))
    shown = {
        "stack": said(document["stack"]),
        "imported": document["capture"]["imported"],
        "run_id": document["capture"]["run_id"],
    }
    text = json.dumps(shown, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
    golden = dump.parents[1] / "documents" / f"{dump.stem}.json"
    if regenerate:
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")


def test_every_golden_document_has_its_dump():
    documents = {path.stem for path in (DUMPS[0].parents[1] / "documents").glob("*.json")}
    assert documents == {path.stem for path in DUMPS}


def test_no_value_differs_from_the_sidecar(dump):
    expected = yaml.safe_load(dump.with_suffix(".yaml").read_text(encoding="utf-8"))["expected"]
    results = bench().compare(dump, expected, Counter())
    assert results
    assert [result for result in results if result[1] == "wrong"] == []


def test_at_most_three_in_a_hundred_fields_are_missing():
    module = bench()
    counts, _, _ = module.collect([path.with_suffix(".yaml") for path in DUMPS])
    assert counts["pytorch_collect_env"]["dumps"] == 21
    count = sum(counts.values(), Counter())
    assert count["missing"] <= 0.03 * module.total(count)


def test_every_format_has_a_shipped_dump():
    shipped = {yaml.safe_load(path.with_suffix(".yaml").read_text(encoding="utf-8"))["format"] for path in DUMPS}
    assert {name.replace("-", "_") for name in importers.FORMATS} == shipped


def test_a_wrong_value_is_counted_as_wrong(tmp_path):
    path = tmp_path / "1.txt"
    path.write_text("PyTorch version: 1.9.0+cu111\nIs debug build: False\n", encoding="utf-8")
    results = bench().compare(path, {"torch": "1.9.1", "driver": "455.1", "gpus": None, "python": None}, Counter())
    assert [(key, outcome) for key, outcome, _, _ in results] == [
        ("torch", "wrong"),
        ("driver", "missing"),
        ("gpus", "silent"),
        ("python", "silent"),
    ]


def test_detects_the_format_that_the_sidecar_names(dump):
    sidecar = yaml.safe_load(dump.with_suffix(".yaml").read_text(encoding="utf-8"))
    assert importers.detect(dump.read_text(encoding="utf-8")).replace("-", "_") == sidecar["format"]


def test_cut_at_any_line_states_nothing_that_the_whole_contradicts(dump):
    text = dump.read_text(encoding="utf-8")
    whole = importers.import_text(text)["stack"]
    lines = text.splitlines(keepends=True)
    imported = 0
    for end in range(1, len(lines)):
        try:
            part = importers.import_text("".join(lines[:end]))
        except UnknownFormat:
            assert imported == 0, f"line {end} made a dump unknown that was known before"
            continue
        imported += 1
        assert contradictions(part["stack"], whole) == [], f"cut after line {end}"
    assert imported > 0


@given(st.sampled_from(DUMPS), st.floats(0, 1))
def test_cut_at_any_character_states_nothing_that_the_whole_contradicts(path, share):
    text = path.read_text(encoding="utf-8")
    whole = importers.import_text(text)["stack"]
    try:
        part = importers.import_text(text[: int(len(text) * share)])
    except UnknownFormat:
        return
    assert contradictions(part["stack"], whole) == []


def each_line(dress):
    """A dress of each line; what ends the last line stays as it is."""
    return lambda text: "\n".join(map(dress, text.splitlines())) + ("\n" if text.endswith("\n") else "")


DRESSES = {
    "quoted": each_line(lambda line: f"> {line}"),
    "quoted twice": each_line(lambda line: f">> {line}"),
    "CRLF": lambda text: text.replace("\n", "\r\n"),
    "CR": lambda text: text.replace("\n", "\r"),
    "indented": each_line(lambda line: f"    {line}"),
    "tab": each_line(lambda line: f"\t{line}"),
    "ANSI": each_line(lambda line: f"\x1b[1;32m{line}\x1b[0m"),
    "HTML": lambda text: html.escape(text, quote=True),
    "HTML lines": lambda text: (
        "<pre>" + text.replace("<pip>", "&lt;pip&gt;").replace("\n", "<br/>\n") + "</pre>"
    ),
    "no-break blanks": each_line(lambda line: line if line.startswith("OS") else line.replace(" ", "\u00a0")),
    "byte order mark": lambda text: "\ufeff" + text,
    "log of a build": each_line(lambda line: f"2024-07-05T10:11:12.1234567Z {line}"),
    "NUL between": "\x00".join,
}


@pytest.mark.parametrize("dress", DRESSES.values(), ids=DRESSES.keys())
def test_dress_does_not_change_the_document(dump, dress):
    text = dump.read_text(encoding="utf-8")
    assert importers.import_text(dress(text)) == importers.import_text(text)


def test_text_around_the_dump_changes_no_fact(dump):
    text = dump.read_text(encoding="utf-8").rstrip("`\n")
    framed = (
        f"Hi, training differs between two of our nodes.\n\n```shell\n{text}\n```\n\nThanks: any help is welcome!\n"
    )
    bare, around = importers.import_text(text + "\n```\n"), importers.import_text(framed)
    assert around["stack"] == bare["stack"]


@given(st.text(max_size=2000))
def test_any_text_is_a_valid_document_or_of_unknown_format(text):
    try:
        document = importers.import_text(text)
    except UnknownFormat:
        return
    assert validate(document) == document


PIECES = st.sampled_from(
    [
        "PyTorch version:",
        "OS:",
        "GPU models and configuration:",
        "GPU 0: ",
        "MIG 1g.5gb Device 0:",
        "CPU:",
        "Flags: fpu",
        "cuDNN version:",
        "/usr/lib/libcudnn.so.",
        "[pip3] ",
        "[conda] ",
        "numpy==",
        "Python version: 3.",
        "\n",
        " ",
        "N/A",
        "Could not collect",
        "No CUDA",
        "Versions of relevant libraries:",
        "On-line CPU(s) list: 0-",
        "9",
        "1.",
        "(",
        "[",
        "Libc version: glibc-",
        "\u00a0",
        "```",
        "Is XPU available: True",
        "Nvidia driver version:",
        "\udc80",
        "\x00",
        "&#0;",
    ]
)


#: lines of the shipped dumps, to be mixed: of every format, each line once.
LINES = st.sampled_from(sorted({line for path in DUMPS for line in path.read_text(encoding="utf-8").splitlines()}))


@given(st.lists(st.one_of(LINES, LINES, PIECES), max_size=25), st.integers(0, 3))
def test_any_mixture_of_lines_of_all_formats_is_a_valid_document_or_of_unknown_format(lines, rest):
    text = "\n".join(lines)
    test_any_text_is_a_valid_document_or_of_unknown_format.hypothesis.inner_test(text[: len(text) - rest])


@given(st.sampled_from(DUMPS), st.sampled_from(DUMPS))
def test_below_another_dump_states_what_one_of_them_states(path, other):
    first, second = (item.read_text(encoding="utf-8") for item in (path, other))
    joined = importers.import_text(f"{first}\n```\n\n{second}\n```\n")["stack"]
    alone = [importers.import_text(f"{text}\n```\n")["stack"] for text in (first, second)]
    torch = [versions(stack) for stack in (joined, *alone)]
    assert torch[0] <= torch[1] | torch[2]


def versions(stack: dict[str, Any]) -> set[str]:
    """What a stack states of torch, Python and driver."""
    torch = stack["frameworks"]["torch"]
    told = [torch.get("version") if isinstance(torch, dict) else None, stack["python"]["version"]]
    return {value for value in (*told, stack["driver"]["kernel_module"]) if isinstance(value, str)}


@given(st.lists(st.one_of(PIECES, st.text(max_size=5)), max_size=60))
def test_any_mixture_of_its_words_is_a_valid_document_or_of_unknown_format(pieces):
    test_any_text_is_a_valid_document_or_of_unknown_format.hypothesis.inner_test("".join(pieces))
    test_any_text_is_a_valid_document_or_of_unknown_format.hypothesis.inner_test(
        "PyTorch version: 2.1.0\n" + "".join(pieces)
    )
