"""NVML through its real calling convention: a stand-in library compiled from C plays each machine."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from recorded import RecordedSystem

from repro_env.capture import capture
from repro_env.fingerprint.validate import validate

COMPILER = shutil.which("gcc") or shutil.which("cc")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="the stand-in is compiled from C")
UNREAD = {"unread": "failed"}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    """Compile the stand-in with ``-D`` switches; return the path of the library."""
    folder = tmp_path_factory.mktemp("nvml")
    made: dict[tuple[str, ...], str] = {}

    def compile_with(*switches: str) -> str:
        if switches not in made:
            path = folder / str(len(made)) / "libnvidia-ml.so.1"
            path.parent.mkdir()
            source = Path(__file__).with_name("nvml.c")
            subprocess.run([str(COMPILER), "-shared", "-fPIC", "-w", *(f"-D{switch}" for switch in switches),
                            "-o", path, source], check=True)
            made[switches] = str(path)
        return made[switches]

    return compile_with


def look(host: str, library: str, vantage: str = "prologue") -> dict[str, Any]:
    document = capture(RecordedSystem(host, library=library), vantage=vantage)
    validate(document)
    return document


@pytest.mark.parametrize("vantage", ["prologue", "process"])
def test_two_h100_are_read_in_full(library, vantage: str) -> None:
    document = look("h100-node", library(), vantage)
    accelerators = document["stack"]["accelerators"]
    assert accelerators["devices"] == [{
        "vendor": "nvidia", "name": "NVIDIA H100 80GB HBM3", "compute_capability": "9.0", "gfx_target": None,
        "sm_count": 132, "threads_per_sm": 2048, "memory_bytes": 85520809984, "mig_profile": None, "ecc": True,
        "form_factor": "SXM"}] * 2
    assert accelerators["interconnect"] == "nvlink"
    assert document["capture"]["process"]["device_ids"] == ["GPU-0", "GPU-1"]
    assert document["capture"]["sources"]["accelerators"] == "nvml"
    assert document["capture"]["errors"] == []


def test_the_driver_s_facts_come_from_the_kernel_nvml_and_the_library_s_file(library) -> None:
    assert look("h100-node", library())["stack"]["driver"] == {
        "kernel_module": "550.54.15", "user_libcuda": "550.54.15", "compat": False, "cuda_level": "12.4",
        "kernel_flavour": "open"}


def test_with_mig_on_the_slices_are_the_devices(library) -> None:
    document = look("a100-mig", library("MIG", "DEVICES=1", "MAJOR=8", "CORES=6912", 'NAME="NVIDIA A100-SXM4-40GB"'))
    devices = document["stack"]["accelerators"]["devices"]
    assert [(device["mig_profile"], device["sm_count"], device["memory_bytes"]) for device in devices] == [
        ("1g.5gb", 14, 5100273664), ("3g.20gb", 42, 20937965568)]
    assert {device["name"] for device in devices} == {"NVIDIA A100-SXM4-40GB"}
    assert document["capture"]["process"]["device_ids"] == ["MIG-0-0", "MIG-0-1"]


def test_one_device_has_no_link_and_a_device_without_ecc_or_mig_says_so(library) -> None:
    accelerators = look("h100-node", library("DEVICES=1", "NO_ECC", "MIG_STATUS=3"))["stack"]["accelerators"]
    assert accelerators["interconnect"] is None
    assert accelerators["devices"][0]["ecc"] is None
    assert accelerators["devices"][0]["mig_profile"] is None


@pytest.mark.parametrize("switch", ["NO_NVLINK", "OLD"])
def test_without_nvlink_devices_are_joined_by_pcie(library, switch: str) -> None:
    assert look("h100-node", library(switch))["stack"]["accelerators"]["interconnect"] == "pcie"


def test_an_unknown_architecture_leaves_the_sm_count_unread(library) -> None:
    device = look("h100-node", library("MAJOR=99"))["stack"]["accelerators"]["devices"][0]
    assert device["compute_capability"] == "99.0"
    assert device["sm_count"] == device["threads_per_sm"] == {"unread": "not-reported"}


@pytest.mark.parametrize(("status", "words"), [
    (9, "driver not loaded"), (18, "different versions"), (999, "error 999")])
def test_a_failing_start_is_said_in_words_and_the_next_source_is_asked(library, status: int, words: str) -> None:
    document = look("h100-node", library(f"INIT_STATUS={status}"))
    assert any(words in error["message"] for error in document["capture"]["errors"])
    assert document["capture"]["sources"]["accelerators"] == "nvidia-smi"
    assert len(document["stack"]["accelerators"]["devices"]) == 2
    assert document["stack"]["driver"]["cuda_level"] == UNREAD


@pytest.mark.parametrize(("switch", "code"), [("HANG", "timeout"), ("CRASH", "failed")])
def test_a_library_that_hangs_or_crashes_costs_its_time_limit_and_nothing_else(library, switch: str, code: str) -> None:
    start = time.monotonic()
    document = look("h100-node", library(switch))
    assert time.monotonic() - start < 2.5
    assert document["capture"]["errors"][0] == {"path": "accelerators", "code": code,
                                                "message": document["capture"]["errors"][0]["message"]}
    assert len(document["stack"]["accelerators"]["devices"]) == 2


def test_a_library_that_hangs_inside_a_host_process_leaves_the_host_alone(library) -> None:
    start = time.monotonic()
    document = look("h100-node", library("HANG"), "process")
    assert time.monotonic() - start < 2.5
    assert document["capture"]["errors"][0]["code"] == "timeout"
