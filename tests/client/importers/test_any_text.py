"""Whatever a text is made of: a valid document or an unknown format, in bounded time, by every importer alone too."""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repro_env import importers
from repro_env.errors import UnknownFormat
from repro_env.fingerprint.validate import validate
from repro_env.importers import plain
from repro_env.importers.format import Text

DUMPS = sorted((Path(__file__).resolve().parents[2] / "golden" / "importers" / "dumps").glob("*.txt"))
LINES = sorted({line for path in DUMPS for line in path.read_text(encoding="utf-8").split("\n") if len(line) < 200})
PIECES = st.sampled_from(
    [
        "numpy==1.26.4\n",
        "-e git+https://x/y@",
        "# Editable install (",
        "Package Version\n",
        "------- -------\n",
        "numpy 1.26.4\n",
        "numpy (1.0)\n",
        "# packages in environment at x:\n",
        "# Name Version Build Channel\n",
        "python 3.9.1 h0_0 x\n",
        "@EXPLICIT\n",
        "https://c/x/linux-64/a-1-0.conda\n",
        "dependencies:\n",
        "- python=3.9\n",
        "- pip:\n",
        "  - a==1\n",
        "name: x\n",
        "channels: [",
        "flavors:\n",
        "  pytorch:\n",
        "pytorch_version: ",
        "mlflow_version: 1.0\n",
        "build_dependencies:\n",
        "virtual packages : __cuda=1.1=0\n",
        "conda version : 4\n",
        "active environment : x\n",
        "sys.platform  linux\n",
        "sys.platform: linux\n",
        "GPU 0,1  T4 (arch=7.5)\n",
        "GPU 0: T4\n",
        "PyTorch built with:\n",
        "  - CuDNN 8.5\n",
        "  - CUDA Runtime 11.",
        "Build settings: A=",
        "jax: 0.4\n",
        "jaxlib: 0.4\n",
        "device info: X-99999, 99999 local devices\n",
        "platform: uname_result(",
        "== check pips =====\n",
        "== tensorflow import =====\n",
        "tf.version.VERSION = 2.",
        "- TensorFlow version: 2.5\n",
        "### Python version\n",
        "- OS Platform and Distribution (e.g.,",
        "- CUDA/cuDNN version: 1\n",
        '[{"Id": "',
        '"RepoDigests": [',
        "sha256:",
        "a1" * 32,
        '{"name": "a", "version": "1"}',
        "[",
        "]",
        "{",
        "}",
        '"',
        "'",
        ": ",
        "\n",
        "  ",
        "```\n",
        "> ",
        "\u00a0",
        "\x00",
        "\ud800",
        "&#0;",
        "\x1b[0m",
        "9" * 40,
        "|",
        "&a",
        "*",
        "- ",
        "=",
    ]
)


WHOLE_LINES = st.sampled_from(LINES).map(lambda line: line + "\n")


@settings(max_examples=60)
@given(st.lists(st.one_of(PIECES, WHOLE_LINES, st.text(max_size=4)), max_size=40))
def test_any_mixture_of_their_words_is_a_valid_document_or_of_unknown_format(pieces):
    try:
        document = importers.import_text("".join(pieces))
    except UnknownFormat:
        return
    assert validate(document) == document


@settings(max_examples=40)
@given(st.sampled_from(DUMPS), st.lists(st.tuples(st.floats(0, 1), PIECES), max_size=6))
def test_any_dump_with_foreign_pieces_in_it_is_a_valid_document_or_of_unknown_format(path, insertions):
    text = path.read_text(encoding="utf-8")
    for share, piece in insertions:
        place = int(len(text) * share)
        text = text[:place] + piece + text[place:]
    with contextlib.suppress(UnknownFormat):
        importers.import_text(text)


LIMIT = (1 << 20) - 1
GARBAGE = {
    "freeze": "numpy==1.26.4\n" * (LIMIT // 14),
    "freeze of many": "".join(f"p{n}==1.{n}\n" for n in range(60_000)),
    "requirements": "a>=1 ; b\n" * (LIMIT // 9),
    "editable": "-e git+https://x/y\n" * (LIMIT // 19),
    "names": "abc\n" * (LIMIT // 4),
    "table": "Package Version\n" + "a 1\n" * 200_000,
    "headers": "Package Version\n" * (LIMIT // 16),
    "old pips": "a (1)\n" * (LIMIT // 6),
    "conda list": "# packages in environment at x:\n" * (LIMIT // 32),
    "conda rows": "# packages in environment at x:\n" + "a 1 h0_0 c\n" * 90_000,
    "addresses": "@EXPLICIT\n" + "https://c/x/linux-64/a-1-0.conda\n" * 30_000,
    "explicit": "@EXPLICIT\n" * (LIMIT // 10),
    "one address": "@EXPLICIT\nhttps://" + "a/" * 400_000,
    "dependencies": "dependencies:\n" * (LIMIT // 14),
    "environment file": "name: x\ndependencies:\n" + "- a=1=0\n" * 120_000,
    "pip section": "name: x\ndependencies:\n- python=3\n- pip:\n" + "  - a==1\n" * 100_000,
    "flavours": "flavors:\n" + "  a:\n    b_version: 1\n" * 40_000,
    "conda info": "conda version : 1\nactive environment : 1\nshell level : 1\n" + "x : y\n" * 150_000,
    "tables of detectron2": "sys.platform  linux\n" * (LIMIT // 20),
    "rows of detectron2": "sys.platform  linux\nPython  3.8\n" + "GPU 0  T4\n" * 90_000,
    "long row": "sys.platform  " + "a " * 500_000,
    "lists of OpenMMLab": "sys.platform: linux\n" * (LIMIT // 20),
    "rows of OpenMMLab": "sys.platform: linux\nPython: 3.8\nGCC: 9\nPyTorch: 1\n" + "MMX: 1.0\n" * 100_000,
    "reports of torch": "sys.platform: linux\nPython: 3.8\nGCC: 9\nPyTorch: 1\n"
    + "PyTorch built with:\n- a\n" * 40_000,
    "JAX": "jax: 0.4\njaxlib: 0.4\n" * (LIMIT // 22),
    "banners": "== check pips =====\n" * (LIMIT // 20),
    "pips": "== check pips =====\n== env =====\n" + "a 1\n" * 200_000,
    "answers": "- TensorFlow version: 2.5\n" * (LIMIT // 27),
    "stars": "- * " * (LIMIT // 4),
    "questions": "### TensorFlow version\n\n" * (LIMIT // 24),
    "docker": '[{"Id": "' + "a1" * 32 + '", "RepoTags": [], "Config": {"Env": [' + '"A=1",' * 150_000,
    "objects": "[" + '{"Id": "x"},' * 80_000,
    "items": "[" + '{"name": "a", "version": "1"},' * 30_000,
}


@pytest.mark.parametrize("text", GARBAGE.values(), ids=GARBAGE.keys())
def test_no_importer_reads_a_mebibyte_of_one_kind_over_and_over(text):
    """Each takes well under a second; one that looks back at every line takes minutes."""
    pasted = Text(text, tuple(plain.lines(text)))
    for importer in importers.IMPORTERS:
        start = time.process_time()
        importer.read(pasted)
        assert time.process_time() - start < 20.0, importer.NAME


def test_long_list_makes_a_document():
    document = importers.import_text("".join(f"p{n}==1.{n}\n" for n in range(3_000)))
    assert len(document["stack"]["distributions"]["installed"]) == 3_000


def test_names_and_commands_of_all_formats_are_told_apart():
    assert len({importer.NAME for importer in importers.IMPORTERS}) == len(importers.IMPORTERS)
    assert all(importer.MADE_BY and importer.read.__doc__ for importer in importers.IMPORTERS)


@pytest.mark.parametrize("text", ["", "\n", "```\n```", "{}", "[]", "null", json.dumps("x"), "---\n", "x: y\n"])
def test_no_importer_takes_nothing_for_something(text):
    pasted = Text(text, tuple(plain.lines(text)))
    assert [importer.NAME for importer in importers.IMPORTERS if importer.read(pasted)] == []
