"""Layer ``contradictory``: facts of one side that cannot all be true, so that what the side says is not to be trusted.

A contradiction caps the verdict: nothing is guaranteed, since nobody knows which of the facts is wrong; what is
expected is what the two readings of the side would leave among themselves; nothing is ruled out.
"""

from __future__ import annotations

from typing import Any, Callable

from ...fingerprint.facts import is_unread
from ..acting import DEVICES, Acting, all_hold, devices, imported, in_process, inner
from ..compatible import (
    cudnn_against_torch,
    driver_against_build,
    driver_against_device,
    label_against_build,
    numpy_against_torch,
)
from ..devices import candidates, disagreements
from ..levels import Level, SetBy
from ..reading import Facts
from ..rule import AnyRule, Condition, Fails
from ..versions import local_label
from ..wording import model_name

#: maker -> facts of a device that its name is held against.
_HELD = {"nvidia": ("compute_capability", "sm_count"), "amd": ("gfx_target", "sm_count"), "apple": ("sm_count",)}
#: beginnings of targets of AMD's accelerators for data centres; nobody has one beside the point.
_DATA_CENTRE = ("gfx908", "gfx90a", "gfx94", "gfx95")
#: fact that a torch's local label tells -> beginnings of labels that do.
_BUILDS = {"frameworks.torch.cuda_build": ("cu", "cpu"), "frameworks.torch.rocm_build": ("rocm", "cpu")}
#: what torch was built for, the fact that says so, and devices that cannot run it.
_MADE_FOR: tuple[tuple[str, str, Callable[[Acting], bool]], ...] = (
    ("CUDA", "frameworks.torch.cuda_build",
     lambda device: device.vendor == "amd" and (device.gfx_target or "").startswith(_DATA_CENTRE)),
    ("ROCm", "frameworks.torch.rocm_build", lambda device: device.vendor == "nvidia"))
_UNSAID = {"unread": "not-recorded"}
Holds = Callable[[Facts], "Fails | None"]


def _on_cpu(facts: Facts) -> bool:
    """Tell whether the process computed on the CPU, where nothing of an accelerator matters."""
    return in_process(facts) and facts.read("frameworks.backend") == "cpu"


def _unused(facts: Facts, framework: str) -> bool:
    """Tell whether a framework is surely not installed, or was not imported by the process."""
    return facts.read(f"frameworks.{framework}") is None or (in_process(facts) and not imported(facts, framework))


def _said(words: str | None) -> Fails | None:
    return Fails(words) if words else None


def device_numbers(facts: Facts) -> Fails | None:
    """Fail where a device's name and its numbers cannot belong to one device."""
    if _on_cpu(facts):
        return None
    found = facts.read(DEVICES) or ()
    distinct = [device for index, device in enumerate(found) if device not in found[:index]]
    told = [words for device in distinct for words in disagreements(_held(facts, device))]
    if not told:
        for device in distinct:
            _need(device)
    return _said("; ".join(dict.fromkeys(told)))


def _held(facts: Facts, device: dict[str, Any]) -> dict[str, Any]:
    """Return the captured facts of a device; a target that a variable overrides is not held against the name."""
    held = {fact: value for fact, value in device.items() if not is_unread(value)}
    if held.get("vendor") == "amd" and facts.variable("HSA_OVERRIDE_GFX_VERSION") is not None:
        del held["gfx_target"]
    return held


def _need(device: dict[str, Any]) -> None:
    """Raise ``Missing`` where a fact was not read that could contradict the name of a device.

    A name that tells nothing is contradicted by nothing.
    """
    if not candidates(inner(device.get("name", _UNSAID), DEVICES)):
        return
    vendor = inner(device.get("vendor", _UNSAID), DEVICES)
    for fact in _HELD.get(vendor or "", ()):
        inner(device.get(fact, _UNSAID), DEVICES)


def torch_label(facts: Facts) -> Fails | None:
    """Fail where torch's local label names another build than torch was built for."""
    if _unused(facts, "torch"):
        return None
    version = facts.read("frameworks.torch.version")
    label = local_label(version) if version else None
    needed = [path for path, starts in _BUILDS.items() if label and label.startswith(starts)]
    if version is None or not needed:
        return None
    cuda, rocm = (facts.get(path) for path in _BUILDS)
    told = label_against_build(version, cuda, rocm) if len(needed) == 2 else None
    if told is None:
        facts.read_all(*needed)
    return _said(told or label_against_build(version, cuda, rocm))


def torch_cudnn(facts: Facts) -> Fails | None:
    """Fail where cuDNN is older than the one this torch was compiled against."""
    if _on_cpu(facts) or _unused(facts, "torch"):
        return None
    if in_process(facts) and facts.look("libraries.cudnn.loaded") == {"unread": "not-loaded"}:
        return None
    version = facts.read("frameworks.torch.version")
    for library in ("loaded",) if in_process(facts) else ("loaded", "installed"):
        told = _older_cudnn(facts, version, facts.get(f"libraries.cudnn.{library}"))
        if told:
            return Fails(told)
    facts.read(f"libraries.cudnn.{'loaded' if in_process(facts) else 'installed'}")
    return None


def _older_cudnn(facts: Facts, version: str | None, cudnn: str | None) -> str | None:
    """Hold one cuDNN against torch, by the exact build where that is known."""
    if version is None or cudnn is None:
        return None
    told, told_of_wheel = (cudnn_against_torch(version, cudnn, is_wheel=is_wheel) for is_wheel in (False, True))
    return told or (told_of_wheel if told_of_wheel and _is_wheel(facts) else None)


def _is_wheel(facts: Facts) -> bool:
    """Tell whether torch surely came as a wheel, or brought a cuDNN that did."""
    paths = ("frameworks.torch.build", "libraries.cudnn.found")
    return any(facts.get(path) == "wheel" for path in paths) or "wheel" in facts.read_all(*paths)


def _served(facts: Facts) -> bool:
    """Tell whether a process computed with CUDA: then its driver did serve it, whatever was read of the driver."""
    return in_process(facts) and facts.read("frameworks.backend") == "cuda"


def driver_too_old(facts: Facts) -> Fails | None:
    """Fail where the driver does not serve the CUDA version of torch's build, and no compat package stands in."""
    if _on_cpu(facts) or _served(facts) or _unused(facts, "torch"):
        return None
    driver = facts.read("driver.kernel_module")
    build = facts.read("frameworks.torch.cuda_build") if driver else None
    told = driver_against_build(driver, build) if driver and build else None
    return _said(told) if told and facts.read("driver.compat") is not True else None


def driver_older_than_gpu(facts: Facts) -> Fails | None:
    """Fail where the driver is older than the architecture of a device."""
    if _on_cpu(facts) or _served(facts):
        return None
    driver = facts.read("driver.kernel_module")
    if driver is None:
        return None
    told = [driver_against_device(driver, device.compute_capability, _called(device))
            for device in devices(facts) if device.vendor == "nvidia" and device.compute_capability]
    return _said(next(filter(None, told), None))


def build_for_another_maker(facts: Facts) -> Fails | None:
    """Fail where torch was built for devices of one maker and all devices, meant for computing, are of another."""
    if _on_cpu(facts) or _unused(facts, "torch"):
        return None
    found = devices(facts)
    wanted = next((row for row in _MADE_FOR if found and all(map(row[2], found))), None)
    build = facts.read(wanted[1]) if wanted else None
    return Fails(f"torch was built for {wanted[0]} {build}, which {_called(found[0])} cannot run"
                 ) if wanted and build else None


def _called(device: Acting) -> str:
    return f"the {model_name(device.model)}" if device.model else "this device"


def backend_without_device(facts: Facts) -> Fails | None:
    """Fail where a program is said to compute on CUDA or ROCm, and there is surely no accelerator."""
    missing = all_hold(facts, (lambda side: side.read("frameworks.backend") in ("cuda", "rocm"),
                               lambda side: not side.read(DEVICES)))
    return Fails(f"computed on {facts.read('frameworks.backend')}, and there is no accelerator") if missing else None


def torch_numpy(facts: Facts) -> Fails | None:
    """Fail where NumPy has an interface that this build of torch does not know."""
    if _unused(facts, "torch") or _unused(facts, "numpy"):
        return None
    version, numpy = facts.read_all("frameworks.torch.version", "frameworks.numpy.version")
    return _said(numpy_against_torch(version, numpy)) if version and numpy else None


def _rule(rule_id: str, holds: Holds, *, effect: str, remedy: str, source: tuple[str, ...],
          guaranteed: Level = Level.NONE, expected: Level = Level.STATISTICAL, confidence: str = "documented"
          ) -> Condition:
    return Condition(
        id=rule_id, layer="contradictory", cause="contradiction", set_by=SetBy.PROGRAM, guaranteed=guaranteed,
        expected=expected, possible=Level.BITWISE, why="facts that contradict each other: {detail} {side}",
        effect=effect, remedy=remedy, confidence=confidence, source=source, holds=holds)


_UNTRUSTED = "one of these facts is wrong, and nobody knows which"
_GUIDE = "CUDA compatibility guide, minimum required driver versions"

RULES: tuple[AnyRule, ...] = (
    _rule("gpu-name-contradiction", device_numbers, effect=_UNTRUSTED,
          remedy="state the device's name and numbers as nvidia-smi and torch.cuda.get_device_properties() print them",
          source=("NVIDIA list of CUDA GPUs", "architecture papers of NVIDIA", "ROCm documentation, GPU hardware")),
    _rule("torch-label-contradiction", torch_label, effect=_UNTRUSTED,
          remedy="state version and CUDA build as torch.__version__ and torch.version.cuda print them",
          source=("PyTorch documentation, installation: local labels of wheels",)),
    _rule("torch-cudnn-contradiction", torch_cudnn, confidence="proven",
          effect="torch refuses the first call of cuDNN, or another cuDNN than the stated one computes",
          remedy="install the cuDNN that this torch asks for, or let its wheel bring it",
          source=("torch.backends.cudnn: check of the loaded against the compiled version",
                  "metadata of torch's wheels")),
    _rule("driver-too-old", driver_too_old,
          effect="CUDA does not start with this driver; programs stop, or compute on the processor",
          remedy="upgrade the driver, or install a build for an older CUDA version", source=(_GUIDE,)),
    _rule("driver-older-than-gpu", driver_older_than_gpu, effect="a driver does not start a GPU that came after it",
          remedy="upgrade the driver, or state the one that the machine has", source=("NVIDIA driver release notes",)),
    _rule("build-for-another-maker", build_for_another_maker,
          effect="this torch cannot use the device; programs stop, or compute on the processor",
          remedy="install the torch build for this maker's devices",
          source=("PyTorch documentation, installation",)),
    _rule("backend-without-device", backend_without_device, effect=_UNTRUSTED,
          remedy="capture in the process, or state the device", source=("definition of the stack",)),
    _rule("torch-numpy-contradiction", torch_numpy, guaranteed=Level.CURVE, expected=Level.BITWISE,
          confidence="observed", effect="converting between the two fails, so another path may be taken",
          remedy="install numpy<2, or torch 2.3 or later", source=("pytorch issues 107302, 132179",)),
)
