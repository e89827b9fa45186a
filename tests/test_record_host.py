"""A machine that was recorded is the machine: played back, it gives the facts that the real look gave."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
import recorded
from record_host import Masked, record

from repro_env.capture import capture

#: sections of a look at the node; what a library's call told (NVML) is kept and cannot be played back.
SECTIONS = ("accelerators", "driver", "cpu", "system")
BY_CALLS = ("nvml",)


def test_this_machine_played_back_gives_the_same_facts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = record(tmp_path / "here")
    monkeypatch.setattr(recorded, "HOSTS", tmp_path)
    played = capture(recorded.RecordedSystem("here"), subject="node")
    for section in SECTIONS:
        if real["capture"]["sources"].get(section) in BY_CALLS:
            continue
        facts = {name: value for name, value in real["stack"][section].items() if name != "utc_offset"}
        assert {name: played["stack"][section][name] for name in facts} == facts


def test_what_was_recorded_names_no_machine(tmp_path: Path) -> None:
    record(tmp_path / "here")
    text = "\n".join(path.read_text() for path in (tmp_path / "here").rglob("*") if path.is_file())
    node = os.uname().nodename
    assert len(node) <= 3 or node not in text
    assert json.loads((tmp_path / "here" / "host.json").read_text())["uname"][1] == "node-00"


def test_ids_are_replaced_each_by_one_stand_in() -> None:
    masked = Masked("gpu-host-17")
    first = masked("GPU-8f3b1c2d-0a1b-2c3d-4e5f-0123456789ab on gpu-host-17")
    assert first == "GPU-00000000-0000-0000-0000-000000000000 on node-00"
    assert masked("8f3b1c2d-0a1b-2c3d-4e5f-0123456789ab") == "00000000-0000-0000-0000-000000000000"
    assert masked("0f3b1c2d-0a1b-2c3d-4e5f-0123456789ab").endswith("000000000001")
