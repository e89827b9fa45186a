"""Real launches: programs of the standard library alone, observed, with what was made of them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from repro_env.selftest import measure
from repro_env.selftest.bases import BASES_BY_NAME
from repro_env.selftest.factors import FACTORS_BY_NAME, interpreter
from repro_env.selftest.launches import Launch, Outcome, keep, kept
from repro_env.selftest.machine import Machine
from repro_env.selftest.plan import Plan
from repro_env.selftest.running import Stage
from repro_env.selftest.scoring import rows

PYTHON = BASES_BY_NAME["python"]


@pytest.fixture(scope="module")
def machine() -> Machine:
    return Machine([sys.executable])


@pytest.fixture(scope="module")
def stage(machine: Machine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    return Stage(str(tmp_path_factory.mktemp("stage")), machine)


def launched(stage: Stage, factor: str = "", workload: str = "arithmetic", number: int = 0) -> Outcome:
    found = stage.run(Launch(PYTHON, workload, FACTORS_BY_NAME[factor] if factor else None, number), number)
    assert found.error is None
    return found


def test_a_launch_gives_a_digest_and_documents_of_its_process(stage: Stage) -> None:
    found = launched(stage)

    assert found.digest is not None
    assert found.digest.startswith("sha256:")
    document = found.read()[-1]
    assert document["capture"]["vantage"] == "exit"
    assert document["program"]["source"]["entry_point"] == "workloads.py"
    assert document["program"]["source"]["dirty"] is False
    assert document["program"]["data"]["dataset_digest"].startswith("sha256:")
    assert document["program"]["random"]["hash_seed"] == "0"


def test_what_the_tables_set_does_not_come_from_the_user(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "C")
    monkeypatch.setenv("PYTHONHASHSEED", "17")
    monkeypatch.setenv("NVIDIA_TF32_OVERRIDE", "1")

    document = launched(stage).read()[-1]
    assert document["program"]["random"]["hash_seed"] == "0"
    assert document["stack"]["variables"]["values"]["NVIDIA_TF32_OVERRIDE"] is None
    assert document["stack"]["variables"]["values"]["LANG"] == "C.UTF-8"


@pytest.mark.parametrize(("factor", "workload", "equal"), [
    ("working-folder", "arithmetic", True), ("script-folder", "arithmetic", True), ("edited", "arithmetic", False),
    ("unrelated-distribution", "arithmetic", True), ("optimised", "arithmetic", True), ("umask", "arithmetic", True),
    ("seed", "arithmetic", False), ("PYTHONHASHSEED=1", "hash-order", False), ("PYTHONHASHSEED=1", "arithmetic", True),
    ("ascii", "text", False), ("ascii", "arithmetic", True), ("blank-library", "arithmetic", True),
])
def test_a_factor_is_really_set_and_acts_where_it_should(stage: Stage, factor: str, workload: str, equal: bool) -> None:
    base, other = launched(stage, workload=workload), launched(stage, factor, workload)

    assert (base.digest == other.digest) is equal
    assert base.read()[-1]["program"] != other.read()[-1]["program"] or base.read()[-1] != other.read()[-1]


def test_an_edited_program_shows_in_its_repository(stage: Stage) -> None:
    assert launched(stage, "edited").read()[-1]["program"]["source"]["dirty"] is True
    assert launched(stage, "unrelated-distribution").read()[-1]["program"]["source"]["dirty"] is False


def test_a_program_that_fails_is_said_and_not_judged(stage: Stage) -> None:
    broken = Launch(PYTHON._replace(settings={"seed": [1]}), "arithmetic", None)

    found = stage.run(broken, 99)
    assert found.error is not None
    assert "exit code 1" in found.error
    assert rows([found, found]) == []


def test_a_spool_is_emptied(stage: Stage) -> None:
    launched(stage)

    assert [path.name for path in Path(stage.folder).iterdir() if path.name.startswith("spool")] == []


def test_what_is_kept_is_read_back(stage: Stage, tmp_path: Path) -> None:
    found = [launched(stage), launched(stage, "nice", number=1)]
    other = interpreter("/usr/bin/python9")
    found.append(found[0]._replace(launch=Launch(PYTHON, "text", other)))
    for number, outcome in enumerate(found):
        keep(outcome, str(tmp_path), number)

    read = list(kept(str(tmp_path)))
    assert [outcome.launch for outcome in read] == [outcome.launch for outcome in found]
    assert [outcome.read() for outcome in read] == [outcome.read() for outcome in found]


def test_an_interpreter_is_asked_what_it_can_import(machine: Machine) -> None:
    assert machine.python_of("arithmetic") == sys.executable
    assert machine.broken == []
    assert Machine(["/nowhere/python"]).broken == ["/nowhere/python"]
    assert Machine(["/nowhere/python"]).python_of("linear") is None


def test_needs_are_looked_for(machine: Machine) -> None:
    assert machine.has("")
    assert machine.has("sh")
    assert not machine.has("no-such-program-anywhere")


@pytest.mark.timeout(900)
def test_the_sample_of_python_alone_meets_every_aim(machine: Machine, tmp_path: Path) -> None:
    told: list[int] = []
    report = measure(Plan(machine, quick=True, bases=["python"]), folder=str(tmp_path),
                     progress=lambda done, of, launch: told.append(done))

    assert report.failed == []
    assert [word for word, _ in report.named() if word != "UNSURE"] == []
    assert report.met, report.text()
    assert told == list(range(1, report.launches + 1))
    assert len(list(tmp_path.iterdir())) == report.launches
