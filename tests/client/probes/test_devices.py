"""Devices and driver without NVML: what each source can say, and that a broken tool is never "no GPU"."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from hanging import HANGING_S
from recorded import RecordedSystem

from repro_env.capture import capture
from repro_env.fingerprint.facts import is_unread
from repro_env.probes import amd, smi
from repro_env.probes.driver import parse_version
from repro_env.probes.nvml import form_factor
from repro_env.probes.vendor import program
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
    assert time.monotonic() - start < HANGING_S
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


class TestSourcesInTurn:
    """What is left when NVML cannot be loaded: nvidia-smi's table and list, the kernel's list, the bus."""

    def test_seven_real_slices_by_nvidia_smi_s_list_alone(self) -> None:
        document = capture(RecordedSystem("a100-seven-slices"))
        devices = document["stack"]["accelerators"]["devices"]
        assert [(device["name"], device["mig_profile"], device["form_factor"]) for device in devices] == [
            ("NVIDIA A100-SXM4-80GB", "1g.10gb", "SXM")] * 7
        assert document["stack"]["driver"]["kernel_module"] == "535.216.01"
        assert len(document["capture"]["process"]["device_ids"]) == 7
        assert document["capture"]["sources"]["accelerators"] == "nvidia-smi"

    def test_a_slice_is_chosen_by_its_id(self) -> None:
        system = RecordedSystem("a100-seven-slices", CUDA_VISIBLE_DEVICES="MIG-00000000-0000-0000-0000-000000000004")
        document = capture(system)
        assert len(document["stack"]["accelerators"]["devices"]) == 1
        assert document["capture"]["process"]["device_ids"] == ["MIG-00000000-0000-0000-0000-000000000004"]

    def test_the_windows_subsystem_has_a_device_no_bus_shows(self) -> None:
        document = capture(RecordedSystem("wsl2-laptop"))
        (device,) = document["stack"]["accelerators"]["devices"]
        assert (device["name"], device["compute_capability"], device["ecc"]) == (
            "NVIDIA GeForce RTX 4070 Laptop GPU", "8.9", None)
        assert document["stack"]["driver"]["kernel_module"] == "551.88"
        assert document["stack"]["driver"]["user_libcuda"] == "1.1"
        assert document["stack"]["system"]["virtualisation"] == "hyperv"

    @pytest.mark.parametrize(("mask", "count"), [("0", 1), ("GPU-66666666", 1), ("", 0), ("0,1", 2)])
    def test_masks_hold_whatever_the_source(self, mask: str, count: int) -> None:
        devices, _ = devices_of(RecordedSystem("h100-node", CUDA_VISIBLE_DEVICES=mask))
        assert len(devices or []) == count

    @pytest.mark.parametrize(("text", "expected"), [
        ("GPU 0: NVIDIA A (UUID: GPU-1)\nUnable to determine the device handle for gpu 0000:3B:00.0: GPU is lost.\n"
         "GPU 1: NVIDIA B (UUID: GPU-2)\n", [("NVIDIA A", "GPU-1", []), ("NVIDIA B", "GPU-2", [])]),
        ("  MIG 1g.5gb     Device  0: (UUID: MIG-9)\n", []), ("No devices found.\n", []), ("", []),
        ("GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-1)\n  MIG 1c.3g.20gb Device  0: (UUID: MIG-GPU-1/1/0)\n",
         [("NVIDIA A100-SXM4-40GB", "GPU-1", [("1c.3g.20gb", "MIG-GPU-1/1/0")])])],
        ids=["one-lost", "slice-without-device", "none", "empty", "older-ids"])
    def test_lines_of_the_list(self, text: str, expected: list[Any]) -> None:
        assert smi.parse_list(text) == expected


class TestEmptyPath:
    """A scheduler's prologue has no PATH: programs are found where they are installed."""

    @pytest.mark.parametrize("path", ["/usr/bin", "/usr/lib/wsl/lib"])
    def test_a_program_is_found_in_its_folder(self, path: str) -> None:
        system = Changed("h100-node", PATH="")
        system.commands = {}
        system.texts = {f"{path}/nvidia-smi": ""}
        assert program(system, "nvidia-smi", "/usr/bin", "/usr/lib/wsl/lib") == f"{path}/nvidia-smi"

    def test_a_program_on_the_path_is_started_by_its_name(self) -> None:
        assert program(RecordedSystem("h100-node"), "nvidia-smi", "/usr/bin") == "nvidia-smi"

    def test_a_program_that_is_nowhere_is_missing_by_its_name(self) -> None:
        assert program(Changed("cpu-container", PATH=""), "nvidia-smi", "/usr/bin") == "nvidia-smi"

    def test_the_table_is_read_with_an_empty_path(self) -> None:
        system = Changed("h100-node", PATH="")
        (answer,) = system.commands.values()
        (query,) = system.commands
        system.commands = {f"/usr/bin/{query}": answer}
        system.texts = {"/usr/bin/nvidia-smi": ""}
        assert devices_of(system)[0][0]["compute_capability"] == "9.0"


class TestNothingGiven:
    """A container that was started without devices: the bus shows them, no process reaches them."""

    @pytest.mark.parametrize(("value", "sure"), [("void", True), ("none", True), ("", True), ("all", False),
                                                 ("0", False), (None, False)])
    def test_the_launcher_s_word_and_the_lack_of_device_nodes_make_it_sure(self, value: str | None,
                                                                           sure: bool) -> None:
        system = RecordedSystem("h100-node")
        system.host["denied"] = ["/proc/driver/nvidia", "/dev"]
        system.commands = {}
        if value is not None:
            system.variables["NVIDIA_VISIBLE_DEVICES"] = value
        devices, _ = devices_of(system)
        assert (devices is None) is sure
        assert is_unread(devices) is not sure

    def test_with_device_nodes_the_word_alone_counts_for_nothing(self) -> None:
        """A privileged container has every device, whatever it was told."""
        devices, _ = devices_of(RecordedSystem("h100-node", NVIDIA_VISIBLE_DEVICES="void"))
        assert len(devices) == 2


class Changed(RecordedSystem):
    """A recorded host with other texts at some paths."""

    def __init__(self, name: str, **environ: str) -> None:
        super().__init__(name, **environ)
        self.texts: dict[str, str] = {}

    def read_bytes(self, path: str, limit: int = 65536) -> bytes:
        return self.texts[path].encode()[:limit] if path in self.texts else super().read_bytes(path, limit)

    def exists(self, path: str) -> bool:
        return any(name == path or name.startswith(path + "/") for name in self.texts) or super().exists(path)

    def list_dir(self, path: str) -> list[str]:
        more = {name[len(path) + 1:].split("/")[0] for name in self.texts if name.startswith(path + "/")}
        return sorted({*super().list_dir(path), *more})


FIVE = ("driver.kernel_module", "driver.user_libcuda", "driver.cuda_level", "libraries.cuda_toolkit",
        "frameworks.torch.cuda_build")


def five(system: RecordedSystem) -> dict[str, Any]:
    stack = capture(system)["stack"]
    return {path: stack[path.split(".")[0]][path.split(".")[1]] if path.count(".") == 1
            else stack["frameworks"]["torch"]["cuda_build"] for path in FIVE}


class TestFiveFacts:
    """Kernel driver, user-space libcuda, CUDA level, toolkit and torch's CUDA are five facts, never one."""

    def base(self) -> dict[str, Any]:
        return five(Changed("h100-node"))

    def only(self, system: RecordedSystem) -> dict[str, Any]:
        """Return the facts in which ``system`` differs from the recorded host."""
        base = self.base()
        return {path: value for path, value in five(system).items() if value != base[path]}

    def test_the_kernel_s_driver(self) -> None:
        system = Changed("h100-node")
        text = system.read_text("/proc/driver/nvidia/version")
        system.texts = {"/proc/driver/nvidia/version": text.replace("550.54.15", "535.183.06")}
        assert self.only(system) == {"driver.kernel_module": "535.183.06"}

    def test_the_user_s_libcuda(self) -> None:
        system = Changed("h100-node", LD_LIBRARY_PATH="/opt/compat")
        system.texts = {"/opt/compat/libcuda.so.1": ""}
        system.host["links"] = {**system.host["links"],
                                "/opt/compat/libcuda.so.1": "libcuda.so.560.35.03"}
        system.texts["/opt/compat/libcuda.so.560.35.03"] = ""
        assert self.only(system)["driver.user_libcuda"] == "560.35.03"
        assert capture(system)["stack"]["driver"]["compat"] is True
        assert "driver.kernel_module" not in self.only(system)
        assert "frameworks.torch.cuda_build" not in self.only(system)

    def test_the_toolkit(self) -> None:
        system = Changed("h100-node")
        system.texts = {"/usr/local/cuda/version.json": '{"cuda_nvcc": {"version": "11.8.89"}}'}
        assert self.only(system) == {"libraries.cuda_toolkit": "11.8.89"}

    def test_torch_s_cuda(self) -> None:
        system = Changed("h100-node")
        (path,) = (f"{folder}/torch/version.py" for folder in system.host["interpreter"]["search_path"]
                   if system.exists(f"{folder}/torch/version.py"))
        system.texts = {path: system.read_text(path).replace("12.", "11.")}
        assert set(self.only(system)) == {"frameworks.torch.cuda_build"}


class TestOtherMakers:
    """Devices that are known by the bus and a device node alone."""

    def system(self, *, node: bool) -> Changed:
        system = Changed("cpu-container")
        system.texts = {"/sys/bus/pci/devices/0000:4d:00.0/class": "0x038000\n",
                        "/sys/bus/pci/devices/0000:4d:00.0/vendor": "0x8086\n"}
        if node:
            system.texts["/dev/dri/renderD128"] = ""
        return system

    def test_the_maker_is_all_that_is_known(self) -> None:
        devices, _ = devices_of(self.system(node=True))
        assert [device["vendor"] for device in devices] == ["intel"]
        assert is_unread(devices[0]["name"])
        assert devices[0]["compute_capability"] is None

    def test_without_a_device_node_nobody_knows_whether_it_can_be_reached(self) -> None:
        assert is_unread(devices_of(self.system(node=False))[0])
