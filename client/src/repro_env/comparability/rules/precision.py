"""Layer ``precision``: the arithmetic that each operation really uses, resolved from switches, variables and device.

Float32 on accelerators lies in ``tf32``; here are autocast, widths, half-precision sums, and the processor.
"""

from __future__ import annotations

from typing import Any, Callable

from ..acting import on_cpu, on_gpu, present, using, using_any, variable
from ..levels import Level, SetBy
from ..reading import Facts
from ..rule import AnyRule, Distinction, Projection
from . import tf32

#: frameworks that compute with oneDNN on a CPU.
WITH_ONEDNN = ("torch", "tensorflow")
#: instruction sets that together let torch hand float32 products to oneDNN in bfloat16 where no unit has it.
EMULATING = frozenset(("avx512bw", "avx512vl", "avx512dq"))


def products_on_cpu(facts: Facts) -> Any:
    """Float32 products on the CPU: *medium* and bf16 act where oneDNN has bfloat16, TF32 acts nowhere.

    The newer switches say what is in force; the older one counts only where a version has no newer ones.
    """
    product, *layers = (facts.read(f"precision.fp32_mkldnn_{operation}") for operation in ("matmul", "conv", "rnn"))
    asked = product == "bf16" or (
        product is None and facts.read("precision.float32_matmul_precision") == "medium")
    lowered = (asked and has_bf16(facts, emulated=True)) or ("bf16" in layers and has_bf16(facts, emulated=False))
    return "bfloat16" if lowered else "IEEE float32"


def has_bf16(facts: Facts, *, emulated: bool) -> bool:
    """Tell whether oneDNN computes in bfloat16 here: by units of the CPU or, for products, emulated with AVX-512."""
    sets = set(facts.read("cpu.instruction_sets") or ())
    cap = (variable(facts, "ONEDNN_MAX_CPU_ISA") or variable(facts, "DNNL_MAX_CPU_ISA") or "").upper()
    if cap and not cap.startswith(("AVX512_CORE", "AVX10", "DEFAULT", "ALL")):
        return False
    return bool({"avx512_bf16", "amx_bf16", "bf16", "avx_ne_convert"} & sets) or (emulated and sets >= EMULATING)


def fpmath(facts: Facts) -> Any:
    """``ONEDNN_DEFAULT_FPMATH_MODE`` lowers convolutions; no API shows it."""
    value = variable(facts, "ONEDNN_DEFAULT_FPMATH_MODE") or variable(facts, "DNNL_DEFAULT_FPMATH_MODE")
    return (value or "STRICT").upper()


cpu_products = on_cpu(using("torch")(products_on_cpu))
onednn_fpmath = on_cpu(using_any(*WITH_ONEDNN)(fpmath))


@using("torch")
def host_products(facts: Facts) -> Any:
    """CPU arithmetic wherever the process computed: parts of a model, or its initial values, may lie on the host."""
    return [products_on_cpu(facts), fpmath(facts)]


def switch(path: str, limit: Callable[[Projection], Projection]) -> Projection:
    """Project a switch as it stands, within ``limit``."""
    return limit(lambda facts: present(facts.read(path)))


@using("torch")
def autocast(facts: Facts) -> Any:
    """Autocast dtype in force."""
    return facts.read("precision.autocast") or "off"


def _rule(rule_id: str, why: str, project: Projection, *, remedy: str, source: tuple[str, ...],
          effect: str = "about 1e-3 relative a product", expected: Level = Level.STATISTICAL,
          confidence: str = "documented", subsumes: tuple[str, ...] = ()) -> Distinction:
    return Distinction(
        id=rule_id, layer="precision", cause="precision_mode", set_by=SetBy.PROGRAM, guaranteed=Level.STATISTICAL,
        expected=expected, possible=Level.BITWISE, why=why, effect=effect, remedy=remedy, confidence=confidence,
        source=source, subsumes=subsumes, project=project)


_MEASURED = ("measured: changes the result of a training step on the CPU",)

RULES: tuple[AnyRule, ...] = (
    _rule("autocast", "autocast {expected} against {observed}", autocast,
          remedy="use the same autocast dtype on both sides", effect="1e-3 to 1e-2 relative in the autocast regions",
          confidence="proven", source=("PyTorch documentation, Automatic Mixed Precision", *_MEASURED)),
    _rule("default-dtype", "default dtype {expected} against {observed}",
          switch("precision.default_dtype", using("torch")), effect="every constant and parameter has another width",
          remedy="call torch.set_default_dtype() with the same dtype",
          source=("PyTorch documentation, torch.set_default_dtype",)),
    *tf32.RULES,
    _rule("flex-attention-precision", "FlexAttention products in {expected} against {observed}",
          switch("precision.flex_attention", on_gpu),
          remedy="pass kernel_options={'PRECISION': 'ieee'} or set the same default",
          confidence="observed", source=("pytorch issue 161022",)),
    _rule("cpu-products", "CPU products in {expected} against {observed}", cpu_products, confidence="proven",
          remedy="call torch.set_float32_matmul_precision('highest') on both sides", source=_MEASURED,
          subsumes=("host-products",)),
    _rule("onednn-fpmath", "oneDNN arithmetic {expected} against {observed} (ONEDNN_DEFAULT_FPMATH_MODE)",
          onednn_fpmath, remedy="unset ONEDNN_DEFAULT_FPMATH_MODE on both sides", confidence="proven",
          source=_MEASURED, subsumes=("host-products",)),
    _rule("host-products", "CPU products in {expected} against {observed} on the host", host_products,
          expected=Level.BITWISE, effect="seen only in what the host computes", source=_MEASURED, confidence="proven",
          remedy="call torch.set_float32_matmul_precision('highest') and unset ONEDNN_DEFAULT_FPMATH_MODE"),
    _rule("fp16-reduction", "float16 sums reduced in lower precision {expected} against {observed}",
          switch("precision.fp16_reduced_reduction", lambda project: on_gpu(using("torch")(project))),
          expected=Level.CURVE, effect="order and width of partial sums in float16 products",
          remedy="set torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction the same",
          source=("PyTorch documentation, Numerical accuracy: reduced precision reduction",)),
    _rule("bf16-reduction", "bfloat16 sums reduced in lower precision {expected} against {observed}",
          switch("precision.bf16_reduced_reduction", lambda project: on_gpu(using("torch")(project))),
          expected=Level.CURVE, effect="order and width of partial sums in bfloat16 products",
          remedy="set torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction the same",
          source=("PyTorch documentation, Numerical accuracy: reduced precision reduction",)),
    _rule("fp16-accumulation", "accumulation of float16 products in float16 {expected} against {observed}",
          switch("precision.fp16_accumulation", lambda project: on_gpu(using("torch")(project))),
          effect="float16 products lose about three more bits",
          remedy="set torch.backends.cuda.matmul.allow_fp16_accumulation the same",
          source=("PyTorch documentation, Numerical accuracy: full float16 accumulation",)),
    _rule("flush-to-zero", "denormals flushed to zero {expected} against {observed}",
          lambda facts: present(facts.read("precision.flush_to_zero")), confidence="proven",
          expected=Level.CURVE, effect="values below 1e-38 become zero; a preloaded fast-math library can do it unseen",
          remedy="call torch.set_flush_denormal() the same, and look for fast-math libraries in LD_PRELOAD",
          source=("measured: a library linked with -ffast-math changes products of small numbers",)),
)
