"""The command line as a whole: help, version, exit codes, and never a traceback."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from repro_env.cli.main import COMMANDS
from repro_env.version import VERSION

Run = Callable[..., Any]


def test_help_lists_every_command_with_examples(repro_env: Run) -> None:
    done = repro_env("--help")
    assert done.code == 0
    assert done.err == ""
    for name, summary in COMMANDS.items():
        assert f"  {name:<9} {summary}" in done.out
    assert "repro-env run -- python train.py" in done.out


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_explains_itself_with_examples(command: str, repro_env: Run) -> None:
    done = repro_env(command, "--help")
    assert done.code == 0
    assert done.out.startswith(f"usage: repro-env {command}")
    assert "examples:" in done.out
    assert max(map(len, done.out.splitlines())) <= 100
    assert repro_env("help", command).out == done.out


@pytest.mark.parametrize("command", COMMANDS)
def test_help_wraps_to_a_narrow_terminal(command: str, repro_env: Run) -> None:
    prose = [line for line in repro_env(command, "--help", env={"COLUMNS": "60"}).out.splitlines()
             if not line.startswith(("usage", "  "))]
    assert max(map(len, prose)) <= 60


def test_version(repro_env: Run) -> None:
    assert repro_env("--version").out == f"repro-env {VERSION}\n"


def test_nothing_at_all_is_wrong_usage_and_shows_the_help(repro_env: Run) -> None:
    done = repro_env()
    assert (done.code, done.out) == (64, "")
    assert done.err.startswith("usage: repro-env COMMAND")


@pytest.mark.parametrize(("arguments", "words"), [
    (["captur"], "unknown command 'captur' (did you mean capture?)"),
    (["zzz"], "unknown command 'zzz'; repro-env --help"),
    (["compare", "a.json"], "compare: expected LEFT RIGHT"),
    (["capture", "--labl", "a=b"], "unknown option --labl (did you mean --label?)"),
    (["compare", "a", "b", "--level", "exact"], "expects one of bitwise, curve, statistical, none, got 'exact'"),
    (["capture", "--run-id"], "--run-id expects a value: --run-id ID"),
    (["capture", "--run-id", "--json"], "--run-id expects a value"),
    (["run"], "run: expected a command"), (["rules", "torch-thread"], "near: torch-threads"),
    (["sync", "--timeout", "x"], "--timeout: expected seconds")])
def test_wrong_usage_is_one_line_and_64(arguments: list[str], words: str, repro_env: Run) -> None:
    done = repro_env(*arguments)
    assert (done.code, done.out, len(done.lines)) == (64, "", 1)
    assert done.err.startswith("repro-env: ")
    assert words in done.err


def test_a_fault_of_ours_is_one_line_and_debug_shows_the_rest() -> None:
    code = ("import repro_env.cli.rules as rules, sys; rules.listing = None\n"
            "from repro_env.cli.main import main; sys.exit(main(['rules']))")
    plain = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60)
    assert plain.returncode == 70
    assert plain.stderr.count("\n") == 1
    assert "REPRO_ENV_DEBUG=1" in plain.stderr
    debug = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60,
                           env={**os.environ, "REPRO_ENV_DEBUG": "1"})
    assert "Traceback" in debug.stderr


def test_a_reader_that_goes_away_is_no_error() -> None:
    done = subprocess.run(["sh", "-c", '"$0" -m repro_env rules | head -n 1', sys.executable], capture_output=True,
                          text=True, check=False, timeout=60)
    assert done.stderr == ""
    assert done.stdout.startswith("Rule set ")


def test_output_is_utf8_in_any_locale(repro_env: Run) -> None:
    done = repro_env("rules", "--json", env={"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"})
    assert done.code == 0


def test_rules_explains_one_rule(repro_env: Run) -> None:
    done = repro_env("rules", "torch-threads")
    assert done.code == 0
    assert done.out == repro_env("explain", "torch-threads").out
    assert repro_env("rules", "torch-threads", "--json").json()["id"] == "torch-threads"


def test_rules_lists_all_of_them(repro_env: Run) -> None:
    from repro_env.comparability.rules import RULES

    listed = repro_env("rules").out
    assert all(f"  {rule.id} " in listed for rule in RULES)
    assert [row["id"] for row in repro_env("rules", "--json").json()] == [rule.id for rule in RULES]


def test_run_becomes_the_program(repro_env: Run) -> None:
    done = repro_env("run", "--run-id", "run-a", "--", sys.executable, "-c",
                     "import sys; print('out'); print('err', file=sys.stderr); sys.exit(7)")
    assert (done.code, done.out) == (7, "out\n")
    assert "err\n" in done.err


def test_run_passes_options_of_the_program_through(repro_env: Run) -> None:
    done = repro_env("run", sys.executable, "-c", "import sys; print(sys.argv[1:])", "--run-id", "x", "--help")
    assert done.out == "['--run-id', 'x', '--help']\n"
