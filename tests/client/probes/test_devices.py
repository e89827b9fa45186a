"""Devices and driver without NVML: what each source can say, and that a broken tool is never "no GPU"."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from recorded import RecordedSystem

from repro_env.capture import capture
from repro_env.fingerprint.facts import is_unread
from repro_env.probes import amd, smi
from repro_env.probes.driver import parse_version
from repro_env.probes.nvml import form_factor
from repro_env.system import System

GOOD = ("NVIDIA H100 80GB HBM3, 81559, Enabled, Disabled, GPU-1, 550.54.15\n"
        "NVIDIA H100 80GB HBM3, 81559, Enabled, Disabled, GPU-2, 550.54.15\n")


def devices_of(system: System) -> tuple[Any, list[dict[str, str]]]:
    document = capture(system)
    return document["stack"]["accelerators"]["devices"], document["capture"]["errors"]


def test_nvidia_smi_gives_name_capability_memory_and_ecc() -> None:
    devices, errors = devices_of(RecordedSystem("h100-node"))
    assert [device["compute_capability"] for device in devices] == ["9.0", "9.0"]
    assert devices[0]["memory_bytes"] == 81559 << 20
    assert devices[0]["ecc"] is True
    assert devices[0]["sm_count"] == {"unread": "not-reported"}
    assert "could not be loaded" in errors[0]["message"]


def test_an_older_nvidia_smi_without_compute_capability_is_asked_again() -> None:
    system = RecordedSystem("h100-node")
    (query,) = system.commands
    system.commands = {query: {"status": 2, "output": 'Field "compute_cap" is not a valid field to query.\n'},
                       query.replace("compute_cap,", ""): {"output": GOOD}}
    devices, _ = devices_of(system)
    assert len(system.started) >= 2
    assert devices[0]["name"] == "NVIDIA H100 80GB HBM3"
    assert devices[0]["compute_capability"] == {"unread": "not-reported"}


def test_slices_that_nvidia_smi_does_not_list_are_not_guessed() -> None:
    devices, errors = devices_of(RecordedSystem("a100-mig"))
    assert devices[0]["name"] == "NVIDIA A100-SXM4-40GB"
    assert is_unread(devices[0]["mig_profile"])
    assert sum("nvidia-smi" in error["message"] for error in errors) == 1


def test_slices_are_taken_from_nvidia_smi_s_list() -> None:
    system = RecordedSystem("a100-mig")
    system.commands["nvidia-smi -L"] = {"output": (
        "GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-8f)\n  MIG 3g.20gb     Device  0: (UUID: MIG-1)\n"
        "  MIG 1g.5gb+me   Device  1: (UUID: MIG-2)\n")}
    document = capture(system)
    devices = document["stack"]["accelerators"]["devices"]
    assert [device["mig_profile"] for device in devices] == ["1g.5gb+me", "3g.20gb"]
    assert devices[0]["ecc"] is True
    assert is_unread(devices[0]["memory_bytes"])
    assert document["capture"]["process"]["device_ids"] == ["MIG-1", "MIG-2"]


@pytest.mark.parametrize("answer", [
    {"output": ""}, {"output": "No devices were found\n"}, {"output": "\x00\xff garbage, , ,\n" * 50},
    {"output": "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n", "status": 9},
    {"error": "timeout"}, {"error": "denied"}],
    ids=["empty", "none-found", "garbage", "status", "hangs", "denied"])
def test_a_broken_nvidia_smi_leaves_what_the_kernel_lists(answer: dict[str, Any]) -> None:
    system = RecordedSystem("h100-node")
    system.commands = dict.fromkeys(system.commands, answer)
    devices, errors = devices_of(system)
    assert [device["name"] for device in devices] == ["NVIDIA H100 80GB HBM3"] * 2
    assert is_unread(devices[0]["memory_bytes"])
    assert any(error["code"] == answer.get("error", "failed") for error in errors)


class RealPrograms(RecordedSystem):
    """Recorded files with a GPU on the bus that nothing but nvidia-smi knows; nvidia-smi and the clock are real."""

    run_status = System.run_status
    monotonic = System.monotonic

    def __init__(self, path: str) -> None:
        super().__init__("h100-node")
        self.host["denied"] = ["/proc/driver/nvidia", "/dev"]
        self.path = path

    def executable(self, name: str) -> str | None:
        path = f"{self.path}/{name}"
        return path if os.access(path, os.X_OK) else None if name == "nvidia-smi" else super().executable(name)


@pytest.mark.parametrize(("text", "code"), [
    (None, "failed"), ("sleep 60", "timeout"), ("trap '' TERM; while :; do :; done", "timeout"),
    ("head -c 300000 /dev/urandom", "failed"), ("yes", "failed"), ("exit 9", "failed"),
    ("echo 'NVIDIA H100, [Unknown Error], [N/A]'", "failed"), ("kill -KILL $$", "failed")],
    ids=["missing", "hangs", "spins", "random-bytes", "endless", "status", "short-row", "killed"])
def test_a_real_broken_nvidia_smi_is_unread_never_no_gpu_and_bounded(tmp_path: Path, text: str | None,
                                                                     code: str) -> None:
    if text is not None:
        (tmp_path / "nvidia-smi").write_text("#!/bin/sh\n" + text + "\n")
        (tmp_path / "nvidia-smi").chmod(0o755)
    start = time.monotonic()
    document = capture(RealPrograms(str(tmp_path)))
    assert time.monotonic() - start < 2.5
    assert document["stack"]["accelerators"]["devices"] == {"unread": "failed"}
    assert code in {error["code"] for error in document["capture"]["errors"] if error["path"] == "accelerators"}
    assert document["stack"]["frameworks"]["backend"] == {"unread": "too-early"}


def test_no_gpu_is_certain_only_with_a_readable_bus_without_one() -> None:
    assert devices_of(RecordedSystem("cpu-container"))[0] is None
    assert is_unread(devices_of(RecordedSystem("unreadable-bus"))[0])


@pytest.mark.parametrize("fact", ["accelerators.devices", "driver.kernel_module", "frameworks.backend"])
def test_an_unreadable_bus_leaves_everything_that_hangs_on_it_unread(fact: str) -> None:
    section, name = fact.split(".")
    assert is_unread(capture(RecordedSystem("unreadable-bus"))["stack"][section][name])


def test_without_a_gpu_there_is_no_driver_and_the_backend_is_the_cpu() -> None:
    stack = capture(RecordedSystem("cpu-container"))["stack"]
    assert set(stack["driver"].values()) == {None}
    assert stack["frameworks"]["backend"] == "cpu"


def test_amd_s_devices_are_read_from_the_kernel_s_topology() -> None:
    stack = capture(RecordedSystem("mi300x-node"))["stack"]
    (device,) = stack["accelerators"]["devices"]
    assert (device["vendor"], device["gfx_target"], device["sm_count"]) == ("amd", "gfx942", 304)
    assert device["memory_bytes"] == 206141652992
    assert stack["driver"]["kernel_module"] == "6.7.0"
    assert stack["driver"]["user_libcuda"] is None


@pytest.mark.parametrize(("number", "target"), [(90010, "gfx90a"), (90402, "gfx942"), (90008, "gfx908"),
                                                (110000, "gfx1100"), (100300, "gfx1030")])
def test_targets_are_spelled_as_compilers_spell_them(number: int, target: str) -> None:
    assert amd.device({"gfx_target_version": number, "simd_count": 4}, 0)["gfx_target"] == target


@pytest.mark.parametrize(("text", "expected"), [
    ("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08  Thu Feb 29 08:41:27 UTC 2024",
     ("535.161.08", "proprietary")),
    ("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  550.54.15  Release Build", ("550.54.15", "open")),
    ("NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.65.06  Release Build", ("580.65.06", "open")),
    ("garbage 1.2.3", (None, None)), ("", (None, None)), ("NVRM version: unknown", (None, None))])
def test_the_kernel_s_version_line(text: str, expected: tuple[str | None, str | None]) -> None:
    assert parse_version(text) == expected


def test_a_compatibility_package_on_the_path_is_what_a_process_loads() -> None:
    system = RecordedSystem("h100-node", LD_LIBRARY_PATH="/usr/lib/x86_64-linux-gnu")
    assert capture(system)["stack"]["driver"]["user_libcuda"] == "550.54.15"
    system = RecordedSystem("h100-node", LD_LIBRARY_PATH="/opt/nothing")
    assert capture(system)["stack"]["driver"]["compat"] is False


@pytest.mark.parametrize(("name", "form"), [
    ("NVIDIA A100-SXM4-40GB", "SXM"), ("NVIDIA A100-PCIE-40GB", "PCIe"), ("NVIDIA H100 PCIe", "PCIe"),
    ("NVIDIA H100 80GB HBM3", "SXM"), ("NVIDIA H100 NVL", "PCIe"), ("NVIDIA GeForce RTX 4090", None)])
def test_the_form_factor_is_taken_from_names_that_state_it(name: str, form: str | None) -> None:
    assert form_factor(name) == (form or {"unread": "not-reported"})


def test_cells_that_say_nothing_are_unread_or_absent() -> None:
    row = {"compute_cap": "[N/A]", "name": "Tesla K80", "memory.total": "11441", "ecc.mode.current": "[N/A]",
           "mig.mode.current": "[N/A]", "uuid": "GPU-1", "driver_version": "470.1"}
    device = smi.device(row)
    assert device["compute_capability"] == {"unread": "not-reported"}
    assert device["ecc"] is None
