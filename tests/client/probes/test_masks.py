"""Masks on plain lists of devices: the rules of the runtimes, and that no mask whatever raises or invents a device."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from repro_env.fingerprint.facts import is_unread
from repro_env.probes import masks
from repro_env.probes.keys import ACCELERATOR


def device(gpu: int, name: str = "A", *, part: int | None = None, profile: str | None = None,
           lost: bool = False) -> dict[str, Any]:
    """Return one device as readers hand it over; ``part`` makes it a slice of its GPU."""
    facts = {**dict.fromkeys(ACCELERATOR), "vendor": "nvidia", "name": name, "mig_profile": profile}
    whole = f"GPU-{gpu}abc"
    uuid = None if lost else whole if part is None else f"MIG-{gpu}{part}"
    return {"facts": facts, "uuid": uuid, "gpu": gpu, "gpu_uuid": None if lost else whole}


ALIKE = [device(0), device(1), device(2), device(3)]
UNLIKE = [device(0, "A"), device(1, "B"), device(2, "A")]
SLICED = [device(0, part=0, profile="3g"), device(0, part=1, profile="1g"), device(1, part=0, profile="3g")]
EVEN = [device(0, part=0, profile="1g"), device(0, part=1, profile="1g"), device(1, part=0, profile="1g")]
BY_BUS = {"CUDA_DEVICE_ORDER": "PCI_BUS_ID"}


def chosen(found: list[dict[str, Any]], mask: str, **more: str) -> list[str | None]:
    return [entry["uuid"] for entry in masks.of_cuda(found, {"CUDA_VISIBLE_DEVICES": mask, **more}).devices]


class TestCuda:
    """``CUDA_VISIBLE_DEVICES``."""

    def test_without_a_mask_every_device_is_there(self) -> None:
        answer = masks.of_cuda(UNLIKE, {})
        assert (answer.devices, answer.exact, answer.problem) == (UNLIKE, True, None)

    @pytest.mark.parametrize(("mask", "ids"), [
        ("2,0", ["GPU-2abc", "GPU-0abc"]), ("1", ["GPU-1abc"]), ("0,9,1", ["GPU-0abc"]),
        ("0, 1", ["GPU-0abc", "GPU-1abc"]), ("x", []), ("", []), ("-1,0", []), ("0,,1", ["GPU-0abc"]),
        ("00", ["GPU-0abc"])])
    def test_indices_by_the_bus_tell_devices(self, mask: str, ids: list[str]) -> None:
        assert chosen(UNLIKE, mask, **BY_BUS) == ids

    @pytest.mark.parametrize(("mask", "ids"), [
        ("GPU-1", ["GPU-1abc"]), ("GPU-1abc,GPU-0abc", ["GPU-1abc", "GPU-0abc"]), ("GPU-", []), ("GPU-7", []),
        ("GPU-1abcd", []), ("gpu-1abc", [])],
        ids=["short", "full", "fits-all", "fits-none", "too-long", "other-case"])
    def test_ids_tell_devices_when_they_fit_one(self, mask: str, ids: list[str]) -> None:
        assert chosen(UNLIKE, mask) == ids

    @pytest.mark.parametrize(("mask", "count"), [("0", 1), ("2,1", 2), ("0,0", 1)])
    def test_indices_by_speed_leave_what_all_share(self, mask: str, count: int) -> None:
        answer = masks.of_cuda(UNLIKE, {"CUDA_VISIBLE_DEVICES": mask})
        assert len(answer.devices) == count
        assert answer.problem is not None
        for entry in answer.devices:
            assert entry["facts"]["vendor"] == "nvidia"
            assert is_unread(entry["facts"]["name"])
            assert entry["uuid"] is None

    def test_a_list_of_all_is_all_in_whatever_order(self) -> None:
        answer = masks.of_cuda(UNLIKE, {"CUDA_VISIBLE_DEVICES": "2,0,1"})
        assert answer.problem is None
        assert sorted(entry["uuid"] for entry in answer.devices) == ["GPU-0abc", "GPU-1abc", "GPU-2abc"]

    def test_like_devices_are_known_by_kind_and_not_by_id(self) -> None:
        answer = masks.of_cuda(ALIKE, {"CUDA_VISIBLE_DEVICES": "3"})
        assert (len(answer.devices), answer.exact, answer.problem) == (1, False, None)

    @pytest.mark.parametrize("order", ["FASTEST_FIRST", "", "pci_bus_id"])
    def test_only_the_exact_word_counts_by_the_bus(self, order: str) -> None:
        assert masks.of_cuda(UNLIKE, {"CUDA_VISIBLE_DEVICES": "0", "CUDA_DEVICE_ORDER": order}).problem is not None

    def test_a_slice_is_told_by_its_own_id(self) -> None:
        assert chosen(SLICED, "MIG-01") == ["MIG-01"]
        assert chosen(SLICED, "MIG-10,MIG-00") == ["MIG-10", "MIG-00"]

    @pytest.mark.parametrize("mask", ["0", "1", "GPU-0"])
    def test_like_slices_are_one_slice_whichever(self, mask: str) -> None:
        answer = masks.of_cuda(EVEN, {"CUDA_VISIBLE_DEVICES": mask})
        assert (len(answer.devices), answer.problem) == (1, None)
        assert answer.devices[0]["facts"]["mig_profile"] == "1g"

    @pytest.mark.parametrize("mask", ["0", "GPU-0"])
    def test_unlike_slices_leave_what_all_share(self, mask: str) -> None:
        answer = masks.of_cuda(SLICED, {"CUDA_VISIBLE_DEVICES": mask})
        assert answer.problem is not None
        (entry,) = answer.devices
        assert entry["facts"]["name"] == "A"
        assert is_unread(entry["facts"]["mig_profile"])

    def test_a_gpu_whose_slices_are_alike_is_told_by_its_id(self) -> None:
        assert chosen(SLICED, "GPU-1") == ["MIG-10"]

    def test_beside_a_lost_card_ids_tell_and_indices_do_not(self) -> None:
        found = [device(0), device(1, lost=True), device(2)]
        assert chosen(found, "GPU-2") == ["GPU-2abc"]
        assert masks.of_cuda(found, {"CUDA_VISIBLE_DEVICES": "0", **BY_BUS}).problem is not None


class TestRocm:
    """``ROCR_VISIBLE_DEVICES``, ``HIP_VISIBLE_DEVICES``, ``CUDA_VISIBLE_DEVICES``."""

    @pytest.mark.parametrize(("environ", "ids"), [
        ({}, ["GPU-0abc", "GPU-1abc", "GPU-2abc", "GPU-3abc"]), ({"ROCR_VISIBLE_DEVICES": "3"}, ["GPU-3abc"]),
        ({"ROCR_VISIBLE_DEVICES": "3,1", "HIP_VISIBLE_DEVICES": "1"}, ["GPU-1abc"]),
        ({"ROCR_VISIBLE_DEVICES": "GPU-2abc"}, ["GPU-2abc"]), ({"ROCR_VISIBLE_DEVICES": "GPU-2"}, []),
        ({"HIP_VISIBLE_DEVICES": "1,1"}, ["GPU-1abc"]), ({"HIP_VISIBLE_DEVICES": ""}, []),
        ({"HIP_VISIBLE_DEVICES": "0", "CUDA_VISIBLE_DEVICES": "1"}, ["GPU-0abc"])])
    def test_one_after_the_other(self, environ: dict[str, str], ids: list[str]) -> None:
        assert [entry["uuid"] for entry in masks.of_rocm(ALIKE, environ).devices] == ids


LISTS = st.sampled_from([ALIKE, UNLIKE, SLICED, EVEN, [device(0)], [device(0, lost=True)], [device(0), device(1, "B")]])
ENTRIES = st.one_of(st.text(max_size=12), st.lists(
    st.sampled_from(["0", "1", "2", "-1", "GPU-0", "GPU-1abc", "MIG-00", "MIG-", "GPU-", "x", " 1 ", "99999999999"]),
    max_size=6).map(",".join))


@given(found=LISTS, mask=ENTRIES, by_bus=st.booleans())
def test_no_mask_raises_or_invents_a_device(found: list[dict[str, Any]], mask: str, by_bus: bool) -> None:
    environ = {"CUDA_VISIBLE_DEVICES": mask, **(BY_BUS if by_bus else {})}
    answer = masks.of_cuda(found, environ)
    assert len(answer.devices) <= len(found)
    for entry in answer.devices:
        fitting = [other for other in found if all(is_unread(value) or other["facts"][key] == value
                                                   for key, value in entry["facts"].items())]
        assert fitting
        assert answer.problem is not None or entry in found


@given(found=LISTS, mask=ENTRIES, second=ENTRIES)
def test_no_masks_of_rocm_raise_or_invent_a_device(found: list[dict[str, Any]], mask: str, second: str) -> None:
    answer = masks.of_rocm(found, {"ROCR_VISIBLE_DEVICES": mask, "HIP_VISIBLE_DEVICES": second})
    assert all(entry in found for entry in answer.devices)
    assert len(answer.devices) <= len(found)
