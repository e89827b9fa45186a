"""What carries the observation from process to process."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repro_env import injection

from .conftest import Start

NAMES = st.from_regex(r"[A-Z_]{1,20}", fullmatch=True)
VALUES = st.text(st.characters(blacklist_characters="\x00", blacklist_categories=("Cs",)), max_size=40)


@given(values=st.dictionaries(NAMES, VALUES, max_size=6))
def test_what_is_packed_is_unpacked(values: dict[str, str]) -> None:
    packed = injection.pack(values)

    assert injection.unpack(packed) == values
    assert "\x00" not in packed


@pytest.mark.parametrize("current", [None, "", "/a", "/a:/b", ":/a"], ids=["unset", "empty", "one", "two", "leading"])
def test_our_folder_can_be_taken_off_the_path_again(current: str | None) -> None:
    entries = injection.python_path(current, "/ours").split(os.pathsep)
    entries.remove("/ours")

    assert (os.pathsep.join(entries) if entries else None) == current


@pytest.mark.parametrize("program", [
    "import os; os.environ.clear()",
    "import os, sys; os.execve(sys.executable, [sys.executable, '-c', 'print()'], {})",
    "import subprocess, sys; subprocess.run([sys.executable, '-c', 'pass'], env={}, check=True)"],
    ids=["cleared", "exec", "child"])
def test_settings_survive_an_environment_that_was_swept(started: Start, script: Callable[..., str],
                                                        program: str) -> None:
    """Launchers start their programs with an environment of their own; where to keep documents is still known."""
    ended = started(sys.executable, script(program), REPRO_ENV_RUN_ID="run-a", REPRO_ENV_PROJECT="vision")
    assert ended.returncode == 0
    assert [(document["capture"]["run_id"], document["capture"]["project"]) for document in ended.documents] == [
        ("run-a", "vision")]


def test_what_the_program_sets_itself_stands_above_what_it_was_started_with(started: Start,
                                                                            script: Callable[..., str]) -> None:
    program = script("import os; os.environ['REPRO_ENV_PROJECT'] = 'speech'")
    ended = started(sys.executable, program, REPRO_ENV_PROJECT="vision")
    assert [document["capture"]["project"] for document in ended.documents] == ["speech"]


def test_a_launched_environment_keeps_what_it_held() -> None:
    environ = injection.inject({"PYTHONPATH": "/a", "HOME": "/h"}, {"REPRO_ENV_PROJECT": "p"})

    assert environ["HOME"] == "/h"
    assert environ["PYTHONPATH"] == f"{injection.FOLDER}{os.pathsep}/a"
    assert injection.unpack(environ[injection.VARIABLE]) == {"REPRO_ENV_PROJECT": "p"}


def test_a_child_with_an_environment_of_its_own_is_observed_too() -> None:
    children = injection.Children({}, "/ours")

    entries = children.entries([b"A=1", b"PYTHONPATH=/mine", b"B=x=y"])

    assert entries is not None
    assert entries[:2] == [b"A=1", b"B=x=y"]
    assert entries[2] == b"PYTHONPATH=/ours:/mine"
    assert entries[3].startswith(b"REPRO_ENV_INJECT=")


def test_injecting_twice_is_injecting_once() -> None:
    children = injection.Children({}, "/ours")

    once = children.entries([b"A=1"])
    assert once is not None
    again = children.entries([item for item in once if not item.startswith(b"PYTHONPATH")])

    assert again is not None
    assert sorted(again) == sorted(once)


def test_the_environment_of_the_caller_is_not_written_to() -> None:
    children = injection.Children({}, "/ours")
    given_by_caller = {"A": "1"}

    seen = children._mapping(given_by_caller)

    assert given_by_caller == {"A": "1"}
    assert seen["PYTHONPATH"] == "/ours"


@pytest.mark.parametrize("nonsense", [None, 7, {1: 2}], ids=["none", "number", "numbers"])
def test_an_environment_that_is_none_is_left_to_fail_as_it_would(nonsense: object) -> None:
    assert injection.Children({}, "/ours")._mapping(nonsense) is nonsense


def test_a_process_that_hands_out_ranks_is_a_launcher() -> None:
    children = injection.Children({}, "/ours")
    children.entries([b"A=1"])
    assert not children.starts_ranks

    children.entries([b"RANK=0", b"LOCAL_RANK=0"])
    assert children.starts_ranks


def test_a_child_is_told_from_a_rank_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not injection.is_child({})
    assert not injection.is_child({"parent": str(os.getpid()), "rank": ""}), "the program replaced itself"
    assert injection.is_child({"parent": "1", "rank": ""})
    monkeypatch.setenv("RANK", "3")
    assert not injection.is_child({"parent": "1", "rank": ""})
    assert injection.is_child({"parent": "1", "rank": "3"})
