"""``repro-env selftest`` as people run it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from repro_env.selftest.launches import keep

from .made import OTHER, STILL, outcome, plain


def selftest(*words: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([sys.executable, "-m", "repro_env", "selftest", *words], capture_output=True, text=True,
                          timeout=100, check=False)
    assert "Traceback" not in done.stderr, done.stderr
    return done


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Thirty harmless pairs, kept."""
    for number, found in enumerate([*plain(32, **STILL)]):
        keep(found, str(tmp_path), number)
    return tmp_path


def test_kept_launches_are_judged_again(folder: Path) -> None:
    done = selftest("--judge", str(folder))

    assert done.returncode == 0, done.stdout
    assert "32 launches, 0 failed" in done.stdout
    assert "guaranteed bitwise where bits differ: 0 of 0" in done.stdout
    assert "possible below bitwise where bits are equal: 0 of 31 (0.0%, at most 9.21% (95 %)); aim <= 2 %: met" in (
        done.stdout)


def test_a_missed_aim_exits_with_1_and_json_says_which(folder: Path) -> None:
    keep(outcome("seed", OTHER, **STILL), str(folder), 40)

    done = selftest("--judge", str(folder), "--json")
    told = json.loads(done.stdout)
    assert done.returncode == 1
    assert told["met"] is False
    assert [figure["name"] for figure in told["figures"]["repeat"] if not figure["met"]] == [
        "guaranteed bitwise where bits differ"]
    assert told["rows"][-1]["factor"] == "seed"


@pytest.mark.parametrize(("words", "said"), [
    (["--base", "pyton"], "unknown base 'pyton'; expected one of one-thread"),
    (["--jobs", "0"], "expected a whole number"), (["--jobs", "many"], "expected a whole number"),
    (["--quick", "--full"], "one of --quick and --full"), (["extra"], "expected no argument"),
    (["--judge", "/nowhere/at/all"], "expected folders that --keep wrote"),
    (["--python", "/nowhere/python"], "/nowhere/python cannot be run"),
], ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_wrong_usage_is_said(words: list[str], said: str) -> None:
    done = selftest(*words)

    assert done.returncode == 64, done.stderr
    assert said in done.stderr
    assert done.stdout == ""


def test_progress_goes_to_stderr_alone(tmp_path: Path) -> None:
    done = selftest("--base", "unsettled", "--json")

    assert json.loads(done.stdout)["launches"] == 0
    assert "selftest: 0 launches" in done.stderr
