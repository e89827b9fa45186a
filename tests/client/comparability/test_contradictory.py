"""What cannot stand together is told only where facts that were read prove it; sound environments are left alone."""

from __future__ import annotations

from typing import Any

import pytest
from documents import Document, change, complete_document, h100, library
from strategies import erase, fact_paths

from repro_env.comparability import compatible
from repro_env.comparability.judge import judge
from repro_env.comparability.levels import Level
from repro_env.comparability.reading import Facts
from repro_env.comparability.rule import Condition
from repro_env.comparability.rules import RULES, RULES_BY_ID
from repro_env.comparability.vector import FAILS, OK, UNREAD, entry
from repro_env.fingerprint.facts import unread
from tests.client.comparability.planted.contradictory import FROM_OUTSIDE, PLANTED

CONTRADICTORY = [rule for rule in RULES if rule.layer == "contradictory"]


def state(rule_id: str, document: Document) -> str:
    return entry(RULES_BY_ID[rule_id], Facts.of(document)).state


def planted(rule_id: str) -> Document:
    vantage = "prologue" if rule_id in FROM_OUTSIDE else "process"
    return change(complete_document(vantage, machine="h100"), **PLANTED[rule_id].right)


@pytest.mark.parametrize("rule", CONTRADICTORY, ids=lambda rule: rule.id)
def test_a_contradiction_caps_the_verdict_of_a_side_with_itself(rule: Condition) -> None:
    side = Facts.of(planted(rule.id))
    verdict = judge(side, side)
    assert verdict.reasons[0].cause == "contradiction"
    assert (verdict.guaranteed, verdict.expected) == (rule.guaranteed, rule.expected)
    assert verdict.possible is Level.BITWISE


@pytest.mark.parametrize("rule_id", PLANTED)
def test_without_one_of_its_facts_a_contradiction_is_open_and_never_settled(rule_id: str) -> None:
    whole = planted(rule_id)
    settled = [path for path in fact_paths(whole) if state(rule_id, erase(whole, {path: "denied"})) == OK]
    assert settled == []


@pytest.mark.parametrize("vantage", ["process", "prologue", "import"])
@pytest.mark.parametrize(("machine", "facts"), [
    ("cpu", {}), ("h100", {}),
    ("h100", {"accelerators.devices": [h100(sm_count=60, mig_profile="3g.40gb")]}),
    ("h100", {"accelerators.devices": [h100(name="GRID H100-40C", sm_count=66)]}),
    ("h100", {"accelerators.devices": [h100(name="NVIDIA X999", sm_count=999)]}),
    ("h100", {"driver.kernel_module": "470.57.02", "driver.compat": True, "frameworks.torch.cuda_build": "12.4",
              "accelerators.devices": [h100(name="NVIDIA A100-SXM4-80GB", compute_capability="8.0", sm_count=108)]}),
    ("h100", {"driver.kernel_module": "525.60.13"}),
    ("h100", {"frameworks.torch.version": "2.5.0a0+872d972e41.nv24.08", "frameworks.torch.cuda_build": "12.6",
              "frameworks.torch.build": "vendor"}),
    ("h100", {"frameworks.torch.version": "2.4.1", "frameworks.torch.build": "conda",
              "libraries.cudnn": library("8.9.7", "conda")}),
    ("h100", {"libraries.cudnn": library("9.10.2")}),
    ("h100", {"frameworks.torch.version": "2.2.2", "frameworks.torch.build": "source",
              "frameworks.numpy.version": "1.26.4"}),
], ids=["cpu", "h100", "MIG", "vGPU", "unheard-of", "compat", "oldest-driver", "vendor", "conda-cudnn-8", "newer-cudnn",
        "numpy-1"])
def test_sound_environments_are_left_alone(machine: str, facts: dict[str, Any], vantage: str) -> None:
    document = complete_document(vantage, machine=machine, **facts)
    assert [rule.id for rule in CONTRADICTORY if state(rule.id, document) == FAILS] == []


def test_what_the_cpu_computed_is_no_matter_of_the_gpu_beside_it() -> None:
    document = change(planted("gpu-name-contradiction"), **{"frameworks.backend": "cpu"})
    assert state("gpu-name-contradiction", document) == OK


@pytest.mark.parametrize("driver", [unread("not-reported"), "470.57.02"], ids=["unread", "old"])
def test_a_running_process_proves_its_driver_whatever_was_read_of_it(driver: Any) -> None:
    silent = unread("not-reported")
    ran = complete_document("process", machine="h100", **{"driver.kernel_module": driver, "driver.compat": silent})
    assert {state(name, ran) for name in ("driver-too-old", "driver-older-than-gpu")} == {OK}


def test_from_outside_a_driver_that_was_not_read_is_open() -> None:
    silent = unread("not-reported")
    wsl = complete_document("process", machine="h100", **{"driver.kernel_module": silent, "driver.compat": silent})
    assert state("driver-too-old", {**wsl, "capture": {**wsl["capture"], "vantage": "import"}}) == UNREAD


def test_an_overridden_target_is_not_held_against_the_name() -> None:
    card = {**h100(name="AMD Radeon RX 6600", vendor="amd", compute_capability=None, gfx_target="gfx1030", sm_count=28,
                   threads_per_sm=None)}
    document = complete_document("process", machine="h100", **{
        "accelerators.devices": [card], "variables.values.HSA_OVERRIDE_GFX_VERSION": "10.3.0"})
    assert state("gpu-name-contradiction", document) == OK
    plain = change(document, **{"variables.values.HSA_OVERRIDE_GFX_VERSION": None})
    assert state("gpu-name-contradiction", plain) == FAILS


def test_a_cudnn_that_is_only_known_as_loaded_is_held_against_torch_from_outside_too() -> None:
    old = {**library("8.9.7"), "installed": unread("not-recorded")}
    seen = complete_document("import", machine="h100", **{"libraries.cudnn": old})
    assert state("torch-cudnn-contradiction", seen) == FAILS


def test_what_disagrees_is_told_whatever_else_of_the_device_is_unread() -> None:
    card = h100(name="A100", sm_count=unread("not-reported"))
    assert state("gpu-name-contradiction", complete_document("import", machine="h100", **{
        "accelerators.devices": [card]})) == FAILS


@pytest.mark.parametrize(("version", "cuda"), [
    ("2.3.1+cu121", "12.1"), ("1.10.0+cu102", "10.2"), ("0.4.1+cu92", "9.2"), ("2.9.0+cu130", "13.0"),
    ("2.3.1+cpu", None), ("2.3.1", None), ("2.3.0a0+gitd2f9472", None), ("2.1.0+cu121.with.pypi.cudnn", None)])
def test_local_label_names_its_cuda(version: str, cuda: str | None) -> None:
    assert compatible.cuda_of_label(version) == cuda


@pytest.mark.parametrize(("driver", "cuda", "fits"), [
    ("450.80.02", "11.8", True), ("470.57.02", "12.1", False), ("525.60.13", "12.9", True),
    ("570.86.10", "13.0", False),
    ("580.65.06", "13.0", True), ("440.33.01", "10.2", True), ("418.87.00", "10.2", False)])
def test_a_driver_serves_what_the_release_notes_say(driver: str, cuda: str, fits: bool) -> None:
    assert (compatible.driver_against_build(driver, cuda) is None) is fits


@pytest.mark.parametrize(("driver", "capability", "fits"), [
    ("535.104.05", "9.0", True), ("535.104.05", "10.0", False), ("550.54.15", "12.0", False),
    ("470.57.02", "8.6", True),
    ("470.57.02", "8.9", False), ("384.81", "7.0", True), ("384.81", "7.5", False), ("384.81", "6.1", True)])
def test_a_driver_knows_the_gpus_of_its_time(driver: str, capability: str, fits: bool) -> None:
    assert (compatible.driver_against_device(driver, capability, "the card") is None) is fits


@pytest.mark.parametrize(("torch", "cudnn", "is_wheel", "fits"), [
    ("2.3.1+cu121", "8.9.2", False, True), ("2.3.1+cu121", "8.7.0", False, False),
    ("2.4.0+cu121", "8.9.7", False, False),
    ("2.7.1+cu126", "9.5.1", False, True), ("2.7.1+cu128", "9.5.1", False, False), ("2.4.1", "8.9.7", False, True),
    ("2.4.1", "8.9.7", True, False), ("2.6.0", "8.9.7", False, False),
    ("2.4.0a0+07cecf4168.nv24.05", "8.0", True, True),
    ("1.8.1", "9.1.0", True, True), ("2.3.1+cu121", "9.1.0", False, True)])
def test_a_cudnn_is_no_older_than_what_torch_was_compiled_against(torch: str, cudnn: str, is_wheel: bool, fits: bool
                                                                  ) -> None:
    assert (compatible.cudnn_against_torch(torch, cudnn, is_wheel=is_wheel) is None) is fits
