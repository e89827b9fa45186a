"""Which commands can be observed, and what is said of the others."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from repro_env import launch


@pytest.mark.parametrize(("options", "found"), [
    (["train.py", "-I"], None),
    (["-u", "train.py"], None),
    (["-I", "train.py"], "-I"),
    (["-S", "train.py"], "-S"),
    (["-Es", "train.py"], "-E"),
    (["-uI", "-c", "pass"], "-I"),
    (["-c", "print('-I')", "-I"], None),
    (["-m", "pkg", "-S"], None),
    (["-W", "ignore", "-S", "x.py"], "-S"),
    (["-Wignore", "-X", "dev", "x.py", "-S"], None),
    (["-X", "importtime", "-E", "x.py"], "-E"),
    (["--", "-I"], None),
    (["-"], None),
    ([], None),
])
def test_options_that_shut_out_an_injection_are_found(options: list[str], found: str | None) -> None:
    assert launch.deaf_option(options) == found


@pytest.mark.parametrize(("name", "is_python"), [
    ("python", True), ("python3", True), ("python3.11", True), ("python3.13t", True), ("pypy3.10", True),
    ("bash", False), ("pythonista", False), ("ipython", False), ("sleep", False),
])
def test_interpreters_are_known_by_name(tmp_path: Path, name: str, is_python: bool) -> None:
    program = tmp_path / name
    program.write_bytes(b"\x7fELF")

    interpreter, _ = launch.interpreter_of(str(program), [name])

    assert (interpreter is not None) == is_python


@pytest.mark.parametrize(("line", "option"), [
    ("#!/usr/bin/python3", None),
    ("#!/usr/bin/env python3", None),
    ("#!/usr/bin/env -S python3 -I", "-I"),
    ("#! /opt/venv/bin/python3.11 -sE", "-E"),
])
def test_a_script_tells_its_interpreter_in_the_first_line(tmp_path: Path, line: str, option: str | None) -> None:
    program = tmp_path / "torchrun"
    program.write_text(line + "\nprint()\n")

    interpreter, options = launch.interpreter_of(str(program), ["torchrun", "train.py"])

    assert interpreter is not None
    assert launch.deaf_option(options) == option


def test_a_shell_script_is_no_python_program(tmp_path: Path) -> None:
    program = tmp_path / "train.sh"
    program.write_text("#!/bin/sh\necho\n")

    assert launch.interpreter_of(str(program), ["train.sh"]) == (None, [])
    assert "nothing of it is observed" in (launch.unobserved(str(program), ["train.sh"]) or "")


def test_python_is_observed() -> None:
    assert launch.unobserved(sys.executable, [sys.executable, "train.py"]) is None


def test_a_command_is_found_as_a_shell_finds_it(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "tool"
    program.parent.mkdir()
    program.write_text("")
    path = {"PATH": f"/nowhere:{program.parent}"}

    assert launch.find("tool", path) is None, "not executable"
    program.chmod(0o755)
    assert launch.find("tool", path) == str(program)
    assert launch.find(str(program), {}) == str(program)
    assert launch.find("./tool", path) is None
