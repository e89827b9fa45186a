"""Layer ``precision``: the arithmetic that each operation really uses, resolved from switches, variables and device."""

from __future__ import annotations

from typing import Any, Callable

from ..acting import UNUSED, devices, in_process, on_cpu, on_gpu, present, using, using_any, variable
from ..levels import Level, SetBy
from ..reading import Facts
from ..rule import AnyRule, Distinction, Projection
from ..versions import older

#: frameworks that compute with oneDNN on a CPU.
WITH_ONEDNN = ("torch", "tensorflow")
#: first compute capability with TF32 (and bfloat16) matrix units.
AMPERE = (8, 0)
_TF32_PAPER = "PyTorch documentation, Numerical accuracy: TensorFloat-32 on Ampere"


def has_tf32(facts: Facts) -> bool:
    """Tell whether TF32 exists on any of the devices; other vendors count as not having it."""
    return any(device.capability >= AMPERE for device in devices(facts) if device.vendor != "amd")


def effective(facts: Facts, *, lowered: bool) -> str:
    """Return what a float32 switch does on these devices: a switch without hardware behind it does nothing."""
    return "TF32" if lowered and has_tf32(facts) else "IEEE float32"


def flag(path: str) -> Projection:
    """Project a boolean TF32 switch to its effect."""
    @on_gpu
    @using("torch")
    def project(facts: Facts) -> Any:
        value = facts.read(path)
        return UNUSED if value is None else effective(facts, lowered=value is True)
    return project


@on_gpu
@using("torch")
def matmul_precision(facts: Facts) -> Any:
    """``set_float32_matmul_precision``: on CUDA *high* and *medium* are both TF32."""
    value = facts.read("precision.float32_matmul_precision")
    return UNUSED if value is None else effective(facts, lowered=value in ("high", "medium"))


def operation(path: str) -> Projection:
    """Project a switch of the newer API; ``none`` takes the generic switch."""
    @on_gpu
    @using("torch")
    def project(facts: Facts) -> Any:
        value = facts.read(path)
        if value is None:
            return UNUSED
        if value == "none":
            value = facts.read("precision.fp32_generic")
        known = value in ("tf32", "ieee", "none", None)
        return effective(facts, lowered=value == "tf32") if known else value
    return project


@on_gpu
@using("torch")
def default_precision(facts: Facts) -> Any:
    """What products and convolutions use unless the program says otherwise: torch version and device decide.

    In the process the switches themselves are read, so the default does not matter there.
    """
    if in_process(facts):
        return UNUSED
    if not has_tf32(facts):
        return "IEEE float32"
    version = facts.read("frameworks.torch.version")
    if version is None:
        return UNUSED
    if older(version, "1.7"):
        return "IEEE float32"
    return "TF32 products and convolutions" if older(version, "1.12") else "IEEE float32 with TF32 convolutions"


def tf32_override(facts: Facts) -> Any:
    """``NVIDIA_TF32_OVERRIDE`` acts below torch and is not seen in its switches."""
    value = variable(facts, "NVIDIA_TF32_OVERRIDE")
    return {None: "unset", "0": "TF32 off everywhere"}.get(value, "TF32 on everywhere")


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
    """The same two wherever the process computed: parts of a model, or its initial values, may lie on the host."""
    return [products_on_cpu(facts), fpmath(facts)]


def switch(path: str, limit: Callable[[Projection], Projection]) -> Projection:
    """Project a switch as it stands, within ``limit``."""
    return limit(lambda facts: present(facts.read(path)))


@using("torch")
def autocast(facts: Facts) -> Any:
    """Autocast dtype in force."""
    return facts.read("precision.autocast") or "off"


def _rule(rule_id: str, why: str, project: Projection, *, remedy: str, effect: str = "about 1e-3 relative a product",
          expected: Level = Level.STATISTICAL, source: tuple[str, ...] = (_TF32_PAPER,),
          confidence: str = "documented", subsumes: tuple[str, ...] = ()) -> Distinction:
    return Distinction(
        id=rule_id, layer="precision", cause="precision_mode", set_by=SetBy.PROGRAM, guaranteed=Level.STATISTICAL,
        expected=expected, possible=Level.BITWISE, why=why, effect=effect, remedy=remedy, confidence=confidence,
        source=source, subsumes=subsumes, project=project)


_MEASURED = ("measured: changes the result of a training step on the CPU",)
_SET_TF32 = "set torch.backends.cuda.matmul.allow_tf32 and torch.backends.cudnn.allow_tf32 the same on both sides"

RULES: tuple[AnyRule, ...] = (
    _rule("autocast", "autocast {expected} against {observed}", autocast,
          remedy="use the same autocast dtype on both sides", effect="1e-3 to 1e-2 relative in the autocast regions",
          confidence="proven", source=("PyTorch documentation, Automatic Mixed Precision", *_MEASURED)),
    _rule("default-dtype", "default dtype {expected} against {observed}",
          switch("precision.default_dtype", using("torch")), effect="every constant and parameter has another width",
          remedy="call torch.set_default_dtype() with the same dtype",
          source=("PyTorch documentation, torch.set_default_dtype",)),
    _rule("tf32-matmul", "matrix products in {expected} against {observed} (torch.backends.cuda.matmul.allow_tf32)",
          flag("precision.allow_tf32_matmul"), remedy=_SET_TF32,
          source=(_TF32_PAPER, "pytorch issues 84334, 67384"),
          subsumes=("float32-matmul-precision", "fp32-cuda-matmul", "default-precision")),
    _rule("tf32-cudnn", "convolutions in {expected} against {observed} (torch.backends.cudnn.allow_tf32)",
          flag("precision.allow_tf32_cudnn"), remedy=_SET_TF32,
          subsumes=("fp32-cudnn-conv", "fp32-cudnn-rnn", "default-precision")),
    _rule("float32-matmul-precision", "matrix products in {expected} against {observed} "
          "(torch.set_float32_matmul_precision)", matmul_precision,
          remedy="call torch.set_float32_matmul_precision() with the same word on both sides",
          subsumes=("fp32-cuda-matmul", "default-precision")),
    _rule("fp32-cuda-matmul", "matrix products in {expected} against {observed} (fp32_precision)",
          operation("precision.fp32_cuda_matmul"),
          remedy="set torch.backends.cuda.matmul.fp32_precision to the same word", subsumes=("default-precision",)),
    _rule("fp32-cudnn-conv", "convolutions in {expected} against {observed} (fp32_precision)",
          operation("precision.fp32_cudnn_conv"),
          remedy="set torch.backends.cudnn.conv.fp32_precision to the same word", subsumes=("default-precision",)),
    _rule("fp32-cudnn-rnn", "recurrent layers in {expected} against {observed} (fp32_precision)",
          operation("precision.fp32_cudnn_rnn"),
          remedy="set torch.backends.cudnn.rnn.fp32_precision to the same word", subsumes=("default-precision",)),
    _rule("tf32-override", "{expected} against {observed} (NVIDIA_TF32_OVERRIDE, not visible in torch)",
          on_gpu(tf32_override), remedy="unset NVIDIA_TF32_OVERRIDE on both sides",
          source=("NVIDIA cuBLAS documentation, NVIDIA_TF32_OVERRIDE",)),
    _rule("default-precision", "by default {expected} against {observed}", default_precision, remedy=_SET_TF32,
          source=(_TF32_PAPER, "PyTorch 1.12 release notes: TF32 products off by default",
                  "pytorch issues 53635, 78275", "transformers issue 16588")),
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
    _rule("math-sdp-reduction", "sums of math attention reduced in half precision {expected} against {observed}",
          switch("precision.math_sdp_reduced", lambda project: on_gpu(using("torch")(project))),
          expected=Level.BITWISE, effect="seen only where attention in half precision runs as separate products",
          remedy="call torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp() with the same value",
          source=("PyTorch documentation, torch.backends.cuda.allow_fp16_bf16_reduction_math_sdp",)),
    _rule("flush-to-zero", "denormals flushed to zero {expected} against {observed}",
          lambda facts: present(facts.read("precision.flush_to_zero")), confidence="proven",
          expected=Level.CURVE, effect="values below 1e-38 become zero; a preloaded fast-math library can do it unseen",
          remedy="call torch.set_flush_denormal() the same, and look for fast-math libraries in LD_PRELOAD",
          source=("measured: a library linked with -ffast-math changes products of small numbers",)),
)
