"""Layer ``cpu``: which instruction set each library really dispatches to."""

from __future__ import annotations

from typing import Any, Callable

from .. import branches
from ..acting import (
    UNUSED,
    any_imported,
    in_process,
    inner,
    on_cpu,
    present,
    settings,
    using,
    using_any,
    variable,
)
from ..levels import Level, SetBy
from ..processors import architecture_of_model, level_of_model, maker_of_model, vector_level
from ..reading import Facts, Missing
from ..rule import AnyRule, Distinction, Parts, Projection, show_parts, show_value
from ..versions import older
from .libraries import not_loaded
from .precision import WITH_ONEDNN
from .threads import acting_pools, pools, without_torch

#: variables by which people ask for kernels, beside torch's own.
ASKED = ("NPY_DISABLE_CPU_FEATURES", "OPENBLAS_CORETYPE", "BLIS_ARCH_TYPE")


def hardware_level(facts: Facts) -> str | None:
    """Return the vector level of the CPU, by its instruction sets, else by its name; ``None`` where it has none."""
    if not facts.known("cpu.instruction_sets"):
        told = level_of_model(facts.get("cpu.model"))
        if told is not None:
            return told
    return found_level(facts)


def found_level(facts: Facts) -> str | None:
    """Return the vector level by the instruction sets alone: a hypervisor may withhold what a name promises."""
    found = facts.read("cpu.instruction_sets")
    return None if found is None else vector_level(found)


@on_cpu
def level(facts: Facts) -> Any:
    """The widest vector level that a library of the program uses: the CPU's, unless all of them are held below it."""
    best = hardware_level(facts)
    if best is None or best not in branches.X86 or not in_process(facts):
        return present(best)
    lacking: dict[str, str] = {}
    widest: str | None = None
    for of_library in (_level_of_torch, _level_of_mkl, _level_of_onednn, _level_of_numpy, _level_of_openblas,
                       _level_of_compilers):
        try:
            found = of_library(facts, best)
        except Missing as missing:
            lacking.update(missing.facts)
            continue
        if found is not None and (widest is None or _rank(found) < _rank(widest)):
            widest = found
        if widest is not None and _rank(widest) <= _rank(best):
            return best
    if lacking:
        raise Missing(lacking)
    return present(widest)


def _rank(name: str) -> int:
    """Order vector levels, the widest first; one of another machine counts as the widest."""
    return branches.X86.index(name) if name in branches.X86 else 0


def _level_of_torch(facts: Facts, best: str) -> str | None:
    if not any_imported(facts, ("torch",)):
        return None
    capability = facts.read("cpu.torch_capability")
    return None if capability is None else branches.torch_level(capability) or best


def _level_of_mkl(facts: Facts, best: str) -> str | None:
    branch = mkl_branch(facts)
    if branch is UNUSED:
        return None
    name = str(branch).partition(" ")[0].strip(",")
    return {"AVX512": "AVX-512", "AVX2": "AVX2", "AVX": "AVX"}.get(name, "baseline")


def _level_of_onednn(facts: Facts, best: str) -> str | None:
    if not any_imported(facts, WITH_ONEDNN):
        return None
    found = onednn_isa(facts)
    return {"AVX512_CORE": "AVX-512", "AVX2": "AVX2", "AVX": "AVX"}.get(found, "baseline")


def _level_of_numpy(facts: Facts, best: str) -> str | None:
    if not any_imported(facts, ("numpy",)):
        return None
    features = facts.read("cpu.numpy_simd")
    return None if features is None else branches.numpy_level(features)


def _level_of_openblas(facts: Facts, best: str) -> str | None:
    if not any_imported(facts, ("numpy", "torch")):
        return None
    found = [branches.openblas_level(inner(pool["architecture"], "threads.blas_pools")) or best
             for pool in facts.read("threads.blas_pools") or ()]
    return min(found, key=_rank) if found else None


def _level_of_compilers(facts: Facts, best: str) -> str | None:
    """XLA compiles for the CPU it finds."""
    return best if any_imported(facts, ("jax", "tensorflow")) else None


@on_cpu
def cpu_vendor(facts: Facts) -> Any:
    """Maker of the CPU, where MKL computes: it takes other branches on CPUs of others, but for COMPATIBLE."""
    told = None if facts.known("cpu.vendor") else maker_of_model(facts.get("cpu.model"))
    vendor = told or facts.read("cpu.vendor")
    if in_process(facts):
        if mkl_absent(facts):
            return UNUSED
        if (variable(facts, "MKL_CBWR") or "").partition(",")[0] == "COMPATIBLE":
            return "any maker (MKL_CBWR=COMPATIBLE)"
    return present(vendor)


def architecture(facts: Facts) -> Any:
    """Machine architecture: x86_64 and arm64 share no kernel."""
    told = None if facts.known("cpu.architecture") else architecture_of_model(facts.get("cpu.model"))
    value = told or facts.read("cpu.architecture")
    return {"aarch64": "arm64", "amd64": "x86_64", "AMD64": "x86_64", None: UNUSED}.get(value, value)


def processor(facts: Facts) -> Any:
    """Everything of the CPU that can steer dispatch."""
    sets, microarchitecture = facts.read_all("cpu.instruction_sets", "cpu.microarchitecture")
    return UNUSED if sets is None else [str(microarchitecture), *sorted(sets)]


def show_processor(value: Any) -> str:
    """Print a processor by its family and vector level."""
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return show_value(value)
    return f"family {value[0]} with {vector_level(value[1:])} and {len(value) - 1} instruction sets"


@using("torch")
def torch_host_capability(facts: Facts) -> Any:
    """Kernel level torch dispatches to, wherever it computed: initial values are made on the host."""
    value = facts.read("cpu.torch_capability")
    return UNUSED if value is None else value.upper()


torch_capability = on_cpu(torch_host_capability)


#: features with which NumPy sorts and computes half precision; float32 and float64 were measured to ignore them.
_NOT_FOR_FLOATS = frozenset(("AVX512_CLX", "AVX512_CNL", "AVX512_ICL", "AVX512_SPR"))


@using("numpy")
def numpy_simd(facts: Facts) -> Any:
    """SIMD features NumPy found and may use."""
    value = facts.read("cpu.numpy_simd")
    return UNUSED if value is None else sorted(value)


@without_torch
@using("numpy")
def numpy_floats(facts: Facts) -> Any:
    """Those of them by which NumPy computes float32 and float64, in programs without torch."""
    value = facts.read("cpu.numpy_simd")
    return UNUSED if value is None else sorted(set(value) - _NOT_FOR_FLOATS)


def onednn_isa(facts: Facts) -> Any:
    """Instruction set in which oneDNN computes float32: the CPU's, capped by its variable."""
    best = found_level(facts)
    return UNUSED if best is None else branches.onednn(best, onednn_cap(facts))


def onednn_cap(facts: Facts) -> str | None:
    """Return the cap on oneDNN; the older name counts where the newer one is not set."""
    return variable(facts, "ONEDNN_MAX_CPU_ISA") or variable(facts, "DNNL_MAX_CPU_ISA")


def onednn_half(facts: Facts) -> Any:
    """Units in which oneDNN computes half precision, where autocast or the default type asks for it."""
    autocast, default = facts.read_all("precision.autocast", "precision.default_dtype")
    if not {autocast, default} & {"bfloat16", "float16"}:
        return UNUSED
    sets = facts.read("cpu.instruction_sets")
    return UNUSED if sets is None else branches.half_units(sets, onednn_cap(facts))


def mkl_absent(facts: Facts) -> bool:
    """Tell whether the process surely computes without MKL."""
    return facts.read("libraries.mkl") is None or not_loaded(facts, "mkl")


def mkl_branch(facts: Facts) -> Any:
    """Branch that MKL takes: instruction sets and maker of the CPU, capped by its variables."""
    if mkl_absent(facts):
        return UNUSED
    best, vendor = found_level(facts), facts.read("cpu.vendor")
    if best is None or best not in branches.X86:
        return UNUSED
    branch = branches.mkl(best, vendor, variable(facts, "MKL_CBWR"), variable(facts, "MKL_ENABLE_INSTRUCTIONS"))
    forced = variable(facts, "MKL_DEBUG_CPU_TYPE")
    return f"{branch}, CPU type {forced}" if forced and forces_cpu_type(facts) else branch


def forces_cpu_type(facts: Facts) -> bool:
    """Tell whether this MKL still heeds MKL_DEBUG_CPU_TYPE; 2020 update 1 and later do not."""
    version = facts.read("libraries.mkl.loaded") if in_process(facts) else facts.read("libraries.mkl.installed")
    return version is None or older(version, "2020.0.1")


@using("torch")
def host_branches(facts: Facts) -> Any:
    """Branches of oneDNN and MKL wherever the process computed: initial values are made on the host."""
    found = (("oneDNN", onednn_isa(facts)), ("MKL", mkl_branch(facts)))
    return [f"{name} {'not used' if branch is UNUSED else branch}" for name, branch in found]


def asked_kernels(facts: Facts) -> Any:
    """Kernels that variables ask for, where nobody saw the process; in it the ones in force are read.

    Torch heeds its variable in small letters, and only below what the CPU has.
    """
    if in_process(facts):
        return UNUSED
    asked = settings(facts, ASKED)
    try:
        held = _held_below(facts)
    except Missing as missing:
        return Parts(asked.read, {**asked.lacking, **missing.facts})
    return Parts({**asked.read, "ATEN_CPU_CAPABILITY": f"ATEN_CPU_CAPABILITY={held}" if held else None}, asked.lacking)


def _held_below(facts: Facts) -> str | None:
    """Return the level to which torch's variable holds it, ``None`` where that is none below what the CPU has."""
    capability = variable(facts, "ATEN_CPU_CAPABILITY")
    if capability not in ("avx2", "default"):
        return None
    best = found_level(facts)
    held = best in branches.X86 and _rank(branches.torch_level(capability) or "") > _rank(best or "")
    return capability if held else None


def glibc_caps(facts: Facts) -> Any:
    """Caps on the C library's mathematics."""
    value = variable(facts, "GLIBC_TUNABLES") or ""
    return [item for item in value.split(":") if "hwcap" in item or "x86" in item] or "none"


_MEASURED = ("measured: results change with the kernel level on one host",)
_ROUNDING = "other kernels, other rounding: about 1e-7 relative in float32 at first"


def _rule(rule_id: str, why: str, project: Projection, *, expected: Level, remedy: str, effect: str = _ROUNDING,
          source: tuple[str, ...] = _MEASURED, set_by: SetBy = SetBy.PROGRAM, subsumes: tuple[str, ...] = (),
          show: Callable[[Any], str] = show_value) -> Distinction:
    return Distinction(id=rule_id, layer="cpu", cause="cpu_isa", set_by=set_by, guaranteed=Level.CURVE,
                       expected=expected, possible=Level.BITWISE, why=why, effect=effect, remedy=remedy,
                       confidence="proven", source=source, subsumes=subsumes, project=project, show=show)


_SAME_CPU = "run both on the same CPU model"
_CAPS = "export ATEN_CPU_CAPABILITY=avx2 ONEDNN_MAX_CPU_ISA=AVX2 MKL_ENABLE_INSTRUCTIONS=AVX2 OPENBLAS_CORETYPE=HASWELL"

RULES: tuple[AnyRule, ...] = (
    _rule("cpu-architecture", "machine architecture {expected} against {observed}", architecture, set_by=SetBy.MACHINE,
          expected=Level.CURVE, remedy="run both on one architecture",
          subsumes=("cpu-vector-level", "cpu-vendor", "processor"),
          source=("PyTorch documentation, Reproducibility: platforms",)),
    _rule("cpu-vector-level", "{expected} against {observed} on the CPU", level, expected=Level.CURVE,
          remedy=f"{_SAME_CPU}, or cap every library on both sides: {_CAPS}, and NPY_DISABLE_CPU_FEATURES",
          subsumes=("processor", "torch-capability", "numpy-simd", "numpy-simd-host", "blas-kernels",
                    "blas-kernels-host", "torch-host-capability", "onednn-isa", "onednn-half-units", "mkl-branch",
                    "host-branches", "kernel-variables"),
          source=("pytorch issues 155423, 155552", *_MEASURED)),
    _rule("cpu-vendor", "CPU of {expected} against {observed}", cpu_vendor, expected=Level.CURVE,
          remedy=f"{_SAME_CPU}, or export MKL_CBWR=COMPATIBLE on both sides",
          subsumes=("processor", "mkl-branch", "host-branches"),
          source=("Intel oneMKL documentation: run-time dispatch, CNR on CPUs of other makers", "pytorch issue 49268")),
    _rule("torch-capability", "torch CPU kernels {expected} against {observed}", torch_capability,
          expected=Level.CURVE, remedy="unset ATEN_CPU_CAPABILITY, or run on CPUs of one level",
          subsumes=("torch-host-capability", "kernel-variables")),
    _rule("onednn-isa", "oneDNN computes with {expected} against {observed}",
          on_cpu(using_any(*WITH_ONEDNN)(onednn_isa)), expected=Level.CURVE,
          remedy="set ONEDNN_MAX_CPU_ISA the same", subsumes=("host-branches",),
          source=("oneDNN documentation, CPU Dispatcher Control",
                  "measured: convolution, GELU and LSTM change below AVX512_CORE, float32 not above it")),
    _rule("onednn-half-units", "half precision in oneDNN by {expected} against {observed}",
          on_cpu(using_any(*WITH_ONEDNN)(onednn_half)), expected=Level.CURVE,
          effect="products in half precision add in another order and width",
          remedy="set ONEDNN_MAX_CPU_ISA the same, or run on CPUs with the same units",
          source=("measured: bfloat16 products and convolutions change when AMX is withheld",)),
    _rule("mkl-branch", "MKL branch {expected} against {observed}", on_cpu(mkl_branch), expected=Level.CURVE,
          remedy="set MKL_CBWR and MKL_ENABLE_INSTRUCTIONS the same", subsumes=("host-branches",),
          source=("Intel oneMKL documentation, Conditional Numerical Reproducibility",
                  "measured: products, decompositions, FFT, exp, log and tanh change with the branch")),
    _rule("host-branches", "on the host {expected} against {observed}", host_branches,
          expected=Level.BITWISE, remedy="set ONEDNN_MAX_CPU_ISA, MKL_CBWR and MKL_ENABLE_INSTRUCTIONS the same",
          effect="initial values drawn or decomposed on the host may differ"),
    _rule("numpy-simd", "NumPy SIMD {expected} against {observed}", numpy_floats, expected=Level.CURVE,
          remedy="unset NPY_DISABLE_CPU_FEATURES, or run on CPUs of one level",
          subsumes=("numpy-simd-host", "kernel-variables"),
          source=("measured: exp, log, tanh and powers of NumPy change, sums and random numbers do not",
                  "numpy issues 23523, 22904")),
    _rule("blas-kernels", "BLAS kernels {expected} against {observed}", acting_pools("architecture"),
          expected=Level.CURVE, remedy="set OPENBLAS_CORETYPE the same, or run on one CPU model",
          subsumes=("blas-kernels-host", "kernel-variables"),
          source=("measured: NumPy products change between SkylakeX and Haswell kernels", "OpenBLAS issue 4510")),
    _rule("torch-host-capability", "torch CPU kernels on the host {expected} against {observed}",
          torch_host_capability, expected=Level.BITWISE, remedy="unset ATEN_CPU_CAPABILITY",
          effect="initial values drawn on the host may differ: from 16 normal draws on, below AVX2"),
    _rule("numpy-simd-host", "NumPy SIMD {expected} against {observed}", numpy_simd, expected=Level.BITWISE,
          remedy="unset NPY_DISABLE_CPU_FEATURES", effect="seen only where NumPy computes, or in half precision"),
    _rule("blas-kernels-host", "BLAS kernels {expected} against {observed}", pools("architecture"),
          expected=Level.BITWISE, remedy="set OPENBLAS_CORETYPE the same", effect="seen only where NumPy computes"),
    _rule("kernel-variables", "kernels asked for: {expected} against {observed}", asked_kernels, expected=Level.CURVE,
          show=show_parts("no kernels asked for"), remedy="export the same variables"),
    _rule("glibc-caps", "C library capped by {expected} against {observed}", glibc_caps, expected=Level.CURVE,
          remedy="unset GLIBC_TUNABLES", effect="exp, log and sin of the C library round otherwise",
          source=("glibc manual, Hardware Capability Tunables",)),
    _rule("processor", "CPU of {expected} against {observed}", processor, set_by=SetBy.MACHINE,
          expected=Level.BITWISE, remedy=_SAME_CPU, effect="libraries may choose kernels and block sizes by CPU model",
          source=("Intel oneMKL and oneDNN documentation: run-time dispatch",), show=show_processor),
)
