"""torch's word on its devices: asked only where torch has started them, and laid over what NVML says."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from recorded import RecordedSystem

from repro_env.capture import capture
from repro_env.fingerprint.validate import validate
from repro_env.probes import inprocess_devices, nvml

SILENT = {"unread": "not-reported"}


def properties(name: str = "NVIDIA H100 80GB HBM3", *, sms: int = 132, threads: int | None = 2048,
               uuid: str | None = None, capability: tuple[int, int] = (9, 0), arch: str | None = None) -> Any:
    """Return what ``torch.cuda.get_device_properties`` returns; older versions lack some of it."""
    given: dict[str, Any] = {"name": name, "major": capability[0], "minor": capability[1], "multi_processor_count": sms,
                             "total_memory": 84_000_000_000}
    optional = {"max_threads_per_multi_processor": threads, "uuid": uuid, "gcnArchName": arch}
    return SimpleNamespace(**given, **{key: value for key, value in optional.items() if value is not None})


class Cuda:
    """``torch.cuda`` of a stand-in torch: counts what is asked of it."""

    def __init__(self, devices: list[Any], *, started: bool = True) -> None:
        self.devices = devices
        self.started = started
        self.asked: list[str] = []

    def is_initialized(self) -> bool:
        return self.started

    def device_count(self) -> int:
        self.asked.append("count")
        return len(self.devices)

    def get_device_properties(self, index: int) -> Any:
        self.asked.append("properties")
        if isinstance(self.devices[index], Exception):
            raise self.devices[index]
        return self.devices[index]


class Host(RecordedSystem):
    """A recorded host whose process has the given modules loaded."""

    def __init__(self, name: str, **environ: str) -> None:
        super().__init__(name, **environ)
        self.modules: dict[str, Any] = {}

    def loaded_modules(self) -> dict[str, Any]:
        return self.modules


def look(cuda: Any, *, hip: str | None = None, host: str = "h100-node", vantage: str = "process",
         **environ: str) -> dict[str, Any]:
    system = Host(host, **environ)
    system.modules = {"torch": SimpleNamespace(cuda=cuda, version=SimpleNamespace(hip=hip, cuda="12.1"))}
    document = capture(system, vantage=vantage)
    validate(document)
    return document


def devices(document: dict[str, Any]) -> Any:
    return document["stack"]["accelerators"]["devices"]


def test_a_process_that_has_not_started_cuda_is_not_asked() -> None:
    cuda = Cuda([properties()], started=False)
    assert len(devices(look(cuda))) == 2
    assert cuda.asked == []


def test_from_outside_torch_is_not_asked_even_where_it_is_loaded() -> None:
    cuda = Cuda([properties()])
    assert len(devices(look(cuda, vantage="prologue"))) == 2
    assert cuda.asked == []


def test_torch_s_devices_are_the_devices_filled_up_by_what_tools_say() -> None:
    document = look(Cuda([properties()]))
    (device,) = devices(document)
    assert (device["sm_count"], device["threads_per_sm"], device["compute_capability"]) == (132, 2048, "9.0")
    assert (device["ecc"], device["memory_bytes"]) == (True, 81559 << 20)
    assert document["capture"]["sources"]["accelerators.devices"] == "torch"


def test_the_mask_s_riddle_is_solved_by_torch() -> None:
    """Which device an index means on a mixed node is CUDA's secret; a started CUDA tells."""
    (device,) = devices(look(Cuda([properties("NVIDIA GeForce RTX 4090", sms=128, capability=(8, 9))]),
                             CUDA_VISIBLE_DEVICES="0"))
    assert (device["name"], device["sm_count"]) == ("NVIDIA GeForce RTX 4090", 128)
    assert device["ecc"] == SILENT


def test_a_process_without_a_visible_device_has_none() -> None:
    assert devices(look(Cuda([]))) is None


def test_a_slice_is_known_by_its_name() -> None:
    (device,) = devices(look(Cuda([properties("NVIDIA A100-SXM4-40GB MIG 3g.20gb", sms=42, capability=(8, 0))]),
                             host="a100-mig"))
    assert (device["name"], device["mig_profile"], device["sm_count"]) == ("NVIDIA A100-SXM4-40GB", "3g.20gb", 42)


def test_an_older_torch_without_threads_leaves_them_to_the_other_sources() -> None:
    (device,) = devices(look(Cuda([properties(threads=None)])))
    assert device["threads_per_sm"] == 2048


@pytest.mark.parametrize("error", [RuntimeError("CUDA error"), AssertionError("no such device"),
                                   AttributeError("name")], ids=["runtime", "assertion", "missing"])
def test_a_torch_that_raises_costs_its_own_word_only(error: Exception) -> None:
    document = look(Cuda([error]))
    assert len(devices(document)) == 2
    (noted,) = (error for error in document["capture"]["errors"] if error["path"] == "accelerators.devices")
    assert noted["code"] == "failed"


@pytest.mark.parametrize("torch", [SimpleNamespace(), SimpleNamespace(cuda=None), None],
                         ids=["half-imported", "without-cuda", "blocked"])
def test_a_torch_without_cuda_is_passed_over(torch: Any) -> None:
    system = Host("h100-node")
    system.modules = {"torch": torch}
    assert len(devices(capture(system, vantage="process"))) == 2


def test_ids_are_those_of_torch_where_it_tells_them() -> None:
    uuid = "11111111-2222-3333-4444-555555555555"
    assert look(Cuda([properties(uuid=uuid)]))["capture"]["process"]["device_ids"] == [f"GPU-{uuid}"]
    assert look(Cuda([properties()]))["capture"]["process"]["device_ids"] == SILENT


def test_amd_s_devices_by_torch() -> None:
    cuda = Cuda([properties("AMD Instinct MI300X", sms=304, arch="gfx942:sramecc+:xnack-", capability=(9, 4))])
    (device,) = devices(look(cuda, hip="6.1", host="mi300x-node"))
    assert (device["name"], device["gfx_target"], device["sm_count"], device["compute_capability"]) == (
        "AMD Instinct MI300X", "gfx942", 304, None)
    assert device["memory_bytes"] == 206141652992


def test_a_build_for_one_vendor_says_nothing_of_the_other_s_devices() -> None:
    cuda = Cuda([properties()])
    (device,) = devices(look(cuda, hip=None, host="mi300x-node"))
    assert device["vendor"] == "amd"
    assert cuda.asked == []


def found(**facts: Any) -> dict[str, Any]:
    base = dict.fromkeys(("vendor", "name", "compute_capability", "gfx_target", "sm_count", "threads_per_sm",
                          "memory_bytes", "mig_profile", "ecc", "form_factor"))
    return {"facts": {**base, "vendor": "nvidia", "name": "A", "compute_capability": "8.0", **facts}, "uuid": "GPU-1"}


def test_of_several_like_devices_only_what_they_share_is_filled_in() -> None:
    told = [{"facts": {"vendor": "nvidia", "name": "A", "mig_profile": None, "compute_capability": "8.0",
                       "gfx_target": None}, "uuid": None}]
    (device,), ids = inprocess_devices.merged(told, [found(ecc=True, memory_bytes=1), found(ecc=False, memory_bytes=1)])
    assert device["ecc"] == SILENT
    assert device["memory_bytes"] == 1
    assert ids == SILENT


def test_an_id_that_both_know_decides() -> None:
    told = [{"facts": {"vendor": "nvidia", "name": "A", "mig_profile": None}, "uuid": "GPU-1"}]
    (device,), ids = inprocess_devices.merged(told, [found(ecc=True), {**found(ecc=False), "uuid": "GPU-2"}])
    assert (device["ecc"], ids) == (True, ["GPU-1"])


def test_the_table_of_threads_agrees_with_what_rules_take_for_granted() -> None:
    """Names resolve to the same threads of one SM as NVML's compute capability does."""
    from repro_env.comparability.devices import threads_per_sm

    assert {capability: threads for capability, (_, threads) in nvml.PER_SM.items()} == {
        capability: threads_per_sm("nvidia", capability) for capability in nvml.PER_SM}
