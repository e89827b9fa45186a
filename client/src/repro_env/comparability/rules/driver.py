"""Layer ``driver``: a driver counts where it compiles, and where the build holds no code for the GPU."""

from __future__ import annotations

from typing import Any

from ..acting import UNUSED, Acting, all_hold, devices, in_process, on_gpu, using, variable
from ..levels import Level, SetBy
from ..reading import Facts
from ..rule import AnyRule, Condition, Distinction, Fails
from ..versions import Release, release

#: CUDA toolkit -> newest compute capability it compiles for (CUDA release notes).
NEWEST_TARGET = (((13, 0), (12, 1)), ((12, 9), (12, 1)), ((12, 8), (12, 0)), ((11, 8), (9, 0)), ((11, 1), (8, 6)),
                 ((11, 0), (8, 0)), ((10, 0), (7, 5)), ((9, 0), (7, 0)), ((8, 0), (6, 2)), ((7, 0), (5, 3)))


def native(device: Acting, arch_list: list[str]) -> bool:
    """Tell whether a build holds machine code for the device: the same major capability, no newer minor."""
    if device.gfx_target:
        return any(target.partition(":")[0] == device.gfx_target for target in arch_list)
    return any(major == device.capability[0] and minor <= device.capability[1]
               for target in arch_list if target.startswith("sm_") for major, minor in [_capability(target)])


def compilable(device: Acting, arch_list: list[str]) -> bool:
    """Tell whether a build holds PTX that the driver can compile for the device."""
    return any(_capability(target) <= device.capability for target in arch_list if target.startswith("compute_"))


def _capability(target: str) -> Release:
    digits = "".join(char for char in target.partition("_")[2] if char.isdigit())
    return (int(digits[:-1]), int(digits[-1])) if len(digits) >= 2 else (99, 0)


def known_devices(facts: Facts) -> tuple[Acting, ...]:
    """Return the devices whose target is known; raise ``Missing`` when the list is unread."""
    return tuple(device for device in devices(facts) if device.capability or device.gfx_target)


def arch_list(facts: Facts) -> list[str]:
    """Return the GPU targets of torch's build."""
    return facts.read("frameworks.torch.arch_list") or []


@on_gpu
@using("torch")
def compiling_driver(facts: Facts) -> Any:
    """The driver's version where it compiles code for this GPU; it does not where the build ships native code."""
    found, targets = known_devices(facts), arch_list(facts)
    forced = variable(facts, "CUDA_FORCE_PTX_JIT") not in (None, "0")
    if not forced and all(native(device, targets) for device in found):
        return UNUSED
    return facts.read("driver.user_libcuda") or facts.read("driver.kernel_module")


@on_gpu
def compat(facts: Facts) -> Any:
    """Whether the forward-compatibility libcuda stands in for the driver's own."""
    value = facts.read("driver.compat")
    if value is None:
        return UNUSED
    return "forward-compatibility libcuda" if value else "the driver's own libcuda"


def lacks_code(facts: Facts) -> Fails | None:
    """Fail where the build holds neither machine code nor PTX for a device."""
    if in_process(facts) and facts.read("frameworks.backend") == "cpu":
        return None
    found = devices(facts)
    if not found or (in_process(facts) and using("torch")(lambda side: "used")(facts) is UNUSED):
        return None
    targets = arch_list(facts)
    without = [device for device in known_devices(facts)
               if not native(device, targets) and not compilable(device, targets)]
    if not without or not targets:
        return None
    return Fails(f"the build holds no code for {without[0].model or without[0].target}")


def _newest(cuda_build: Any) -> Release:
    return next((target for toolkit, target in NEWEST_TARGET if release(cuda_build) >= toolkit), (0, 0))


def older_than_gpu(facts: Facts) -> Fails | None:
    """Fail where the CUDA version of the build came before the architecture of a device."""
    def newer(side: Facts) -> bool:
        limit = _newest(side.read("frameworks.torch.cuda_build"))
        return any(device.capability and device.capability[0] > limit[0] for device in devices(side))

    before = all_hold(facts, (
        lambda side: not (in_process(side) and side.read("frameworks.backend") == "cpu"),
        lambda side: bool(devices(side)), lambda side: side.read("frameworks.torch.cuda_build") is not None, newer))
    return Fails(f"torch was built with CUDA {facts.read('frameworks.torch.cuda_build')}, which came before this GPU"
                 ) if before else None


_GUIDE = "NVIDIA compatibility guides: a build runs natively on the same major capability only"

BUILD: tuple[AnyRule, ...] = tuple(
    Condition(
        id=rule_id, layer="driver", cause="arch_not_in_build", set_by=SetBy.PROGRAM, guaranteed=Level.NONE,
        expected=Level.NONE, possible=Level.NONE, why="{detail} {side}",
        effect="kernels fail to start, or run what the driver compiles from older code",
        remedy="install a torch build for a newer CUDA version", confidence="documented",
        source=(_GUIDE, "pytorch issue 45028"), holds=holds)
    for rule_id, holds in (("arch-not-in-build", lacks_code), ("cuda-older-than-gpu", older_than_gpu)))

RULES: tuple[AnyRule, ...] = (
    Distinction(
        id="driver-compiles", layer="driver", cause="driver", set_by=SetBy.PROGRAM, guaranteed=Level.CURVE,
        expected=Level.CURVE, possible=Level.BITWISE,
        why="the driver compiles the kernels: {expected} against {observed}",
        effect="another compiler contracts and orders operations otherwise",
        remedy="install a build with native code for this GPU, or the same driver on both sides",
        confidence="documented", source=("NVIDIA Pascal and Volta compatibility guides",), project=compiling_driver),
    Distinction(
        id="driver-compat", layer="driver", cause="driver", guaranteed=Level.CURVE, expected=Level.BITWISE,
        possible=Level.BITWISE, why="{expected} against {observed}",
        effect="another user-space driver: seen only in code compiled at run time",
        remedy="use the same CUDA compatibility setting", confidence="documented",
        source=("NVIDIA CUDA Compatibility guide",), project=compat),
)
