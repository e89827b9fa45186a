"""What a look leaves for the next one: what lasts, and only what was read without a fault."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from repro_env import capture as capturing
from repro_env import memory as memories
from repro_env.capture import capture
from repro_env.memory import Memory
from repro_env.probes.keys import SECTIONS
from repro_env.system import System


class Counted:
    """The probes, each counting its calls."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: dict[str, int] = {}
        monkeypatch.setattr(capturing, "PROBES", tuple(
            (path, self._counting(path, probe)) for path, probe in capturing.PROBES))

    def _counting(self, path: str, probe: Any) -> Any:
        def call(*arguments: Any) -> Any:
            self.calls[path] = self.calls.get(path, 0) + 1
            return probe(*arguments)

        return call


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Counted:
    monkeypatch.chdir(tmp_path)
    return Counted(monkeypatch)


def look(memory: Memory | None, system: System | None = None) -> dict[str, Any]:
    return capture(system or System(), vantage="process", memory=memory, run_id="run-a")


def test_a_second_look_asks_only_what_may_have_changed(counted: Counted) -> None:
    memory = Memory()
    first, second = look(memory), look(memory)

    failed = {error["path"].split(".")[0] for error in first["capture"]["errors"]}
    for path, calls in counted.calls.items():
        assert calls == (1 if path in memories.LASTING and path not in failed else 2), path
    assert second["stack"] == first["stack"]
    assert second["program"] == first["program"]
    assert second["capture"]["sources"] == first["capture"]["sources"]


def test_a_look_that_remembers_says_what_one_without_memory_says() -> None:
    memory = Memory()
    look(memory)
    plain, remembering = look(None), look(memory)

    assert remembering["digests"] == plain["digests"]
    changing = {"observation_id", "captured_at", "durations_us"}
    assert {name for name in plain["capture"] if plain["capture"][name] != remembering["capture"][name]} <= changing


def test_what_lasts_is_read_before_the_first_look(counted: Counted) -> None:
    memory = Memory()
    capturing.remember(System(), memory, 5.0)
    assert set(counted.calls) == memories.LASTING

    before = dict(counted.calls)
    document = look(memory)
    again = {path for path in memories.LASTING if counted.calls[path] != before[path]}
    assert again <= {error["path"].split(".")[0] for error in document["capture"]["errors"]}


def test_sections_that_last_are_sections() -> None:
    assert set(SECTIONS) >= memories.LASTING


def test_what_failed_is_looked_for_again(counted: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = Memory()
    probes = dict(capturing.PROBES)
    monkeypatch.setattr(capturing, "PROBES", tuple(
        (path, (lambda *_: 1 // 0) if path == "cpu" else probe) for path, probe in probes.items()))
    failed = look(memory)
    monkeypatch.setattr(capturing, "PROBES", tuple(probes.items()))
    later = look(memory)

    assert failed["stack"]["cpu"]["cores"] == {"unread": "failed"}
    assert isinstance(later["stack"]["cpu"]["cores"], int)


def test_what_was_installed_meanwhile_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    memory = Memory()
    look(memory)
    (tmp_path / "planted-1.0.dist-info").mkdir()

    names = [row["name"] for row in look(memory)["stack"]["distributions"]["installed"]]
    assert "planted" in names


def test_other_files_beside_the_program_forget_nothing(counted: Counted, tmp_path: Path,
                                                       monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(tmp_path))
    memory = Memory()
    look(memory)
    (tmp_path / "checkpoint.pt").write_text("")
    look(memory)

    assert counted.calls["distributions"] == 1


def test_what_a_section_noted_beside_its_facts_is_noted_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def probe(_: System, look: Any) -> dict[str, Any]:
        look.sources["cpu"] = "planted"
        look.circumstances["planted"] = "4f1d"
        look.device_ids = ("GPU-1",)
        return dict(facts)

    facts = dict(look(None)["stack"]["cpu"])
    memory = Memory()
    monkeypatch.setattr(capturing, "PROBES", tuple(
        (path, probe if path == "cpu" else other) for path, other in capturing.PROBES))
    for _ in range(2):
        record = look(memory)["capture"]
        assert record["sources"]["cpu"] == "planted"
        assert record["planted"] == "4f1d"
        assert record["process"]["device_ids"] == ["GPU-1"]


def test_a_working_tree_whose_state_is_known_is_not_asked_again(tmp_path: Path,
                                                                monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".git").mkdir()
    monkeypatch.chdir(tmp_path)
    memory = Memory()
    memory.differences[str(tmp_path)] = {"dirty": True, "diff_digest": "sha256:" + "1" * 64}

    document = look(memory)
    assert document["program"]["source"]["dirty"] is True
    assert document["program"]["source"]["diff_digest"] == "sha256:" + "1" * 64
    assert document["capture"]["sources"]["program.source.dirty"] == "git"
    assert "git diff" not in document["capture"]["durations_us"]
