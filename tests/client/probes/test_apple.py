"""macOS: what sysctl and system_profiler answer in their documented forms, and what is left when they do not."""

from __future__ import annotations

from typing import Any

import pytest
from recorded import RecordedSystem

from repro_env.capture import capture
from repro_env.fingerprint.validate import validate
from repro_env.probes import apple

PROFILER = "system_profiler SPDisplaysDataType -json"
(SYSCTL,) = (command for command in RecordedSystem("mac-m2").commands if command.startswith("sysctl"))
SILENT = {"unread": "not-reported"}


def look(system: RecordedSystem) -> dict[str, Any]:
    document = capture(system)
    validate(document)
    return document


def test_apple_silicon_is_read_by_sysctl_and_system_profiler() -> None:
    document = look(RecordedSystem("mac-m2"))
    stack = document["stack"]
    assert stack["cpu"] == {
        "architecture": "arm64", "vendor": "apple", "model": "Apple M2 Pro", "cores": 10,
        "microarchitecture": "cpufamily-0xda33d83d",
        "instruction_sets": ["asimd", "asimddp", "asimdfhm", "asimdhp", "bf16", "i8mm"],
        "torch_capability": {"unread": "not-loaded"}, "numpy_simd": {"unread": "not-loaded"}}
    (device,) = stack["accelerators"]["devices"]
    assert (device["vendor"], device["name"], device["sm_count"], device["ecc"]) == ("apple", "Apple M2 Pro", 16, None)
    assert (stack["accelerators"]["links"], stack["accelerators"]["interconnect"]) == ([], None)
    assert stack["driver"] == {"kernel_module": SILENT, "user_libcuda": None, "compat": None, "cuda_level": None,
                               "kernel_flavour": None}
    assert document["capture"]["sources"]["accelerators"] == "system_profiler"
    assert [error for error in document["capture"]["errors"] if error["path"].startswith(("acc", "cpu", "sys"))] == []


def test_the_system_of_a_mac_is_named_by_its_property_list_and_its_kernel() -> None:
    system = look(RecordedSystem("mac-m2"))["stack"]["system"]
    assert (system["os_family"], system["os_name"], system["kernel"], system["virtualisation"]) == (
        "macos", "macOS 14.5", "23.5.0", None)
    assert system["libc"] == SILENT


def test_a_mac_with_intel_s_processor_lists_both_its_gpus() -> None:
    stack = look(RecordedSystem("mac-intel"))["stack"]
    assert [(device["vendor"], device["name"]) for device in stack["accelerators"]["devices"]] == [
        ("amd", "AMD Radeon Pro 5500M"), ("intel", "Intel UHD Graphics 630")]
    assert stack["cpu"]["microarchitecture"] == "6-158"
    assert stack["cpu"]["vendor"] == "GenuineIntel"
    assert "avx2" in stack["cpu"]["instruction_sets"]
    assert "avx512f" not in stack["cpu"]["instruction_sets"]
    assert stack["driver"]["user_libcuda"] == SILENT


def test_each_tool_is_asked_once_a_capture() -> None:
    system = RecordedSystem("mac-m2")
    look(system)
    assert system.started.count(SYSCTL) == system.started.count(PROFILER) == 1


@pytest.mark.parametrize("answer", [{"error": "timeout"}, {"output": "no JSON"}, {"output": "[]"}, {"output": "{}"},
                                    {"output": "", "status": 1}], ids=["hangs", "words", "list", "empty", "status"])
def test_without_system_profiler_the_chip_s_own_gpu_is_known_by_name_alone(answer: dict[str, Any]) -> None:
    system = RecordedSystem("mac-m2")
    system.commands[PROFILER] = answer
    document = look(system)
    (device,) = document["stack"]["accelerators"]["devices"]
    assert (device["vendor"], device["name"], device["sm_count"]) == ("apple", "Apple M2 Pro", SILENT)
    assert document["capture"]["sources"]["accelerators"] == "sysctl"
    assert any(error["path"] == "accelerators" for error in document["capture"]["errors"])


@pytest.mark.parametrize("host", ["mac-m2", "mac-intel"])
def test_without_both_tools_nothing_is_claimed(host: str) -> None:
    system = RecordedSystem(host)
    system.commands = {}
    stack = look(system)["stack"]
    assert stack["accelerators"]["devices"] == SILENT
    assert stack["cpu"]["model"] == stack["cpu"]["instruction_sets"] == {"unread": "failed"}
    assert stack["system"]["virtualisation"] == {"unread": "failed"}
    assert stack["system"]["os_family"] == "macos"


def test_a_virtual_mac_is_said_to_be_one_and_its_gpu_is_not_the_chip_s() -> None:
    system = RecordedSystem("mac-m2")
    system.commands[SYSCTL]["output"] = system.commands[SYSCTL]["output"].replace("present: 0", "present: 1")
    del system.commands[PROFILER]
    stack = look(system)["stack"]
    assert stack["system"]["virtualisation"] == "apple"
    assert stack["accelerators"]["devices"] == SILENT


@pytest.mark.parametrize(("text", "expected"), [
    ("a: 1\nb.c: two words\n", {"a": "1", "b.c": "two words"}), ("garbage\n", {}), ("", {}),
    ("machdep.cpu.brand_string: Apple M1: x\n", {"machdep.cpu.brand_string": "Apple M1: x"})])
def test_lines_of_sysctl(text: str, expected: dict[str, str]) -> None:
    assert apple.parse(text) == expected


@pytest.mark.parametrize("family", ["", "words", "--1"])
def test_a_family_that_is_no_number_is_unread(family: str) -> None:
    system = RecordedSystem("mac-m2")
    text = system.commands[SYSCTL]["output"].replace("hw.cpufamily: -634136515", f"hw.cpufamily: {family}")
    system.commands[SYSCTL]["output"] = text
    assert look(system)["stack"]["cpu"]["microarchitecture"] == SILENT
