"""Layer ``accelerators``: kind and maker of the device, architecture, size, and the random numbers that hang on it."""

from __future__ import annotations

from typing import Any

from ..acting import DEVICES, Acting, devices, in_process, of_devices, on_gpu
from ..levels import Level, SetBy
from ..reading import Facts, Missing
from ..rule import AnyRule, Distinction, Fallback, show_value

BLOCK = 256
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
        return "widely tested back end"
    targets = of_devices(facts, lambda device: device.gfx_target)
    consumer = isinstance(targets, list) and any(not target.startswith("gfx9") for target in targets)
    return "rocm on a consumer card" if consumer else "widely tested back end"


def vendor(facts: Facts) -> Any:
    """Makers of the devices; a process that computed on the CPU used none."""
    if in_process(facts) and facts.read("frameworks.backend") == "cpu":
        return "none"
    found = devices(facts)
    return of_devices(facts, lambda device: device.vendor) if found else "none"


@on_gpu
def architecture(facts: Facts) -> Any:
    """Compute capabilities or gfx targets of the devices."""
    return of_devices(facts, lambda device: device.target)


@on_gpu
def sm_counts(facts: Facts) -> Any:
    """SM counts of the devices."""
    return of_devices(facts, lambda device: device.sm_count)


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
def rng_geometry(facts: Facts) -> Any:
    """How many threads one launch of a random-number kernel has, if the largest draw needs more than one wave.

    torch draws with blocks of 256 threads, at most SM count times ``threads_per_sm // 256`` of them; element i gets the
    numbers of thread i modulo that grid. A draw that fits the grid is the same on every GPU. Where the draw is not
    known the grid itself stands in.
    """
    grids = of_devices(facts, _grid)
    if isinstance(grids, Fallback):
        return grids
    draw = facts.get("random.largest_cuda_draw")
    if draw is None:
        return Fallback(grids, ("random.largest_cuda_draw",))
    return "single-launch" if all(draw <= grid for grid in grids) else grids


def _grid(device: Acting) -> int | None:
    if device.sm_count is None or device.threads_per_sm is None:
        return None
    return device.sm_count * (device.threads_per_sm // BLOCK) * BLOCK


def show_grid(value: Any) -> str:
    """Print a grid with its unit."""
    return "a draw that fits one launch" if value == "single-launch" else f"{show_value(value)} threads a launch"


BACKENDS: tuple[AnyRule, ...] = (
    Distinction(
        id="backend-maturity", layer="accelerators", cause="backend", set_by=SetBy.PROGRAM,
        guaranteed=Level.NONE, expected=Level.NONE, possible=Level.BITWISE,
        why="computed on {expected} against {observed}, where silently wrong results are known",
        effect="losses and metrics far beyond rounding have been reported",
        remedy="compare on the same kind of device, or prove the results of the less tested one against the CPU",
        confidence="observed", source=("pytorch issues 103343, 92615, 82707", "ROCm issue 5388"),
        subsumes=("backend", "gpu-vendor", "gpu-architecture", "gpu-model", "gpu-sm-count"), project=backend_maturity),
    Distinction(
        id="backend", layer="accelerators", cause="backend", set_by=SetBy.PROGRAM,
        guaranteed=Level.STATISTICAL, expected=Level.STATISTICAL, possible=Level.BITWISE,
        why="computed on {expected} against {observed}",
        effect="other kernels, other random streams, other default precision",
        remedy="run both on the same kind of device",
        confidence="documented", source=("PyTorch documentation, Reproducibility: CPU and GPU results may differ",),
        subsumes=("gpu-vendor", "gpu-architecture", "gpu-model", "gpu-sm-count", "rng-launch-geometry"),
        project=backend),
    Distinction(
        id="gpu-vendor", layer="accelerators", cause="backend",
        guaranteed=Level.STATISTICAL, expected=Level.STATISTICAL, possible=Level.BITWISE,
        why="accelerators of {expected} against {observed}",
        effect="other kernels and libraries throughout", remedy="run both on devices of one vendor",
        confidence="documented", source=("PyTorch documentation, Reproducibility",),
        subsumes=("gpu-architecture", "gpu-model", "gpu-sm-count", "rng-launch-geometry"), project=vendor),
)

RULES: tuple[AnyRule, ...] = (
    Distinction(
        id="rng-launch-geometry", layer="accelerators", cause="rng_launch_geometry", set_by=SetBy.MACHINE,
        guaranteed=Level.STATISTICAL, expected=Level.STATISTICAL, possible=Level.BITWISE,
        why="GPU random numbers are dealt out by {expected} against {observed}, so one seed gives other numbers",
        effect="dropout masks, noise and device-side initialisation differ beyond the smaller grid",
        remedy="draw on the CPU generator and copy, or use GPUs with the same SM count and threads per SM",
        confidence="proven", source=("pytorch issues 62467, 196613, 194676", "pytorch pull request 176584"),
        capture_how="use one GPU model on both sides: how much a program draws is not recorded",
        project=rng_geometry, show=show_grid),
    Distinction(
        id="gpu-architecture", layer="accelerators", cause="gpu_architecture",
        guaranteed=Level.STATISTICAL, expected=Level.STATISTICAL, possible=Level.BITWISE,
        why="GPU architecture {expected} against {observed}",
        effect="other kernels, tiles and matrix units: about 1e-6 relative in float32, 1e-3 in half precision",
        remedy="use the same GPU model; else compare over several seeds",
        confidence="documented", source=(_CUDNN, _CUBLAS, "arXiv:2512.07004"),
        subsumes=("gpu-model", "gpu-sm-count"), project=architecture),
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
        why="{expected} SMs against {observed}",
        effect="cuBLAS and cuDNN split work by SM count, so sums add in another order",
        remedy="use the same GPU model and form factor",
        confidence="documented", source=(_CUBLAS,), subsumes=("gpu-model",), project=sm_counts),
    Distinction(
        id="gpu-model", layer="accelerators", cause="gpu_model",
        guaranteed=Level.CURVE, expected=Level.CURVE, possible=Level.BITWISE,
        why="GPU model {expected} against {observed}",
        effect="equal bits were seen within one architecture, and are not promised",
        remedy="use the same GPU model",
        confidence="observed", source=("NVIDIA framework-reproducibility issue 28", _CUBLAS), project=models),
)
