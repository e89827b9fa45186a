"""Layer ``cpu``: which instruction set each library really dispatches to."""

from __future__ import annotations

from typing import Any, Callable

from ..acting import UNUSED, on_cpu, present, using, using_any, variable
from ..levels import Level, SetBy
from ..processors import level_of_model, vector_level
from ..reading import Facts
from ..rule import AnyRule, Distinction, Projection, show_value
from .libraries import not_loaded
from .precision import WITH_ONEDNN
from .threads import pools, without_torch


@on_cpu
def level(facts: Facts) -> Any:
    """Vector level of the CPU, by its instruction sets, else by its name: libraries without a cap choose by it."""
    if not facts.known("cpu.instruction_sets"):
        told = level_of_model(facts.get("cpu.model"))
        if told is not None:
            return told
    found = facts.read("cpu.instruction_sets")
    return UNUSED if found is None else vector_level(found)


@on_cpu
def cpu_vendor(facts: Facts) -> Any:
    """Maker of the CPU; MKL takes other code paths on other makers' CPUs."""
    return present(facts.read("cpu.vendor"))


def architecture(facts: Facts) -> Any:
    """Machine architecture: x86_64 and arm64 share no kernel."""
    value = facts.read("cpu.architecture")
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


@on_cpu
@using("torch")
def torch_capability(facts: Facts) -> Any:
    """Kernel level torch dispatches to."""
    value = facts.read("cpu.torch_capability")
    return UNUSED if value is None else value.upper()


@using("torch")
def torch_host_capability(facts: Facts) -> Any:
    """The same wherever torch computed: initial values are made on the host."""
    value = facts.read("cpu.torch_capability")
    return UNUSED if value is None else value.upper()


@using("numpy")
def numpy_simd(facts: Facts) -> Any:
    """SIMD features NumPy found and may use."""
    value = facts.read("cpu.numpy_simd")
    return UNUSED if value is None else sorted(value)


_ONEDNN_BASE = "AVX512_CORE"
_MKL_CAPS = ("MKL_CBWR", "MKL_ENABLE_INSTRUCTIONS", "MKL_DEBUG_CPU_TYPE")


def isa_cap(facts: Facts) -> Any:
    """Cap on oneDNN: AVX512_CORE and above are equal for float32."""
    value = (variable(facts, "ONEDNN_MAX_CPU_ISA") or variable(facts, "DNNL_MAX_CPU_ISA") or "").upper()
    return "none" if value in ("", "DEFAULT", "ALL") or value.startswith(_ONEDNN_BASE) else value


def caps_of_mkl(facts: Facts) -> Any:
    """Caps on MKL; a cap at AVX512 on a CPU that has it changes nothing."""
    if facts.read("libraries.mkl") is None or not_loaded(facts, "mkl"):
        return UNUSED
    has = "avx512f" in (facts.read("cpu.instruction_sets") or ())
    values = [f"{name}={value}" for name in _MKL_CAPS if (value := variable(facts, name)) is not None]
    return [value for value in values if not (has and value.rpartition("=")[2].upper() == "AVX512")] or "none"


onednn_cap = on_cpu(using_any(*WITH_ONEDNN)(isa_cap))
mkl_caps = on_cpu(caps_of_mkl)


@using("torch")
def host_caps(facts: Facts) -> Any:
    """The same two wherever the process computed: initial values and preprocessing are made on the host."""
    mkl = caps_of_mkl(facts)
    return [f"oneDNN {isa_cap(facts)}", f"MKL {'not used' if mkl is UNUSED else show_value(mkl)}"]


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

RULES: tuple[AnyRule, ...] = (
    _rule("cpu-architecture", "machine architecture {expected} against {observed}", architecture, set_by=SetBy.MACHINE,
          expected=Level.CURVE, remedy="run both on one architecture",
          subsumes=("cpu-vector-level", "cpu-vendor", "processor"),
          source=("PyTorch documentation, Reproducibility: platforms",)),
    _rule("cpu-vector-level", "{expected} against {observed} on the CPU", level, expected=Level.CURVE,
          remedy=_SAME_CPU + ", or cap every library: ATEN_CPU_CAPABILITY alone does not reach BLAS and oneDNN",
          subsumes=("processor", "torch-capability", "numpy-simd", "numpy-simd-host", "blas-kernels",
                    "blas-kernels-host", "torch-host-capability"),
          source=("pytorch issues 155423, 155552", *_MEASURED)),
    _rule("cpu-vendor", "CPU of {expected} against {observed}", cpu_vendor, expected=Level.CURVE, remedy=_SAME_CPU,
          subsumes=("processor",),
          source=("Intel oneMKL documentation: optimisation notice", "pytorch issue 49268")),
    _rule("torch-capability", "torch CPU kernels {expected} against {observed}", torch_capability,
          expected=Level.CURVE, remedy="unset ATEN_CPU_CAPABILITY, or run on CPUs of one level",
          subsumes=("torch-host-capability",)),
    _rule("onednn-cap", "oneDNN capped at {expected} against {observed}", onednn_cap, expected=Level.CURVE,
          remedy="set ONEDNN_MAX_CPU_ISA the same", subsumes=("host-caps",)),
    _rule("mkl-caps", "MKL capped by {expected} against {observed}", mkl_caps, expected=Level.CURVE,
          remedy="set MKL_CBWR and MKL_ENABLE_INSTRUCTIONS the same", subsumes=("host-caps",)),
    _rule("host-caps", "libraries capped at {expected} against {observed} on the host", host_caps,
          expected=Level.BITWISE, remedy="set ONEDNN_MAX_CPU_ISA, MKL_CBWR and MKL_ENABLE_INSTRUCTIONS the same",
          effect="initial values drawn or decomposed on the host may differ"),
    _rule("numpy-simd", "NumPy SIMD {expected} against {observed}", without_torch(numpy_simd), expected=Level.CURVE,
          remedy="unset NPY_DISABLE_CPU_FEATURES, or run on CPUs of one level", subsumes=("numpy-simd-host",)),
    _rule("blas-kernels", "BLAS kernels {expected} against {observed}", without_torch(pools("architecture")),
          expected=Level.CURVE, remedy="set OPENBLAS_CORETYPE the same, or run on one CPU model",
          subsumes=("blas-kernels-host",)),
    _rule("torch-host-capability", "torch CPU kernels on the host {expected} against {observed}",
          torch_host_capability, expected=Level.BITWISE, remedy="unset ATEN_CPU_CAPABILITY",
          effect="initial values drawn on the host may differ"),
    _rule("numpy-simd-host", "NumPy SIMD {expected} against {observed}", numpy_simd, expected=Level.BITWISE,
          remedy="unset NPY_DISABLE_CPU_FEATURES", effect="seen only where NumPy computes"),
    _rule("blas-kernels-host", "BLAS kernels {expected} against {observed}", pools("architecture"),
          expected=Level.BITWISE, remedy="set OPENBLAS_CORETYPE the same", effect="seen only where NumPy computes"),
    _rule("glibc-caps", "C library capped by {expected} against {observed}", glibc_caps, expected=Level.CURVE,
          remedy="unset GLIBC_TUNABLES", effect="exp, log and sin of the C library round otherwise",
          source=("glibc manual, Hardware Capability Tunables",)),
    _rule("processor", "CPU of {expected} against {observed}", processor, set_by=SetBy.MACHINE,
          expected=Level.BITWISE, remedy=_SAME_CPU, effect="libraries may choose kernels by CPU model",
          source=("Intel oneMKL and oneDNN documentation: run-time dispatch",), show=show_processor),
)
