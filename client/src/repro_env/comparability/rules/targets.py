"""Layer ``driver``: devices that a build of torch left behind, told by its version alone.

Where the list of targets was read ``arch-not-in-build`` says it; from outside the label of a wheel tells it as surely.
"""

from __future__ import annotations

from ..acting import all_hold, devices, imported, in_process
from ..levels import Level, SetBy
from ..reading import Facts
from ..rule import AnyRule, Condition, Fails
from ..versions import Release, local_label, older, release
from ..wording import model_name
from .driver import known_devices

#: (labels of wheels, first torch release, first one for which it no longer holds, oldest compute capability with code):
#: support matrices of the releases. Wheels for CUDA 12.8 lost Volta in 2.7, had it again from 2.8, and lost it in 2.11.
OLDEST_OF_WHEELS: tuple[tuple[tuple[str, ...], str, str, Release], ...] = (
    (("cu128",), "2.7", "2.8", (7, 5)),
    (("cu128", "cu129"), "2.8", "2.11", (7, 0)),
    (("cu128", "cu129"), "2.11", "", (7, 5)),
)
#: CUDA toolkit from which on -> oldest compute capability it compiles for, whoever builds (CUDA release notes).
OLDEST_TARGET: tuple[tuple[Release, Release], ...] = (((13, 0), (7, 5)), ((12, 0), (5, 0)), ((11, 0), (3, 5)))


def oldest_target(version: str, cuda_build: str) -> Release:
    """Return the oldest compute capability that a build may hold code for; empty where nothing is known."""
    of_toolkit = next((target for since, target in OLDEST_TARGET if release(cuda_build) >= since), ())
    label = local_label(version)
    if "dev" in version:  # nightlies changed from day to day
        return of_toolkit
    return next((target for labels, since, until, target in OLDEST_OF_WHEELS
                 if label in labels and not older(version, since) and (not until or older(version, until))), of_toolkit)


def newer_than_gpu(facts: Facts) -> Fails | None:
    """Fail where the build of torch no longer holds code for a device, and a driver cannot make any for older ones."""
    def behind(side: Facts) -> bool:
        version, cuda = side.read_all("frameworks.torch.version", "frameworks.torch.cuda_build")
        limit = oldest_target(version or "", cuda or "")
        return any(device.capability and device.capability < limit for device in known_devices(side, ["sm_"]))

    left = all_hold(facts, (
        lambda side: not (in_process(side) and side.read("frameworks.backend") == "cpu"),
        lambda side: bool(devices(side)), lambda side: side.read("frameworks.torch.cuda_build") is not None,
        lambda side: not in_process(side) or imported(side, "torch"), behind))
    if not left:
        return None
    limit = oldest_target(*facts.read_all("frameworks.torch.version", "frameworks.torch.cuda_build"))
    name = next(device.model or device.target for device in devices(facts)
                if device.capability and device.capability < limit)
    return Fails(f"torch {facts.read('frameworks.torch.version')} with CUDA "
                 f"{facts.read('frameworks.torch.cuda_build')} holds no code for {model_name(str(name))}")


RULES: tuple[AnyRule, ...] = (Condition(
    id="gpu-older-than-build", layer="driver", cause="arch_not_in_build", set_by=SetBy.PROGRAM, guaranteed=Level.NONE,
    expected=Level.NONE, possible=Level.BITWISE, why="{detail} {side}",
    effect="kernels fail to start: code for newer devices does not run on older ones",
    remedy="install a torch build for an older CUDA version, such as 12.6", confidence="documented",
    source=("PyTorch release notes and support matrices: 2.7, 2.8, 2.11", "pytorch issues 157517, 160269, 172352",
            "pytorch pull request 175253", "CUDA 13.0 release notes: architectures removed"), holds=newer_than_gpu),)
