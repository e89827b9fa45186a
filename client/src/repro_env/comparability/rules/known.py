"""Layer ``known``: combinations known to compute wrongly. One line a case, each with its source."""

from __future__ import annotations

from typing import Callable, NamedTuple

from ..acting import all_hold, devices
from ..levels import Level, SetBy
from ..reading import Facts
from ..rule import AnyRule, Condition, Fails
from ..versions import older, release

Test = Callable[[Facts], bool]


def architecture(*majors: int) -> Test:
    """A device of one of these major compute capabilities."""
    return lambda facts: any(device.capability and device.capability[0] in majors for device in devices(facts))


def capability(*targets: tuple[int, int]) -> Test:
    """A device of one of these compute capabilities."""
    return lambda facts: any(device.capability in targets for device in devices(facts))


def model(start: str) -> Test:
    """A device whose model starts so."""
    return lambda facts: any((device.model or "").startswith(start) for device in devices(facts))


def several_devices(facts: Facts) -> bool:
    """More than one device, or a number that was not stated."""
    found = facts.look("accelerators.devices")
    return not isinstance(found, list) or len(found) > 1


def torch_before(boundary: str) -> Test:
    """A torch of an earlier release."""
    return lambda facts: bool(_torch(facts)) and older(_torch(facts), boundary)


def torch_is(version: str) -> Test:
    """A torch of exactly this release."""
    return lambda facts: release(_torch(facts)) == release(version)


def _torch(facts: Facts) -> str:
    return str(facts.read("frameworks.torch.version") or "")


def fact_is(path: str, *values: object) -> Test:
    """A fact with one of these values."""
    return lambda facts: facts.read(path) in values


def switched_on(path: str) -> Test:
    """A switch that is on."""
    return lambda facts: facts.read(path) is True


def cuda_is(version: str) -> Test:
    """A torch built with this CUDA version."""
    return lambda facts: release(facts.read("frameworks.torch.cuda_build"))[:2] == release(version)


def cublas_before(version: str) -> Test:
    """A cuBLAS of an earlier version, loaded or installed."""
    def test(facts: Facts) -> bool:
        found = [facts.read(f"libraries.cublas.{name}") for name in ("loaded", "installed")
                 if facts.known(f"libraries.cublas.{name}")]
        if not found:
            facts.read("libraries.cublas.loaded")
        return any(value is not None and older(value, version) for value in found)
    return test


def declared(name: str, *values: str) -> Test:
    """A declared value."""
    def test(facts: Facts) -> bool:
        found = facts.read("declared.values") or {}
        return str(found.get(name, "")).lower() in values
    return test


def half_precision(facts: Facts) -> bool:
    """Products in float16: by autocast or by default dtype."""
    return "float16" in (facts.get("precision.autocast"), facts.get("precision.default_dtype")) or (
        facts.read("precision.autocast") == "float16")


class Case(NamedTuple):
    """One combination: all ``tests`` hold."""

    id: str
    words: str
    tests: tuple[Test, ...]
    source: str
    remedy: str
    cause: str = "library_bug"
    confidence: str = "documented"
    set_by: SetBy = SetBy.PROGRAM


CASES = (
    Case("gtx16-half", "GTX 16xx cards give NaN in float16", (model("16"), capability((7, 5)), half_precision),
         "ultralytics issue 280; yolov5 issue 7908", "turn autocast off on GTX 16xx cards", confidence="observed"),
    Case("torch-1.8.1-pip-pascal", "the pip wheel of torch 1.8.1 for CUDA 11.1 computes wrong products before Volta",
         (architecture(5, 6), torch_is("1.8.1"), cuda_is("11.1"), fact_is("frameworks.torch.build", "wheel", "pip")),
         "pytorch issue 56747", "install torch 1.8.1 from conda, or torch 1.9", confidence="proven",
         set_by=SetBy.MACHINE),
    Case("cublas-9-tall", "cuBLAS before 9.2 computes wrong products of very tall matrices on Maxwell and Pascal",
         (architecture(5, 6), cublas_before("9.2")), "pytorch issue 22078", "install CUDA 9.2 or later",
         confidence="proven", set_by=SetBy.MACHINE),
    Case("cublas-10.1-half-volta", "cuBLAS of CUDA 10.1 gives NaN in large float16 products on V100",
         (capability((7, 0)), cuda_is("10.1"), half_precision, torch_before("1.7")), "pytorch issue 45724",
         "install torch 1.7 or later", confidence="proven"),
    Case("mps-2022", "the MPS back end of torch 1.12 computes wrongly",
         (fact_is("frameworks.backend", "mps"), torch_before("1.13.0.dev")), "pytorch issue 82707",
         "install torch 1.13 or later, or compute on the CPU", "backend"),
    Case("iommu-peer-copies", "copies between GPUs are corrupted with IOMMU or ACS on",
         (several_devices, lambda facts: declared("iommu", "on")(facts) or declared("acs", "on")(facts)),
         "pytorch issue 84803; tensorflow issue 57893; NCCL troubleshooting guide, PCI Access Control Services",
         "turn IOMMU and PCIe ACS off in the BIOS, or export NCCL_P2P_DISABLE=1", "hardware_or_host_setting"),
    Case("mkldnn-2019-avx512", "MKL-DNN of torch before 1.1 computes wrong convolutions with AVX-512",
         (lambda facts: "avx512f" in (facts.read("cpu.instruction_sets") or ()), torch_before("1.1")),
         "pytorch issue 18218", "install torch 1.1 or later", set_by=SetBy.MACHINE),
    Case("cudnn-attention-b200", "cuDNN attention before 9.15 scores wrongly on B200",
         (architecture(10), switched_on("determinism.sdp_cudnn"),
          lambda facts: facts.read("libraries.cudnn.loaded") is not None
          and older(facts.read("libraries.cudnn.loaded"), "9.15")),
         "pytorch issue 193893", "call torch.backends.cuda.enable_cudnn_sdp(False)", "attention_implementation",
         "observed"),
)


def _holds(case: Case) -> Callable[[Facts], Fails | None]:
    return lambda facts: Fails(case.words) if all_hold(facts, case.tests) else None


RULES: tuple[AnyRule, ...] = tuple(
    Condition(
        id=f"known-{case.id}", layer="known", cause=case.cause, set_by=case.set_by, guaranteed=Level.NONE,
        expected=Level.NONE, possible=Level.NONE, why="{detail} {side}", effect="wrong values or NaN",
        remedy=case.remedy, confidence=case.confidence, source=tuple(case.source.split("; ")), holds=_holds(case))
    for case in CASES)
