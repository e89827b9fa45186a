"""Policy files as people write them, and what no policy is: words with the line, never a traceback."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from repro_env.cli.policy import parsed_json, read
from repro_env.errors import InvalidDocument

Run = Callable[..., Any]

WAIVED = '[waive]\ntorch-threads = "measured to be equal"\n'


def put(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, "utf-8")
    return str(path)


@pytest.mark.parametrize("before", ["", "\n# ours\n", 'require = "curve"\n', "  "])
def test_toml_may_begin_with_the_header_of_a_table(before: str, tmp_path: Path) -> None:
    assert dict(read(put(tmp_path, "p.toml", before + WAIVED)).waive) == {"torch-threads": "measured to be equal"}


@pytest.mark.parametrize("text", ["a = " + "[" * 100_000, '{"a": ' * 100_000, "[" * 100_000, "\x00\x01\xff", "[]",
                                  "[1, 2]", "null", "[[waive]]\n", "3"],
                         ids=["deep-toml", "deep-json", "deep-list", "binary", "list", "numbers", "null", "tables",
                              "number"])
def test_what_is_no_policy_is_refused_in_words(text: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidDocument):
        read(put(tmp_path, "p.toml", text))


def test_an_empty_policy_is_told_as_such(tmp_path: Path, repro_env: Run) -> None:
    done = repro_env("compare", "gpu=A100", "gpu=A100", "--policy", put(tmp_path, "p.toml", " \n"))
    assert done.code == 65
    assert "expected a policy, got an empty file" in done.err


def test_a_name_that_stands_twice_is_found_among_many() -> None:
    rows = ", ".join(f'"{number}": 0' for number in range(200_000))
    with pytest.raises(InvalidDocument, match="stands twice"):
        parsed_json("policy", f'{{{rows}, "7": 1}}')
