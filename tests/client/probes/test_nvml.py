"""NVML through its real calling convention: a stand-in library compiled from C plays each machine."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hanging import HANGING_S
from recorded import RecordedSystem

from repro_env.capture import capture
from repro_env.comparability.runs import overlay
from repro_env.fingerprint.validate import validate
from repro_env.probes import nvml
from repro_env.system import System

COMPILER = shutil.which("gcc") or shutil.which("cc")
pytestmark = pytest.mark.skipif(COMPILER is None, reason="the stand-in is compiled from C")
UNREAD = {"unread": "failed"}
SILENT = {"unread": "not-reported"}
H100 = {"vendor": "nvidia", "name": "NVIDIA H100 80GB HBM3", "compute_capability": "9.0", "gfx_target": None,
        "sm_count": 132, "threads_per_sm": 2048, "memory_bytes": 85520809984, "mig_profile": None, "ecc": True,
        "form_factor": "SXM"}

Look = Callable[..., dict[str, Any]]


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


@pytest.fixture
def look(library: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> Look:
    """Return the document of a recorded host whose NVML plays ``scenario``."""
    def take(scenario: str = "h100x2", *, host: str = "h100-node", vantage: str = "prologue", switch: str | None = None,
             status: int = 0, subject: str | None = None, **environ: str) -> dict[str, Any]:
        monkeypatch.setenv("NVML_STANDIN", scenario)
        monkeypatch.setenv("NVML_STANDIN_INIT", str(status))
        path = library(switch) if switch else library()
        document = capture(RecordedSystem(host, library=path, **environ), vantage=vantage, subject=subject)
        validate(document)
        return document

    return take


def accelerators(document: dict[str, Any]) -> dict[str, Any]:
    section: dict[str, Any] = document["stack"]["accelerators"]
    return section


def messages(document: dict[str, Any]) -> str:
    return "\n".join(error["message"] for error in document["capture"]["errors"])


class TestDevices:
    """What is asked of one device."""

    @pytest.mark.parametrize("vantage", ["prologue", "process"])
    def test_two_h100_are_read_in_full(self, look: Look, vantage: str) -> None:
        document = look(vantage=vantage)
        assert accelerators(document)["devices"] == [H100, H100]
        assert document["capture"]["process"]["device_ids"] == ["GPU-00a1b2c3", "GPU-10a1b2c3"]
        assert document["capture"]["sources"]["accelerators"] == "nvml"
        assert document["capture"]["errors"] == []

    def test_the_driver_s_facts_come_from_the_kernel_nvml_and_the_library_s_file(self, look: Look) -> None:
        assert look()["stack"]["driver"] == {
            "kernel_module": "550.54.15", "user_libcuda": "550.54.15", "compat": False, "cuda_level": "12.4",
            "kernel_flavour": "open"}

    def test_the_cuda_level_is_a_fact_of_its_own(self, look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
        """NVML tells the level of the libcuda it finds, so that a newer one shows beside an older kernel module."""
        before = look()["stack"]
        monkeypatch.setenv("NVML_STANDIN_CUDA", "12080")
        after = look()["stack"]
        assert after["driver"] == {**before["driver"], "cuda_level": "12.8"}
        assert {name: section for name, section in after.items() if section != before[name]}.keys() == {"driver"}

    def test_limits_are_circumstances_and_stand_in_index_order(self, look: Look) -> None:
        document = look("mixed")
        assert document["capture"]["device_states"] == [
            {"device_id": "GPU-00a1b2c3", "power_limit_mw": SILENT, "sm_clock_limit_mhz": 2100,
             "memory_clock_limit_mhz": 9751},
            {"device_id": "GPU-10a1b2c3", "power_limit_mw": 250000, "sm_clock_limit_mhz": 1410,
             "memory_clock_limit_mhz": 1215}]

    def test_with_mig_on_the_slices_are_the_devices(self, look: Look) -> None:
        document = look("mig-one", host="a100-mig")
        devices = accelerators(document)["devices"]
        assert [(device["mig_profile"], device["sm_count"], device["memory_bytes"]) for device in devices] == [
            ("1g.5gb", 14, 5100273664), ("3g.20gb", 42, 20937965568)]
        assert {device["name"] for device in devices} == {"NVIDIA A100-SXM4-40GB"}
        assert document["capture"]["process"]["device_ids"] == ["MIG-000a1b2", "MIG-010a1b2"]
        assert len(document["capture"]["device_states"]) == 1

    def test_a_node_may_be_cut_in_part(self, look: Look) -> None:
        devices = accelerators(look("mig-half"))["devices"]
        assert sorted(str(device["mig_profile"]) for device in devices) == ["1g.5gb", "3g.20gb", "None"]

    def test_a_device_without_ecc_or_mig_says_so(self, look: Look) -> None:
        section = accelerators(look("one-plain"))
        assert (section["devices"][0]["ecc"], section["devices"][0]["mig_profile"]) == (None, None)
        assert section["devices"][0]["sm_count"] == 82

    @pytest.mark.parametrize(("scenario", "form"), [
        ("h200", "SXM"), ("nvl", "PCIe"), ("a100-pcie", "PCIe"), ("one-plain", SILENT)],
        ids=["numbered-module", "by-name", "by-name-too", "number-0-says-nothing"])
    def test_the_form_factor_is_the_module_s_where_the_name_states_none(self, look: Look, scenario: str,
                                                                        form: Any) -> None:
        assert accelerators(look(scenario))["devices"][0]["form_factor"] == form

    def test_an_unknown_architecture_leaves_the_sm_count_unread(self, look: Look) -> None:
        device = accelerators(look("future"))["devices"][0]
        assert device["compute_capability"] == "99.0"
        assert device["sm_count"] == device["threads_per_sm"] == SILENT


class TestLinks:
    """How devices are joined: counts in the stack, pairs by index in the capture part."""

    @pytest.mark.parametrize(("scenario", "strongest", "links"), [
        ("h100x8", "nvlink", ["nvlink-18 x 28"]), ("h100x8-guest", "nvlink", ["nvlink-18 x 28"]),
        ("h100x8-split", "nvlink", ["nvlink-18 x 12", "sys x 16"]), ("nvl", "nvlink", ["nvlink-12 x 1"]),
        ("a100-pcie", "pcie", ["phb x 1"]), ("a100-pcie-near", "pcie", ["pix x 1"]),
        ("a100-pcie-odd", SILENT, SILENT)],
        ids=["switches", "switches-unnamed-in-a-guest", "split-fabric", "bridge", "bus", "one-switch",
             "unknown-level"])
    def test_kinds_are_counted_over_all_pairs(self, look: Look, scenario: str, strongest: Any, links: Any) -> None:
        section = accelerators(look(scenario))
        assert (section["interconnect"], section["links"]) == (strongest, links)

    def test_pairs_stand_by_index_in_the_capture_part(self, look: Look) -> None:
        pairs = look("h100x8-split")["capture"]["device_links"]
        assert len(pairs) == 28
        assert pairs[0] == "0-1 nvlink-18"
        assert "3-4 sys" in pairs

    @pytest.mark.parametrize("mask", ["3", "", "GPU-30a"])
    def test_masks_do_not_hide_the_links_of_the_node(self, look: Look, mask: str) -> None:
        section = accelerators(look("h100x8", CUDA_VISIBLE_DEVICES=mask))
        assert section["links"] == ["nvlink-18 x 28"]
        assert section["interconnect"] == "nvlink"

    def test_one_device_has_no_link(self, look: Look) -> None:
        section = accelerators(look("one", host="a100-mig"))
        assert (section["interconnect"], section["links"]) == (None, [])

    def test_a_container_that_was_given_one_device_of_two_does_not_tell_the_node_s_links(self, look: Look) -> None:
        section = accelerators(look("one", host="h100-node"))
        assert len(section["devices"]) == 1
        assert section["links"] == section["interconnect"] == {"unread": "denied"}

    def test_a_device_that_was_handed_to_a_guest_is_none_of_the_node_s(self, look: Look,
                                                                       monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(RecordedSystem, "readlink", lambda self, path: "../../bus/pci/drivers/" + (
            "vfio-pci" if "0000:03" in path or "0000:02" in path else "nvidia"))
        assert accelerators(look("one", host="h100-node"))["links"] == []


class TestMasks:
    """The devices are those that a process of this environment can reach."""

    @pytest.mark.parametrize(("scenario", "mask", "count"), [
        ("h100x8", "3", 1), ("h100x8", "0,1,2,3", 4), ("h100x8", "7,6,-1,0", 2), ("h100x8", "GPU-20a,GPU-50a1b2c3", 2),
        ("h100x8", "GPU-20a,nonsense,GPU-5", 1), ("h100x8", " 1 , 2 ", 2), ("mig-alike", "0", 1),
        ("mig-alike", "MIG-100a1b2", 1), ("mig-alike", "GPU-00a1b2c3", 1)])
    def test_the_mask_leaves_what_it_names_up_to_the_first_entry_that_names_nothing(
            self, look: Look, scenario: str, mask: str, count: int) -> None:
        assert len(accelerators(look(scenario, CUDA_VISIBLE_DEVICES=mask))["devices"]) == count

    @pytest.mark.parametrize("mask", ["", "-1", "NoDevFiles", "8", "GPU-9", "GPU-"])
    def test_a_mask_that_names_no_device_leaves_none(self, look: Look, mask: str) -> None:
        document = look("h100x8", CUDA_VISIBLE_DEVICES=mask)
        assert accelerators(document)["devices"] is None
        assert document["stack"]["driver"]["kernel_module"] == "550.54.15"

    def test_eight_ranks_with_a_mask_each_have_one_stack(self, look: Look) -> None:
        digests = {look("h100x8", CUDA_VISIBLE_DEVICES=str(rank), LOCAL_RANK=str(rank), RANK=str(rank),
                        WORLD_SIZE="8")["digests"]["stack"] for rank in range(8)}
        assert len(digests) == 1

    def test_indices_on_a_mixed_node_tell_nothing_unless_they_count_by_the_bus(self, look: Look) -> None:
        document = look("mixed", CUDA_VISIBLE_DEVICES="0")
        (device,) = accelerators(document)["devices"]
        assert (device["vendor"], device["mig_profile"]) == ("nvidia", None)
        assert device["name"] == device["compute_capability"] == device["sm_count"] == SILENT
        assert "CUDA_DEVICE_ORDER=PCI_BUS_ID" in messages(document)
        ordered = look("mixed", CUDA_VISIBLE_DEVICES="0", CUDA_DEVICE_ORDER="PCI_BUS_ID")
        assert [device["name"] for device in accelerators(ordered)["devices"]] == ["NVIDIA GeForce RTX 3090"]
        assert ordered["capture"]["process"]["device_ids"] == ["GPU-00a1b2c3"]

    def test_ids_and_whole_lists_tell_devices_on_a_mixed_node(self, look: Look) -> None:
        by_id = look("mixed", CUDA_VISIBLE_DEVICES="GPU-10a1b2c3")
        assert [device["name"] for device in accelerators(by_id)["devices"]] == ["NVIDIA A100-PCIE-40GB"]
        assert len(accelerators(look("mixed", CUDA_VISIBLE_DEVICES="1,0"))["devices"]) == 2

    def test_the_kind_of_like_devices_is_known_and_their_ids_are_not(self, look: Look) -> None:
        document = look("h100x8", CUDA_VISIBLE_DEVICES="3")
        assert accelerators(document)["devices"] == [H100]
        assert document["capture"]["process"]["device_ids"] == SILENT

    @pytest.mark.parametrize("mask", ["0", "GPU-00a1b2c3"])
    def test_which_of_unlike_slices_a_process_gets_is_not_guessed(self, look: Look, mask: str) -> None:
        document = look("mig", CUDA_VISIBLE_DEVICES=mask)
        (device,) = accelerators(document)["devices"]
        assert device["name"] == "NVIDIA A100-SXM4-40GB"
        assert device["mig_profile"] == device["sm_count"] == device["memory_bytes"] == SILENT
        assert "unlike" in messages(document)

    def test_what_a_mask_leaves_open_is_not_filled_from_a_look_at_the_node(self, look: Look) -> None:
        """The prologue sees both kinds of a mixed node; the process has one of them, and nobody knows which."""
        process = look("mixed", vantage="process", CUDA_VISIBLE_DEVICES="0")
        node = look("mixed", subject="node")
        filled = overlay(node["stack"], process["stack"])
        assert filled["accelerators"]["devices"] == accelerators(process)["devices"]

    def test_a_device_named_twice_is_said(self, look: Look) -> None:
        document = look("h100x8", CUDA_VISIBLE_DEVICES="1,1")
        assert accelerators(document)["devices"] == [H100]
        assert "twice" in messages(document)

    def test_a_node_has_all_its_devices_whatever_the_mask(self, look: Look) -> None:
        document = look("h100x8", subject="node", CUDA_VISIBLE_DEVICES="")
        assert len(accelerators(document)["devices"]) == 8


class TestFaults:
    """A library that is old, refuses, lies about nothing, or hangs: what is known is said, what is not is unread."""

    @pytest.mark.parametrize("scenario", ["h100x8-lost", "h100x8-silent"], ids=["no-handle", "no-answer"])
    def test_a_card_fallen_off_the_bus_is_said_and_the_others_are_reported(self, look: Look, scenario: str) -> None:
        document = look(scenario)
        devices = accelerators(document)["devices"]
        assert devices.count(H100) == 7
        (lost,) = (device for device in devices if device != H100)
        assert lost["vendor"] == "nvidia"
        assert lost["name"] == lost["sm_count"] == UNREAD
        assert "fallen off the bus" in messages(document)
        assert accelerators(document)["links"] == UNREAD
        assert document["capture"]["process"]["device_ids"] == SILENT

    def test_indices_beside_a_lost_card_tell_nothing_and_ids_do(self, look: Look) -> None:
        (device,) = accelerators(look("h100x8-lost", CUDA_VISIBLE_DEVICES="0"))["devices"]
        assert (device["vendor"], device["name"]) == ("nvidia", SILENT)
        assert accelerators(look("h100x8-lost", CUDA_VISIBLE_DEVICES="GPU-70a1b2c3"))["devices"] == [H100]

    def test_devices_that_are_refused_cannot_be_reached(self, look: Look) -> None:
        document = look("h100x8-one-mine")
        assert accelerators(document)["devices"] == [H100]
        assert accelerators(document)["links"] == {"unread": "denied"}
        assert document["capture"]["errors"] == []

    def test_when_every_device_is_refused_that_is_said_and_the_next_source_is_asked(self, look: Look) -> None:
        document = look("denied")
        assert {"path": "accelerators", "code": "denied", "message": "NVML refused every GPU to this user"} in document[
            "capture"]["errors"]
        assert document["capture"]["sources"]["accelerators"] == "nvidia-smi"

    def test_an_older_driver_leaves_unread_what_its_library_cannot_say(self, look: Look) -> None:
        document = look("h100x8", switch="OLD")
        device = accelerators(document)["devices"][0]
        assert device["sm_count"] == SILENT
        assert device["mig_profile"] is None
        assert device["name"] == H100["name"]
        assert accelerators(document)["links"] == SILENT

    def test_a_direct_link_is_known_without_the_kind_of_its_end(self, look: Look) -> None:
        assert accelerators(look("nvl", switch="OLD"))["links"] == ["nvlink-12 x 1"]

    def test_a_library_older_than_its_second_version_is_said_and_the_next_source_is_asked(self, look: Look) -> None:
        document = look(switch="ANCIENT")
        assert "NVML has no nvmlInit_v2" in messages(document)
        assert document["capture"]["sources"]["accelerators"] == "nvidia-smi"
        assert len(accelerators(document)["devices"]) == 2

    @pytest.mark.parametrize(("status", "words"), [
        (9, "driver not loaded"), (18, "different versions"), (4, "was refused"), (999, "error 999")])
    def test_a_failing_start_is_said_in_words_and_the_next_source_is_asked(self, look: Look, status: int,
                                                                           words: str) -> None:
        document = look(status=status)
        assert words in messages(document)
        assert document["capture"]["sources"]["accelerators"] == "nvidia-smi"
        assert len(accelerators(document)["devices"]) == 2
        assert document["stack"]["driver"]["cuda_level"]["unread"] == ("denied" if status == 4 else "failed")

    @pytest.mark.parametrize("vantage", ["prologue", "process"])
    def test_a_slow_library_is_asked_for_devices_and_not_for_links(self, look: Look, monkeypatch: pytest.MonkeyPatch,
                                                                   vantage: str) -> None:
        monkeypatch.setattr(RecordedSystem, "monotonic", System.monotonic)
        monkeypatch.setattr(nvml, "LINKS_BY_S", 0.02)
        document = look("slow", vantage=vantage)
        assert document["capture"]["durations_us"]["nvml"] > 20_000
        assert accelerators(document)["devices"] == [H100, H100]
        assert accelerators(document)["links"] == {"unread": "timeout"}

    @pytest.mark.parametrize(("scenario", "code"), [("hangs", "timeout"), ("crashes", "failed")])
    def test_a_library_that_hangs_or_crashes_costs_its_time_limit_and_nothing_else(self, look: Look, scenario: str,
                                                                                   code: str) -> None:
        start = time.monotonic()
        document = look(scenario)
        assert time.monotonic() - start < HANGING_S
        assert document["capture"]["errors"][0]["path"] == "accelerators"
        assert document["capture"]["errors"][0]["code"] == code
        assert len(accelerators(document)["devices"]) == 2

    def test_a_library_that_hangs_inside_a_host_process_leaves_the_host_alone(self, look: Look) -> None:
        start = time.monotonic()
        document = look("hangs", vantage="process")
        assert time.monotonic() - start < HANGING_S
        assert document["capture"]["errors"][0]["code"] == "timeout"
