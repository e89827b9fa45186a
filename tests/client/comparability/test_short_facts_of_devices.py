"""Short facts on devices: builds for the processor, old GPUs, TF32 on one card, threads beside a GPU."""

from __future__ import annotations

import pytest

from repro_env.comparability.judge import judge
from repro_env.comparability.levels import Level
from repro_env.comparability.reading import Facts
from repro_env.comparability.rules.targets import oldest_target
from repro_env.comparability.verdict import Reason, Verdict
from repro_env.whatif import document


def verdict(left: str, right: str) -> Verdict:
    return judge(Facts.of(document(left)), Facts.of(document(right)))


def roots(found: Verdict) -> list[Reason]:
    return [reason for reason in found.reasons if reason.implied_by is None]


@pytest.mark.parametrize("machine", ["gpu=none,backend=cpu", "gpu=none", "gpu=A100"])
def test_builds_for_the_processor_differ_as_they_do_on_the_processor(machine: str) -> None:
    found = verdict(f"{machine},torch=2.3.1+cpu", f"{machine},torch=2.5.1+cpu")
    assert found.expected is Level.CURVE
    assert found.reasons[0].rule == "torch-minor"


def test_two_builds_on_machines_without_a_gpu_both_compute_on_the_processor() -> None:
    found = verdict("gpu=none,torch=2.5.1+cpu", "gpu=none,torch=2.5.1+cu124")
    assert found.expected is Level.BITWISE
    assert [reason.rule for reason in roots(found)] == ["torch-variant"]


def test_the_maker_of_a_device_explains_its_build_and_its_defaults() -> None:
    found = verdict("gpu=MI300X,torch=2.5.1+rocm6.2", "gpu=H100,torch=2.5.1+cu124")
    assert [reason.rule for reason in roots(found)] == ["gpu-vendor"]


def test_threads_beside_a_gpu_are_expected_to_change_nothing() -> None:
    found = verdict("gpu=A100,torch=2.3.1+cu121,threads=8", "gpu=A100,torch=2.3.1+cu121,threads=16")
    assert found.expected is Level.BITWISE
    assert [reason.rule for reason in roots(found)] == ["torch-host-threads"]


def test_tf32_asked_of_a_card_without_it_is_one_reason_whose_remedy_turns_it_off() -> None:
    found = verdict("gpu=V100,torch=2.3.1+cu121,tf32=on", "gpu=A100,torch=2.3.1+cu121,tf32=on")
    assert [reason.rule for reason in roots(found)][:2] == ["tf32-matmul", "gpu-architecture"]
    assert "turn TF32 off" in found.reasons[0].remedy


def test_under_autocast_the_default_of_float32_is_not_the_root() -> None:
    found = verdict("gpu=T4,torch=2.3.1+cu121,precision=bf16", "gpu=A100,torch=2.3.1+cu121,precision=bf16")
    assert [reason.rule for reason in roots(found)] == ["gpu-architecture"]


@pytest.mark.parametrize(("version", "cuda", "oldest"), [
    ("2.7.1+cu128", "12.8", (7, 5)), ("2.8.0+cu128", "12.8", (7, 0)), ("2.8.0+cu129", "12.9", (7, 0)),
    ("2.10.0+cu128", "12.8", (7, 0)), ("2.11.0+cu128", "12.8", (7, 5)), ("2.9.0+cu130", "13.0", (7, 5)),
    ("2.8.0+cu126", "12.6", (5, 0)), ("2.8.0.dev20250601+cu128", "12.8", (5, 0)), ("2.8.0", "12.8", (5, 0))])
def test_oldest_gpu_of_a_build_follows_from_its_label_or_its_toolkit(version: str, cuda: str,
                                                                     oldest: tuple[int, int]) -> None:
    assert oldest_target(version, cuda) == oldest


@pytest.mark.parametrize(("gpu", "torch", "dropped"), [
    ("P100", "2.8.0+cu128", True), ("P100", "2.8.0+cu126", False), ("V100", "2.8.0+cu129", False),
    ("V100", "2.11.0+cu128", True), ("T4", "2.11.0+cu130", False), ("V100", "2.9.0+cu130", True)])
def test_a_gpu_that_a_build_left_behind_is_named(gpu: str, torch: str, *, dropped: bool) -> None:
    found = verdict(f"gpu={gpu},torch={torch}", f"gpu={gpu},torch={torch}")
    assert ("gpu-older-than-build" in {reason.rule for reason in found.reasons}) is dropped
