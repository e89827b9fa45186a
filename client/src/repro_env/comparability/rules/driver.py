"""Layer ``driver``: a driver counts where it compiles, and where the build holds no code for the GPU."""

from __future__ import annotations

from typing import Any, Callable

from ..acting import (
    DEVICES,
    UNUSED,
    Acting,
    all_hold,
    by_heavy_framework,
    devices,
    imported,
    in_process,
    on_gpu,
    using,
    variable,
)
from ..levels import Level, SetBy
from ..reading import Facts, Missing
from ..rule import AnyRule, Condition, Distinction, Fails
from ..versions import Release, release
from ..wording import model_name

#: CUDA toolkit -> newest compute capability it compiles for (CUDA release notes).
NEWEST_TARGET = (((13, 0), (12, 1)), ((12, 9), (12, 1)), ((12, 8), (12, 0)), ((11, 8), (9, 0)), ((11, 1), (8, 6)),
                 ((11, 0), (8, 0)), ((10, 0), (7, 5)), ((9, 0), (7, 0)), ((8, 0), (6, 2)), ((7, 0), (5, 3)))
#: AMD's targets for a family of devices -> starts of the targets of that family (LLVM's AMDGPU guide).
GENERIC = {"gfx9-generic": ("gfx900", "gfx902", "gfx904", "gfx906", "gfx909", "gfx90c"),
           "gfx9-4-generic": ("gfx940", "gfx941", "gfx942", "gfx950"), "gfx10-1-generic": ("gfx101",),
           "gfx10-3-generic": ("gfx103",), "gfx11-generic": ("gfx11",), "gfx12-generic": ("gfx12",)}
#: XLA's word for leaving PTX to the driver where it finds no compiler of its own.
_TO_DRIVER = "--xla_gpu_unsafe_fallback_to_driver_on_ptxas_not_found"


def native(device: Acting, arch_list: list[str]) -> bool:
    """Tell whether a build holds machine code for the device.

    That of a CUDA target runs on the same major capability and a minor one that is not smaller; with an ``a`` behind
    its name (sm_90a) on that very capability, with an ``f`` on its family, which is the same major one.
    """
    if device.gfx_target:
        return any(_is_amd_target(target.partition(":")[0], device.gfx_target) for target in arch_list)
    return any(_runs(target, device.capability) for target in arch_list if target.startswith("sm_"))


def _is_amd_target(target: str, wanted: str) -> bool:
    return target == wanted or wanted.startswith(GENERIC.get(target, ("none",)))


def _runs(target: str, capability: Release) -> bool:
    needs = _capability(target)
    if target.endswith("a"):
        return needs == capability[:2]
    return needs[0] == capability[0] and needs[1] <= capability[1]


def compilable(device: Acting, arch_list: list[str]) -> bool:
    """Tell whether a build holds PTX that the driver can compile for the device: that of an ``a`` target never."""
    return any(_capability(target) <= device.capability if target[-1:].isdigit() else _runs(target, device.capability)
               for target in arch_list if target.startswith("compute_"))


def _capability(target: str) -> Release:
    digits = "".join(char for char in target.partition("_")[2] if char.isdigit())
    return (int(digits[:-1]), int(digits[-1])) if len(digits) >= 2 else (99, 0)


def known_devices(facts: Facts, targets: list[str]) -> tuple[Acting, ...]:
    """Return the devices of the maker that a build is for; raise ``Missing`` where the target of one is unknown."""
    makers = (None, *(["nvidia"] if any(target.startswith(("sm_", "compute_")) for target in targets) else []),
              *(["amd"] if any(target.startswith("gfx") for target in targets) else []))
    found = [device for device in devices(facts) if device.vendor in makers]
    if any(not device.target for device in found):
        raise Missing({DEVICES: "not-reported"})
    return tuple(_as_told(facts, device) for device in found)


def _as_told(facts: Facts, device: Acting) -> Acting:
    """Return an AMD device as the variable tells ROCm to take it."""
    told = variable(facts, "HSA_OVERRIDE_GFX_VERSION") if device.gfx_target else None
    numbers = release(told) if told else ()
    if len(numbers) != 3:
        return device
    return device._replace(gfx_target=f"gfx{numbers[0]}{numbers[1]:x}{numbers[2]:x}")


def arch_list(facts: Facts, framework: str = "torch") -> list[str]:
    """Return the GPU targets of a framework's build."""
    return facts.read(f"frameworks.{framework}.arch_list") or []


def _only_ptx(framework: str) -> Callable[[Facts], bool]:
    """Return a test of whether a framework in use holds no machine code for a device, but PTX to make some of."""
    def test(facts: Facts) -> bool:
        if not _in_use(facts, framework):
            return False
        targets = arch_list(facts, framework)
        return bool(targets) and any(not native(device, targets) and compilable(device, targets)
                                     for device in known_devices(facts, targets))
    return test


def _in_use(facts: Facts, framework: str) -> bool:
    present = facts.read(f"frameworks.{framework}") is not None
    return present and (not in_process(facts) or imported(facts, framework))


def _forced(facts: Facts) -> bool:
    return by_heavy_framework(facts) and variable(facts, "CUDA_FORCE_PTX_JIT") not in (None, "0")


def _left_to_driver(facts: Facts) -> bool:
    """Tell whether XLA is allowed to hand PTX to the driver; else it compiles by itself, or stops."""
    if not any(_in_use(facts, name) for name in ("jax", "tensorflow")):
        return False
    words = (variable(facts, "XLA_FLAGS") or "").split()
    return any(word.partition("=")[0] == _TO_DRIVER and word.partition("=")[2] not in ("false", "0") for word in words)


_COMPILES = (_forced, _only_ptx("torch"), _only_ptx("tensorflow"), _left_to_driver)


@on_gpu
def compiling_driver(facts: Facts) -> Any:
    """The driver's version where it compiles code for this GPU; it does not where the build ships native code.

    What Triton, Inductor and NVRTC compile at run time is none of the driver's: they bring a compiler of their own.
    """
    lacking: dict[str, str] = {}
    for compiles in _COMPILES:
        try:
            if compiles(facts):
                return facts.read("driver.user_libcuda") or facts.read("driver.kernel_module")
        except Missing as missing:
            lacking.update(missing.facts)
    if lacking:
        raise Missing(lacking)
    return UNUSED


def compiling_runtime(facts: Facts) -> Any:
    """The driver's version on an Intel GPU: its runtime compiles the kernels of oneDNN and Triton, however built."""
    if facts.read("frameworks.backend") != "xpu":
        return UNUSED
    return facts.read("driver.user_libcuda") if facts.get("driver.user_libcuda") else facts.read("driver.kernel_module")


def lacks_code(facts: Facts) -> Fails | None:
    """Fail where the build holds neither machine code nor PTX for a device."""
    if in_process(facts) and facts.read("frameworks.backend") == "cpu":
        return None
    found = devices(facts)
    if not found or (in_process(facts) and using("torch")(lambda side: "used")(facts) is UNUSED):
        return None
    targets = arch_list(facts)
    without = [device for device in known_devices(facts, targets)
               if not native(device, targets) and not compilable(device, targets)]
    if not without or not targets:
        return None
    return Fails(f"the build holds no code for {model_name(without[0].model or without[0].target or 'a device')}")


def _newest(cuda_build: Any) -> Release:
    return next((target for toolkit, target in NEWEST_TARGET if release(cuda_build) >= toolkit), (0, 0))


def older_than_gpu(facts: Facts) -> Fails | None:
    """Fail where the CUDA version of the build came before the architecture of a device."""
    def newer(side: Facts) -> bool:
        limit = _newest(side.read("frameworks.torch.cuda_build"))
        return any(device.capability and device.capability[0] > limit[0] for device in known_devices(side, ["sm_"]))

    before = all_hold(facts, (
        lambda side: not (in_process(side) and side.read("frameworks.backend") == "cpu"),
        lambda side: bool(devices(side)), lambda side: side.read("frameworks.torch.cuda_build") is not None, newer))
    return Fails(f"torch was built with CUDA {facts.read('frameworks.torch.cuda_build')}, which came before this GPU"
                 ) if before else None


_GUIDE = "NVIDIA compatibility guides: a build runs natively on the same major capability only"


def _build(rule_id: str, holds: Callable[[Facts], Fails | None], possible: Level) -> Condition:
    return Condition(
        id=rule_id, layer="driver", cause="arch_not_in_build", set_by=SetBy.PROGRAM, guaranteed=Level.NONE,
        expected=Level.NONE, possible=possible, why="{detail} {side}",
        effect="kernels fail to start, or run what the driver compiles from older code",
        remedy="install a torch build for a newer CUDA version", confidence="documented",
        source=(_GUIDE, "pytorch issue 45028"), holds=holds)


#: older code than the GPU may still be compiled by the driver, and run: that is no proof of wrong arithmetic.
BUILD: tuple[AnyRule, ...] = (_build("arch-not-in-build", lacks_code, Level.NONE),
                              _build("cuda-older-than-gpu", older_than_gpu, Level.BITWISE))

RULES: tuple[AnyRule, ...] = (
    Distinction(
        id="driver-compiles", layer="driver", cause="driver", set_by=SetBy.PROGRAM, guaranteed=Level.CURVE,
        expected=Level.CURVE, possible=Level.BITWISE,
        why="the driver compiles the kernels: driver {expected} against {observed}",
        effect="another compiler contracts and orders operations otherwise",
        remedy="install a build with native code for this GPU, or the same driver on both sides",
        confidence="documented", source=("NVIDIA Pascal and Volta compatibility guides",
                                         "openxla issue 5932: PTX left to the driver"), project=compiling_driver),
    Distinction(
        id="driver-of-intel", layer="driver", cause="driver", set_by=SetBy.PROGRAM, guaranteed=Level.STATISTICAL,
        expected=Level.CURVE, possible=Level.BITWISE,
        why="the driver compiles kernels for Intel GPUs: driver {expected} against {observed}",
        effect="another compiler contracts and orders operations otherwise; accuracy broke down with single releases",
        remedy="install the same driver on both sides", confidence="observed",
        source=("torch-xpu-ops issues 1766, 1767, 3792",), project=compiling_runtime),
)
