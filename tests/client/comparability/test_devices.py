"""Devices by name: as people and tools write them, ambiguous names give what candidates share."""

from __future__ import annotations

import pytest

from repro_env.comparability.devices import Device, resolve
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


@pytest.mark.parametrize("name", ["H100", "GTX 1060", "RTX 4090 Laptop GPU", "NVIDIA A100-SXM4-40GB MIG 3g.20gb"])
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
