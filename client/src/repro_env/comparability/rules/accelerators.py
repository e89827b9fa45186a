"""Layer ``accelerators``: kind and maker of the device, architecture, size, and the random numbers that hang on it."""

from __future__ import annotations

import re
from typing import Any

from ...fingerprint.facts import is_unread
from ..acting import (
    DEVICES,
    MAKERS,
    RDNA,
    RDNA_THREADS,
    UNUSED,
    Acting,
    devices,
    in_process,
    of_devices,
    on_gpu,
    using,
)
from ..devices import architecture as architecture_of
from ..levels import Level, SetBy
from ..reading import Facts, Missing
from ..rule import AnyRule, Condition, Distinction, Fails, Fallback, show_value
from ..wording import model_name

BLOCK = 256
DRAW = "random.largest_cuda_draw"
_CUDNN = "NVIDIA cuDNN documentation, Reproducibility: no routine is bitwise reproducible across architectures"
_CUBLAS = "NVIDIA cuBLAS documentation, Results Reproducibility: same architecture and same number of SMs"


def backend(facts: Facts) -> Any:
    """Where the process computed."""
    return facts.read("frameworks.backend")


def backend_maturity(facts: Facts) -> Any:
    """Back ends with a record of silently wrong results stand apart: MPS, and ROCm on consumer cards."""
    used = facts.read("frameworks.backend")
    if used == "mps":
        return "mps"
    if used != "rocm":
        return "a widely tested back end"
    targets = of_devices(facts, lambda device: device.gfx_target)
    consumer = isinstance(targets, list) and any(not target.startswith("gfx9") for target in targets)
    return "rocm on a consumer card" if consumer else "a widely tested back end"


def vendor(facts: Facts) -> Any:
    """Makers of the devices; a process that computed on the CPU used none."""
    if in_process(facts) and facts.read("frameworks.backend") == "cpu":
        return "none"
    found = devices(facts)
    return of_devices(facts, lambda device: device.vendor) if found else "none"


def family(device: Acting) -> str | None:
    """Return what its kernels are made for: compute capability, gfx target, generation of an Apple chip, else model."""
    if device.target or device.vendor not in ("apple", "intel"):
        return device.target
    chip = re.search(r"\bm\d+", (device.model or "").lower())
    return f"apple {chip.group()}" if device.vendor == "apple" and chip else device.model


def units(device: Acting) -> int | None:
    """Return the number of SMs, of AMD's compute units, or of Apple's GPU cores; ``None`` where it cannot be told.

    HIP counts the compute units of RDNA devices in pairs, AMD's kernel driver one by one: their threads tell which.
    """
    if device.compute_capability or device.vendor in ("nvidia", "apple", "intel"):
        return device.sm_count
    if not device.gfx_target or device.sm_count is None:
        return None
    if not device.gfx_target.startswith(RDNA):
        return device.sm_count
    return None if device.threads_per_sm is None else device.sm_count * device.threads_per_sm // RDNA_THREADS


@on_gpu
def architecture(facts: Facts) -> Any:
    """Compute capabilities, gfx targets or chip generations of the devices."""
    return of_devices(facts, family)


@on_gpu
def architecture_of_autocast(facts: Facts) -> Any:
    """Architecture, where the program is stated to compute under autocast: what float32 does by default is no root."""
    return architecture(facts) if facts.read("precision.autocast") else UNUSED


@on_gpu
def sm_counts(facts: Facts) -> Any:
    """SM counts of the devices, or compute units, each by its maker's word."""
    return of_devices(facts, sized)


def sized(device: Acting) -> str | None:
    """Return the number of units with the maker's word for them; ``None`` where it cannot be told."""
    count = units(device)
    word = _UNITS.get(device.vendor or "", "compute units" if device.gfx_target else "SMs")
    return None if count is None else f"{count} {word}"


#: maker -> what it calls the units of a device.
_UNITS = {"nvidia": "SMs", "amd": "compute units", "apple": "GPU cores", "intel": "compute units"}


@on_gpu
def models(facts: Facts) -> Any:
    """Models of the devices, however their names are written."""
    return of_devices(facts, lambda device: device.model)


@on_gpu
def mig_profiles(facts: Facts) -> Any:
    """MIG profiles of the devices."""
    if any(device.mig_profile == "unread" for device in devices(facts)):
        raise Missing({DEVICES: "not-reported"})
    return of_devices(facts, lambda device: device.mig_profile or "none")


@on_gpu
@using("torch")
def rng_geometry(facts: Facts) -> Any:
    """How many threads one launch of a random-number kernel has, if the largest draw needs more than one wave.

    torch draws with blocks of 256 threads, at most SM count times ``threads_per_sm // 256`` of them; each thread has a
    Philox stream of its own and takes the elements that lie a whole grid apart. As long as a draw has no more elements
    than the grid has threads, element i is the first number of thread i on every GPU, and the offset moves on by the
    same four. Beyond that both depend on the grid. Where the draw is not known the grid itself stands in. JAX's and
    TensorFlow's generators count elements, not threads; Metal's and Intel's have no such grid.
    """
    grids = of_devices(facts, grid)
    if isinstance(grids, Fallback):
        return grids
    if grids == [0]:
        return "another generator"
    draw = facts.look(DRAW)
    if is_unread(draw):
        return Fallback(grids, (DRAW,))
    return "single-launch" if all((draw or 0) <= threads for threads in grids) else grids


def grid(device: Acting) -> int | None:
    """Return the threads of the largest launch of a random-number kernel; 0 for devices without CUDA's or HIP's."""
    if device.vendor in ("apple", "intel"):
        return 0
    if device.sm_count is None or device.threads_per_sm is None:
        return None
    return device.sm_count * (device.threads_per_sm // BLOCK) * BLOCK


def show_grid(value: Any) -> str:
    """Print a grid with its unit."""
    words = {"single-launch": "a draw that fits one launch", "another generator": "a generator without a grid"}
    return words.get(value, value) if isinstance(value, str) else f"{show_value(value)} threads a launch"


#: back ends and makers as people write them.
_WRITTEN = {"cuda": "CUDA", "rocm": "ROCm", "mps": "MPS", "xpu": "XPU", "tpu": "TPU", "cpu": "the CPU",
            "nvidia": "NVIDIA", "amd": "AMD", "apple": "Apple", "intel": "Intel", "rocm on a consumer card":
            "ROCm on a consumer card"}


def show_written(value: Any) -> str:
    """Print back ends and makers as people write them."""
    found = value if isinstance(value, list) else [value]
    return " and ".join(_WRITTEN.get(str(item), show_value(item)) for item in found)


def show_architectures(value: Any) -> str:
    """Print compute capabilities and gfx targets with the names of their generations, where those are known."""
    targets = value if isinstance(value, list) else [value]
    named = [(target, architecture_of(target) if isinstance(target, str) else None) for target in targets]
    return show_value([f"{name} ({target})" if name else target for target, name in named])


def show_models(value: Any) -> str:
    """Print models as their makers write them: A100, 2060 Super."""
    return ", ".join(map(model_name, map(str, value) if isinstance(value, list) else [show_value(value)]))


def several_kinds(facts: Facts) -> Fails | None:
    """Fail where devices of different kinds can be reached: which of them computed is recorded nowhere.

    In the process those of one maker count, by the back end. From outside each maker's count by themselves: a build of
    a framework is for one of them.
    """
    backend_in_use = facts.read("frameworks.backend") if in_process(facts) else None
    if backend_in_use == "cpu":
        return None
    found = devices(facts)
    if len(found) < 2:
        return None
    makers = {device.vendor for device in found}
    if None in makers:
        raise Missing({DEVICES: "not-reported"})
    wanted = MAKERS.get(backend_in_use or "")
    unlike = [_unlike([device for device in found if device.vendor == maker])
              for maker in sorted(filter(None, makers)) if wanted in (None, maker)]
    kinds = [name for names in unlike for name in names]
    return Fails(f"the devices are {' and '.join(kinds)}") if kinds else None


def _unlike(found: list[Acting]) -> list[str]:
    """Return the names of devices of one maker that are of several kinds, none where they are alike.

    Raise ``Missing`` where nothing known tells them apart and something is unknown.
    """
    columns = [[kind(device) for device in found]
               for kind in (family, units, lambda device: device.model, lambda device: device.mig_profile or "whole")]
    known = [{value for value in column if value not in (None, "unread")} for column in columns]
    if any(len(values) > 1 for values in known):
        return sorted({_named(device) for device in found})
    if len(found) > 1 and any(value in (None, "unread") for column in columns for value in column):
        raise Missing({DEVICES: "not-reported"})
    return []


def _named(device: Acting) -> str:
    name = model_name(str(device.model or family(device)))
    return name if device.mig_profile in (None, "unread") else f"{name} {device.mig_profile}"


def faults(facts: Facts) -> Fails | None:
    """Fail where the user states that a device reported uncorrected errors while the program ran."""
    stated = facts.read("declared.values") or {}
    found = [f"{name}={stated[name]}" for name in FAULTS if str(stated.get(name, "0")).lower() not in _NO_FAULT]
    return Fails(f"errors of a device were stated: {', '.join(found)}") if found else None


#: declared names by which a fault of a device is stated: a count, or the numbers of the events.
FAULTS = ("uncorrected-errors", "xid", "device-fault")
_NO_FAULT = frozenset(("0", "", "no", "none", "false"))


BACKENDS: tuple[AnyRule, ...] = (
    Condition(
        id="device-fault", layer="accelerators", cause="hardware_or_host_setting", set_by=SetBy.PROGRAM,
        guaranteed=Level.NONE, expected=Level.NONE, possible=Level.BITWISE, why="{detail} {side}",
        effect="values of that run can be wrong anywhere, silently",
        remedy="run again on another device, and have this one tested", confidence="documented",
        source=("NVIDIA Xid errors documentation", "arXiv:2502.12340: silent corruption in training"),
        capture_how="state what nvidia-smi -q or the system log says: --declare uncorrected-errors=0", holds=faults),
    Distinction(
        id="backend-maturity", layer="accelerators", cause="backend", set_by=SetBy.PROGRAM,
        guaranteed=Level.NONE, expected=Level.NONE, possible=Level.BITWISE,
        why="computed on {expected} against {observed}, one of which is known for silently wrong results",
        effect="losses and metrics far beyond rounding have been reported",
        remedy="compare on the same kind of device, or prove the results of the less tested one against the CPU",
        confidence="observed", source=("pytorch issues 103343, 92615, 82707", "ROCm issue 5388"),
        subsumes=("backend", "gpu-vendor", "gpu-architecture", "gpu-model", "gpu-sm-count"), project=backend_maturity,
        show=show_written),
    Distinction(
        id="backend", layer="accelerators", cause="backend", set_by=SetBy.PROGRAM,
        guaranteed=Level.STATISTICAL, expected=Level.STATISTICAL, possible=Level.BITWISE,
        why="computed on {expected} against {observed}",
        effect="other kernels, other random streams, other default precision",
        remedy="run both on the same kind of device",
        confidence="documented", source=("PyTorch documentation, Reproducibility: CPU and GPU results may differ",),
        subsumes=("gpu-vendor", "gpu-architecture", "gpu-model", "gpu-sm-count", "rng-launch-geometry"),
        project=backend, show=show_written),
    Distinction(
        id="gpu-vendor", layer="accelerators", cause="backend",
        guaranteed=Level.STATISTICAL, expected=Level.STATISTICAL, possible=Level.BITWISE,
        why="accelerator: {expected} against {observed}",
        effect="other kernels and libraries throughout",
        remedy="run both on devices of one maker, or both on the processor",
        confidence="documented", source=("PyTorch documentation, Reproducibility",),
        subsumes=("gpu-architecture", "gpu-model", "gpu-sm-count", "rng-launch-geometry", "default-precision",
                  "torch-accelerator", "cuda-build"), project=vendor, show=show_written),
)

RULES: tuple[AnyRule, ...] = (
    Distinction(
        id="rng-launch-geometry", layer="accelerators", cause="rng_launch_geometry", set_by=SetBy.MACHINE,
        guaranteed=Level.STATISTICAL, expected=Level.STATISTICAL, possible=Level.BITWISE,
        why="GPU random numbers are dealt out by {expected} against {observed}, so one seed gives other numbers",
        effect="dropout masks, noise and device-side initialisation differ beyond the smaller grid",
        remedy="draw on the CPU generator and copy, or use GPUs with the same SM count and threads per SM",
        confidence="proven", source=("ATen/native/cuda/DistributionTemplates.h, calc_execution_policy",
                                     "pytorch issues 62467, 196613, 194676", "pytorch pull request 176584"),
        capture_how="run the program under `repro-env run`, which traces the largest draw of the first step, or state "
                    "it: --declare random.largest_cuda_draw=N",
        project=rng_geometry, show=show_grid),
    Distinction(
        id="gpu-architecture", layer="accelerators", cause="gpu_architecture",
        guaranteed=Level.STATISTICAL, expected=Level.STATISTICAL, possible=Level.BITWISE,
        why="GPU architecture {expected} against {observed}",
        effect="other kernels, tiles and matrix units: about 1e-6 relative in float32, 1e-3 in half precision",
        remedy="use the same GPU model; else compare over several seeds",
        confidence="documented", source=(_CUDNN, _CUBLAS, "arXiv:2512.07004"),
        subsumes=("autocast-architecture", "gpu-model", "gpu-sm-count"), project=architecture,
        show=show_architectures),
    Distinction(
        id="autocast-architecture", layer="accelerators", cause="gpu_architecture", set_by=SetBy.PROGRAM,
        guaranteed=Level.STATISTICAL, expected=Level.STATISTICAL, possible=Level.BITWISE,
        why="autocast on GPU architecture {expected} against {observed}",
        effect="half-precision products run in other matrix units, or in none",
        remedy="use the same GPU model; else compare over several seeds", confidence="documented",
        source=(_CUBLAS, "PyTorch documentation, Automatic Mixed Precision"), subsumes=("default-precision",),
        project=architecture_of_autocast, show=show_architectures),
    Condition(
        id="mixed-devices", layer="accelerators", cause="gpu_model",
        guaranteed=Level.STATISTICAL, expected=Level.BITWISE, possible=Level.BITWISE,
        why="{detail} {side}, and which of them computed is not recorded",
        effect="another device of the same machine has other kernels and another grid of random numbers",
        remedy="export CUDA_VISIBLE_DEVICES (ROCR_VISIBLE_DEVICES) with devices of one kind",
        confidence="observed", source=("pytorch issue 51426: two cards of one computer give two results", _CUBLAS),
        holds=several_kinds),
    Distinction(
        id="mig-profile", layer="accelerators", cause="gpu_model",
        guaranteed=Level.STATISTICAL, expected=Level.CURVE, possible=Level.BITWISE,
        why="MIG profile {expected} against {observed}",
        effect="a slice has fewer SMs: other splits of sums, other random-number grid",
        remedy="use the same MIG profile, or the whole GPU on both sides",
        confidence="documented", source=(_CUBLAS, "NVIDIA MIG User Guide"), subsumes=("gpu-sm-count",),
        project=mig_profiles),
    Distinction(
        id="gpu-sm-count", layer="accelerators", cause="gpu_model",
        guaranteed=Level.CURVE, expected=Level.CURVE, possible=Level.BITWISE,
        why="{expected} against {observed}",
        effect="libraries split work by the number of SMs or compute units, so sums add in another order",
        remedy="use the same GPU model and form factor",
        confidence="documented", source=(_CUBLAS,), subsumes=("gpu-model",), project=sm_counts),
    Distinction(
        id="gpu-model", layer="accelerators", cause="gpu_model",
        guaranteed=Level.CURVE, expected=Level.CURVE, possible=Level.BITWISE,
        why="GPU model {expected} against {observed}",
        effect="equal bits were seen within one architecture, and are not promised",
        remedy="use the same GPU model",
        confidence="observed", source=("NVIDIA framework-reproducibility issue 28", _CUBLAS), project=models,
        show=show_models),
)
