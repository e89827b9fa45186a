"""AMD's devices by the topology of the kernel driver, written out here in the form the driver publishes it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from recorded import RecordedSystem

from repro_env.capture import capture
from repro_env.fingerprint.validate import validate
from repro_env.probes import amd

NODES = "/sys/class/kfd/kfd/topology/nodes"
SILENT = {"unread": "not-reported"}
NAMES = """# List of AMDGPU IDs
#
# Syntax:
# device_id,\trevision_id,\tproduct_name        <-- single tab after comma

1.0.0
740F,\t02,\tAMD Instinct MI210
744C,\tC8,\tAMD Radeon RX 7900 XTX
74A1,\t00,\tAMD Instinct MI300X
"""
#: what differs between kinds of devices: compute units, units of one partition, target, id, memory, name.
MI300X = {"simd_count": 1216, "simd_per_cu": 4, "max_waves_per_simd": 8, "wave_front_size": 64,
          "gfx_target_version": 90402, "vendor_id": 4098, "device_id": 0x74A1, "num_xcc": 8,
          "max_engine_clk_fcompute": 2100}
RX_7900 = {"simd_count": 192, "simd_per_cu": 2, "max_waves_per_simd": 16, "wave_front_size": 32,
           "gfx_target_version": 110000, "vendor_id": 4098, "device_id": 0x744C, "num_xcc": 1,
           "max_engine_clk_fcompute": 2482}


class Topology(RecordedSystem):
    """A node with AMD's devices: ``files`` by path, ``None`` where reading is refused."""

    def __init__(self, devices: list[dict[str, int]], *, hops: dict[tuple[int, int], int] | None = None,
                 table: bool = True, **environ: str) -> None:
        super().__init__("mi300x-node", **environ)
        self.texts: dict[str, str | None] = {f"{NODES}/0/properties": lines({"cpu_cores_count": 96, "simd_count": 0})}
        for index, fields in enumerate(devices):
            self.add(index + 1, fields)
        for (first, second), weight in (hops or {}).items():
            for start, end in ((first, second), (second, first)):
                self.texts[f"{NODES}/{start + 1}/io_links/{end}/properties"] = lines(
                    {"type": 11, "node_from": start + 1, "node_to": end + 1, "weight": weight})
        if table:
            self.texts["/usr/share/libdrm/amdgpu.ids"] = NAMES

    def add(self, node: int, fields: dict[str, int]) -> None:
        minor = 127 + node
        self.texts[f"{NODES}/{node}/properties"] = lines(
            {**fields, "drm_render_minor": minor, "unique_id": 0xABC0 + node, "location_id": node << 8})
        self.texts[f"{NODES}/{node}/mem_banks/0/properties"] = lines(
            {"heap_type": 1, "size_in_bytes": 206141652992, "flags": 0, "width": 8192, "mem_clk_max": 1300})
        self.texts[f"{NODES}/{node}/io_links/0/properties"] = lines(
            {"type": 2, "node_from": node, "node_to": 0, "weight": 20})
        revision = "0xc8" if fields["device_id"] == 0x744C else "0x00"
        self.texts[f"/sys/class/drm/renderD{minor}/device/revision"] = revision + "\n"

    def on_device(self, name: str, text: str, minor: int = 128) -> None:
        self.texts[f"/sys/class/drm/renderD{minor}/device/{name}"] = text

    def read_bytes(self, path: str, limit: int = 65536) -> bytes:
        if path in self.texts:
            text = self.texts[path]
            if text is None:
                raise PermissionError(1, "Operation not permitted", path)
            return text.encode()[:limit]
        if path.startswith(NODES):
            raise FileNotFoundError(2, "not there", path)
        return super().read_bytes(path, limit)

    def list_dir(self, path: str) -> list[str]:
        below = sorted({name[len(path) + 1:].split("/")[0] for name in self.texts if name.startswith(path + "/")})
        return below or super().list_dir(path)

    def exists(self, path: str) -> bool:
        return any(name == path or name.startswith(path + "/") for name in self.texts) or super().exists(path)


def lines(fields: dict[str, int]) -> str:
    return "".join(f"{name} {value}\n" for name, value in fields.items())


def look(system: RecordedSystem, **options: Any) -> dict[str, Any]:
    document = capture(system, **options)
    validate(document)
    return document


def accelerators(system: RecordedSystem, **options: Any) -> dict[str, Any]:
    section: dict[str, Any] = look(system, **options)["stack"]["accelerators"]
    return section


def full_mesh(count: int, weight: int = 15) -> dict[tuple[int, int], int]:
    return {(first, second): weight for first in range(count) for second in range(first + 1, count)}


def test_eight_mi300x_are_read_with_names_links_and_limits() -> None:
    system = Topology([MI300X] * 8, hops=full_mesh(8))
    system.on_device("ras/features", "feature mask: 0x2fff\n")
    system.on_device("hwmon/hwmon3/power1_cap", "750000000\n")
    document = look(system)
    section = document["stack"]["accelerators"]
    assert len(section["devices"]) == 8
    assert section["devices"][0] == {
        "vendor": "amd", "name": "AMD Instinct MI300X", "compute_capability": None, "gfx_target": "gfx942",
        "sm_count": 304, "threads_per_sm": 2048, "memory_bytes": 206141652992, "mig_profile": None, "ecc": True,
        "form_factor": "OAM"}
    assert section["links"] == ["xgmi x 28"]
    assert section["interconnect"] == "xgmi"
    assert document["capture"]["device_states"][0] == {
        "device_id": "GPU-000000000000abc1", "power_limit_mw": 750000, "sm_clock_limit_mhz": 2100,
        "memory_clock_limit_mhz": SILENT}
    assert document["capture"]["device_links"][0] == "0-1 xgmi"
    assert document["capture"]["process"]["device_ids"][7] == "GPU-000000000000abc8"
    assert document["stack"]["driver"] == {"kernel_module": "6.7.0", "user_libcuda": None, "compat": None,
                                           "cuda_level": None, "kernel_flavour": None}


def test_links_over_several_hops_and_no_links_are_told_apart() -> None:
    assert accelerators(Topology([MI300X] * 4, hops={(0, 1): 15, (1, 2): 15, (2, 3): 15, (0, 3): 15, (0, 2): 30}))[
        "links"] == ["pcie x 1", "xgmi x 4", "xgmi-2-hops x 1"]
    section = accelerators(Topology([RX_7900] * 2))
    assert (section["links"], section["interconnect"]) == (["pcie x 1"], "pcie")
    section = accelerators(Topology([RX_7900]))
    assert (section["links"], section["interconnect"]) == ([], None)


def test_a_consumer_card_counts_its_units_by_its_own_numbers() -> None:
    (device,) = accelerators(Topology([RX_7900]))["devices"]
    assert (device["name"], device["gfx_target"], device["sm_count"], device["threads_per_sm"]) == (
        "AMD Radeon RX 7900 XTX", "gfx1100", 96, 1024)
    assert device["ecc"] == device["form_factor"] == SILENT


def test_a_split_device_has_its_partition_mode_and_the_units_of_its_part() -> None:
    part = {**MI300X, "simd_count": 152, "num_xcc": 1}
    system = Topology([part] * 2)
    for minor in (128, 129):
        system.on_device("current_compute_partition", "CPX\n", minor)
    for device in accelerators(system)["devices"]:
        assert (device["mig_profile"], device["sm_count"]) == ("CPX", 38)
    system.on_device("current_compute_partition", "SPX\n")
    assert accelerators(system)["devices"][-1]["mig_profile"] != accelerators(system)["devices"][0]["mig_profile"]


def test_the_memory_is_the_sum_of_a_node_s_banks() -> None:
    system = Topology([RX_7900])
    system.texts[f"{NODES}/1/mem_banks/1/properties"] = lines({"heap_type": 2, "size_in_bytes": 1024})
    assert accelerators(system)["devices"][0]["memory_bytes"] == 206141652992 + 1024


class TestMasks:
    """ROCR_VISIBLE_DEVICES first, then HIP_VISIBLE_DEVICES or CUDA_VISIBLE_DEVICES on what it left."""

    @pytest.mark.parametrize(("environ", "ids"), [
        ({"ROCR_VISIBLE_DEVICES": "2,3"}, ["3", "4"]), ({"HIP_VISIBLE_DEVICES": "0"}, ["1"]),
        ({"ROCR_VISIBLE_DEVICES": "2,3", "HIP_VISIBLE_DEVICES": "1"}, ["4"]),
        ({"CUDA_VISIBLE_DEVICES": "1"}, ["2"]), ({"HIP_VISIBLE_DEVICES": "3", "CUDA_VISIBLE_DEVICES": "1"}, ["4"]),
        ({"ROCR_VISIBLE_DEVICES": "GPU-000000000000abc2,9,0"}, ["2"])],
        ids=["rocr", "hip", "one-after-the-other", "cuda", "hip-before-cuda", "by-id-and-beyond-the-end"])
    def test_masks_apply_one_after_the_other(self, environ: dict[str, str], ids: list[str]) -> None:
        document = look(Topology([MI300X] * 4, hops=full_mesh(4), **environ))
        assert [uuid[-1] for uuid in document["capture"]["process"]["device_ids"]] == ids
        assert document["stack"]["accelerators"]["links"] == ["xgmi x 6"]

    @pytest.mark.parametrize("mask", ["", "-1", "4"])
    def test_an_empty_mask_leaves_no_device(self, mask: str) -> None:
        assert accelerators(Topology([MI300X] * 4, HIP_VISIBLE_DEVICES=mask))["devices"] is None

    def test_a_node_has_all_devices(self) -> None:
        assert len(accelerators(Topology([MI300X] * 4, HIP_VISIBLE_DEVICES=""), subject="node")["devices"]) == 4

    def test_four_ranks_have_one_stack(self) -> None:
        assert len({look(Topology([MI300X] * 4, ROCR_VISIBLE_DEVICES=str(rank)))["digests"]["stack"]
                    for rank in range(4)}) == 1


class TestRefusal:
    """A container sees the nodes of the devices it was given, and is refused the others."""

    def test_a_refused_device_cannot_be_reached_and_leaves_the_links_unread(self) -> None:
        system = Topology([MI300X] * 2, hops=full_mesh(2))
        system.texts[f"{NODES}/2/properties"] = None
        section = accelerators(system)
        assert len(section["devices"]) == 1
        assert section["links"] == section["interconnect"] == {"unread": "denied"}

    def test_when_all_are_refused_nothing_is_known(self) -> None:
        system = Topology([MI300X])
        system.texts[f"{NODES}/1/properties"] = None
        assert accelerators(system)["devices"] == {"unread": "denied"}

    def test_a_driver_without_a_topology_is_not_no_gpu(self) -> None:
        system = Topology([])
        assert accelerators(system)["devices"] == SILENT


class TestBesideNvidia:
    """Devices of two makers in one machine."""

    def system(self, **environ: str) -> Topology:
        system = Topology([MI300X] * 2, hops=full_mesh(2), **environ)
        system.texts["/proc/driver/nvidia/version"] = (
            "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.161.08  Thu Feb 29 08:41:27 UTC 2024\n")
        system.texts["/proc/driver/nvidia/gpus/0000:17:00.0/information"] = (
            "Model: \t\t NVIDIA A100-PCIE-40GB\nGPU UUID: \t GPU-0a1b\n")
        return system

    def test_both_are_listed_and_links_are_only_told_where_both_tell(self) -> None:
        document = look(self.system())
        section = document["stack"]["accelerators"]
        assert [device["vendor"] for device in section["devices"]] == ["amd", "amd", "nvidia"]
        assert section["links"] == section["interconnect"] == document["capture"]["device_links"] == SILENT
        assert len(document["capture"]["device_states"]) == 3

    def test_a_mask_of_cuda_hides_devices_of_both(self) -> None:
        assert accelerators(self.system(CUDA_VISIBLE_DEVICES=""))["devices"] is None
        (device,) = accelerators(self.system(HIP_VISIBLE_DEVICES=""))["devices"]
        assert device["vendor"] == "nvidia"

    def test_the_driver_s_facts_are_nvidia_s(self) -> None:
        assert look(self.system())["stack"]["driver"]["kernel_module"] == "535.161.08"


class TestNames:
    """Names by libdrm's table, by the board, by the vendor's tools; bounded, never guessed."""

    @pytest.mark.parametrize(("device_id", "revision", "name"), [
        ("74A1", "00", "AMD Instinct MI300X"), ("744c", "c8", "AMD Radeon RX 7900 XTX"), ("744C", "00", None),
        ("740F", "2", "AMD Instinct MI210"), ("FFFF", "00", None)])
    def test_the_table_is_read_by_id_and_revision(self, device_id: str, revision: str, name: str | None) -> None:
        assert amd.listed_name(NAMES, device_id, revision) == name

    def test_without_the_table_the_board_s_own_name_counts(self) -> None:
        system = Topology([MI300X], table=False)
        system.on_device("product_name", "AMD Instinct MI300X OAM\n")
        assert accelerators(system)["devices"][0]["name"] == "AMD Instinct MI300X OAM"
        assert system.started == [command for command in system.started if "smi" not in command]

    @pytest.mark.parametrize(("command", "answer"), [
        ("rocm-smi --showproductname --json",
         {"card0": {"Card Series": "AMD Instinct MI300X", "Card Model": "0x74a1", "GFX Version": "gfx942"},
          "card1": {"Card series": "AMD Instinct MI300X"}, "system": {"Driver version": "6.7.0"}}),
        ("amd-smi static --asic --json", [{"gpu": 1, "asic": {"market_name": "AMD Instinct MI300X"}},
                                          {"gpu": 0, "asic": {"market_name": "AMD Instinct MI300X"}}]),
        ("amd-smi static --asic --json", {"gpu_data": [{"gpu": 0, "asic": {"market_name": "AMD Instinct MI300X"}},
                                                       {"gpu": 1, "asic": {"market_name": "AMD Instinct MI300X"}}]})],
        ids=["rocm-smi", "amd-smi", "amd-smi-of-rocm-7"])
    def test_the_tools_are_asked_where_no_file_has_a_name(self, command: str, answer: Any) -> None:
        system = Topology([MI300X] * 2, table=False)
        system.commands[command] = {"output": json.dumps(answer)}
        devices = accelerators(system)["devices"]
        assert [device["name"] for device in devices] == ["AMD Instinct MI300X"] * 2
        assert devices[0]["form_factor"] == "OAM"
        assert command in system.started

    @pytest.mark.parametrize("answer", [
        {"error": "timeout"}, {"output": "not JSON"}, {"output": "[]"}, {"output": '{"card0": {}}'},
        {"output": "{}"}, {"output": "", "status": 2}],
        ids=["hangs", "words", "list", "no-name", "no-card", "status"])
    def test_a_tool_that_hangs_or_talks_nonsense_leaves_the_name_unread(self, answer: dict[str, Any]) -> None:
        system = Topology([MI300X], table=False)
        system.commands["rocm-smi --showproductname --json"] = answer
        (device,) = accelerators(system)["devices"]
        assert device["name"] == SILENT
        assert device["sm_count"] == 304
        assert "rocm-smi --showproductname --json" in system.started

    @pytest.mark.parametrize(("name", "form"), [
        ("AMD Instinct MI300X", "OAM"), ("AMD INSTINCT MI250 (MCM) OAM AC MBA", "OAM"),
        ("AMD Instinct MI210", SILENT), (SILENT, SILENT)])
    def test_the_form_factor_is_that_of_models_made_in_one_form(self, name: Any, form: Any) -> None:
        assert amd.form_factor(name) == form


@pytest.mark.parametrize(("text", "ecc"), [("feature mask: 0x2fff\n", True), ("feature mask: 0x0\n", False),
                                           ("", SILENT), ("garbage", SILENT)])
def test_error_correction_by_the_driver_s_mask(text: str, ecc: Any) -> None:
    system = Topology([MI300X])
    system.on_device("ras/features", text)
    assert accelerators(system)["devices"][0]["ecc"] == ecc
