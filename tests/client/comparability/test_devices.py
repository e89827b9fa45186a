"""Devices by name: as people and tools write them, ambiguous names give what candidates share."""

from __future__ import annotations

import pytest

from repro_env.comparability.devices import Device, _rows, disagreements, resolve
from repro_env.comparability.processors import level_of_model, vector_level


@pytest.mark.parametrize(("name", "target", "sm_count", "threads"), [
    ("RTX 3090", "8.6", 82, 1536), ("NVIDIA GeForce RTX 3090", "8.6", 82, 1536),
    ("NVIDIA A100-SXM4-80GB", "8.0", 108, 2048), ("A100", "8.0", 108, 2048), ("H100 PCIe", "9.0", 114, 2048),
    ("NVIDIA H100 80GB HBM3", "9.0", 132, 2048), ("GTX 1080 Ti", "6.1", 28, 2048), ("1080ti", "6.1", 28, 2048),
    ("RTX A6000", "8.6", 84, 1536), ("Quadro M4000", "5.2", 13, 2048), ("Titan X (Pascal)", "6.1", 28, 2048),
    ("GeForce GTX TITAN X", "5.2", 24, 2048), ("RTX 4090D", "8.9", 114, 1536), ("Tesla T4", "7.5", 40, 1024),
    ("NVIDIA RTX 6000 Ada Generation", "8.9", 142, 1536), ("Quadro RTX 6000", "7.5", 72, 1024),
    ("Tesla V100-DGXS-32GB", "7.0", 80, 2048), ("MI308X", "gfx942", 80, 2048), ("H20", "9.0", 78, 2048),
    ("NVIDIA RTX PRO 6000 Blackwell Server Edition", "12.0", 188, 1536), ("L40S", "8.9", 142, 1536),
])
def test_name_tells_architecture_and_size(name: str, target: str, sm_count: int, threads: int) -> None:
    device = resolve(name)
    assert (device.compute_capability or device.gfx_target, device.sm_count, device.threads_per_sm) == (
        target, sm_count, threads)


@pytest.mark.parametrize(("name", "model", "sm_count", "memory_gib"), [
    ("RTX3090", "3090", 82, 24), ("A100SXM4 80GB", "a100", 108, 80), ("A100 80G SXM", "a100", 108, 80),
    ("A100-SXM-64GB", "a100", 124, 64), ("H100PCIe", "h100", 114, 80), ("NVIDIA H100 NVL", "h100", 132, 94),
    ("4070 Ti SUPER", "4070 ti super", 66, 16), ("4070TiSuper", "4070 ti super", 66, 16),
    ("4080S", "4080 super", 80, 16), ("RTX 6000 Ada", "rtx 6000 ada", 142, 48), ("A6000 Ada", "rtx 6000 ada", 142, 48),
    ("NVIDIA RTX 4000 SFF Ada Generation", "4000 ada", 48, 20), ("Quadro RTX 8000", "quadro rtx 8000", 72, 48),
    ("RTX 4090 Laptop GPU", "4090 laptop", 76, 16), ("RTX 3060 Mobile", "3060 laptop", 30, 6),
    ("NVIDIA GeForce RTX 3050 6GB Laptop GPU", "3050 laptop", 20, 6),
    ("GeForce RTX 3070 Laptop GPU", "3070 laptop", 40, 8),
    ("NVIDIA GeForce RTX 2080 with Max-Q Design", "2080 max-q", 46, 8),
    ("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", "rtx pro 6000 max-q", 188, 96),
    ("Jetson AGX Orin 64GB", "agx orin", 16, 64), ("NVIDIA Thor", "thor", 20, 128), ("DGX Spark", "gb10", 48, 128),
    ("A800-SXM4-80GB", "a800", 108, None), ("B200", "b200", 148, None), ("GB200", "gb200", 148, None),
    ("T4G", "t4g", 40, 16), ("NVIDIA A10G", "a10g", 80, 24), ("A16", "a16", 10, 16), ("L20", "l20", 92, 48),
    ("AMD Instinct MI300X OAM", "mi300x", 304, 192), ("RX 7900 XTX", "7900 xtx", 96, 24),
    ("7800XT", "7800 xt", 60, 16),
    ("AMD Radeon VII", "radeon vii", 60, 16), ("Tesla M4", "m4", 8, 4), ("GTX TITAN Black", "titan black", 15, 6),
])
def test_name_as_people_write_it_tells_model_and_size(name: str, model: str, sm_count: int, memory_gib: int) -> None:
    device = resolve(name)
    assert (device.model, device.sm_count, device.memory_gib) == (model, sm_count, memory_gib)


@pytest.mark.parametrize(("name", "model"), [
    ("p4d.24xlarge", "a100"), ("g5.xlarge", "a10g"), ("a3-highgpu-8g", "h100"), ("g5g.2xlarge", "t4g")])
def test_instance_of_a_cloud_tells_its_device(name: str, model: str) -> None:
    assert resolve(name).model == model


@pytest.mark.parametrize(("name", "model", "cores", "most"), [
    ("M3 Max", "m3 max", None, 40), ("Apple M1 Pro", "m1 pro", None, 16),
    ("Apple M1 Pro (16 cores)", "m1 pro", 16, 16)])
def test_apple_chip_tells_the_cores_it_is_sold_with(name: str, model: str, cores: int | None, most: int) -> None:
    device = resolve(name)
    assert (device.vendor, device.model, device.sm_count, device.most_sms) == ("apple", model, cores, most)


@pytest.mark.parametrize(("name", "architecture"), [
    ("K80", "Kepler"), ("GTX 980", "Maxwell"), ("P100", "Pascal"), ("V100", "Volta"), ("T4", "Turing"),
    ("A40", "Ampere"), ("L4", "Ada"),
    ("H200", "Hopper"), ("B200", "Blackwell"), ("RTX 5090", "Blackwell"), ("MI250X", "CDNA 2"),
    ("RX 6800", "RDNA 2"), ("M2", "M2")])
def test_name_tells_its_architecture(name: str, architecture: str) -> None:
    assert resolve(name).architecture == architecture


def test_no_device_of_the_table_has_more_than_its_full_chip() -> None:
    devices = [row.device for row in _rows()]
    assert not [device for device in devices if device.sm_count and device.sm_count > (device.most_sms or 0)]
    assert not [device for device in devices if device.architecture is None and device.vendor != "intel"]


@pytest.mark.parametrize(("stated", "says"), [
    ({"name": "NVIDIA A100-SXM4-80GB", "compute_capability": "9.0"}, "is of compute capability 8.0, not 9.0"),
    ({"name": "H100 PCIe", "compute_capability": "9.0", "sm_count": 160}, "has at most 144 SMs, not 160"),
    ({"name": "RTX 6000", "compute_capability": "8.6"}, "is of compute capability 7.5 or 8.9, not 8.6"),
    ({"name": "AMD Instinct MI300X", "gfx_target": "gfx90a"}, "is of target gfx942, not gfx90a"),
    ({"name": "MI210", "sm_count": 304}, "has at most 104 compute units, not 304"),
    ({"name": "Apple M3 Max", "vendor": "apple", "sm_count": 60}, "has at most 40 GPU cores, not 60"),
    ({"name": "Tesla T4", "vendor": "amd"}, "is made by nvidia, not amd"),
], ids=lambda value: value if isinstance(value, str) else "")
def test_name_and_numbers_that_disagree_are_told(stated: dict[str, object], says: str) -> None:
    assert any(says in words for words in disagreements(stated))


@pytest.mark.parametrize("stated", [
    {"name": "NVIDIA H100 80GB HBM3", "vendor": "nvidia", "compute_capability": "9.0", "sm_count": 132},
    {"name": "NVIDIA A100-SXM4-40GB", "compute_capability": "8.0", "sm_count": 42},
    {"name": "GRID A100-40C", "sm_count": 54}, {"name": "GeForce GTX 1070", "sm_count": 16},
    {"name": "NVIDIA Thor", "compute_capability": "10.1"},
    {"name": "AMD Radeon 8060S", "gfx_target": "gfx1151", "sm_count": 20}, {"name": "unheard of", "sm_count": 4000},
    {"name": None, "compute_capability": "9.0"}, {"compute_capability": "9.0", "sm_count": 132}], ids=repr)
def test_slices_relatives_and_unknown_names_are_no_disagreement(stated: dict[str, object]) -> None:
    assert disagreements(stated) == ()


@pytest.mark.parametrize("name", ["H100", "GTX 1060", "GTX 980 Laptop GPU", "NVIDIA A100-SXM4-40GB MIG 3g.20gb",
                                  "GTX 1650", "GRID A100-40C", "NVIDIA A10-8Q", "Quadro P2000", "RTX 2060"])
def test_name_that_fits_several_sizes_tells_none(name: str) -> None:
    device = resolve(name)
    assert device.sm_count is None
    assert device.compute_capability


def test_titan_x_without_a_year_tells_no_architecture() -> None:
    assert resolve("TITAN X").compute_capability is None


@pytest.mark.parametrize("name", ["", "some accelerator", None, 7, {"unread": "failed"}])
def test_unknown_name_tells_nothing(name: object) -> None:
    assert resolve(name) == Device()


@pytest.mark.parametrize(("left", "right"), [
    ("RTX 3090", "NVIDIA GeForce RTX 3090"), ("Tesla T4", "T4"), ("A100 40GB", "NVIDIA A100-SXM4-80GB")])
def test_one_model_however_it_is_written(left: str, right: str) -> None:
    assert resolve(left).model == resolve(right).model


@pytest.mark.parametrize(("model", "level"), [
    ("Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz", "AVX-512"), ("Xeon Platinum 8124M", "AVX-512"),
    ("i7-4870HQ", "AVX2"), ("i9-8950HK", "AVX2"), ("Intel(R) Core(TM) i7-7800X CPU", "AVX-512"),
    ("AMD EPYC 7742 64-Core Processor", "AVX2"), ("AMD EPYC 9554 64-Core Processor", "AVX-512"),
    ("Intel(R) Xeon(R) CPU E5-2690 v4 @ 2.60GHz", "AVX2"), ("Apple M1 Pro", "NEON"), ("something", None)])
def test_processor_name_tells_its_vector_level(model: str, level: str | None) -> None:
    assert level_of_model(model) == level


def test_widest_instruction_set_is_the_level() -> None:
    assert vector_level(["avx", "avx2", "avx512f"]) == "AVX-512"
    assert vector_level(["sse4_2"]) == "baseline"
