"""Layer ``precision``: float32 arithmetic of each operation on accelerators, whichever way it was asked for.

torch has two generations of switches, a word for products and a variable; NVIDIA has a variable below all of them. In
the process they come down to one value an operation: measured with torch 2.13, the flag, the word, the generic and the
own switch of the newer interface, and the variable all give the same one. From outside nobody sees what a program
switches, so what is stated there, what the variables say and what the release does by default are told apart.
"""

from __future__ import annotations

from typing import Any, Callable, Optional

from ...fingerprint.facts import is_unread
from ..acting import DEVICES, UNUSED, all_hold, devices, in_process, on_gpu, using, variable
from ..levels import Level, SetBy
from ..reading import Facts, Missing
from ..rule import AnyRule, Distinction, Parts, Projection, show_parts, show_value
from ..versions import local_label, older

#: first compute capability with TF32 (and bfloat16) matrix units.
AMPERE = (8, 0)
LOWERED, FULL = "TF32", "IEEE float32"
_PAPER = "PyTorch documentation, Numerical accuracy: TensorFloat-32 on Ampere"
_PRODUCTS = ("precision.fp32_cuda_matmul", "precision.allow_tf32_matmul", "precision.float32_matmul_precision")
_LAYERS = ("precision.fp32_cudnn_conv", "precision.fp32_cudnn_rnn")
_CUDNN = "precision.allow_tf32_cudnn"

Asked = Callable[[Facts], Optional[bool]]


def has_tf32(facts: Facts) -> bool:
    """Tell whether TF32 exists on any of the devices; AMD's have a rule of their own, other vendors have none.

    Raise ``Missing`` where the generation of a device is unread and no other device decides.
    """
    unknown = False
    for device in devices(facts):
        if device.vendor == "amd":
            continue
        if device.capability >= AMPERE:
            return True
        unknown = unknown or (not device.capability and device.vendor in (None, "nvidia"))
    if unknown:
        raise Missing({DEVICES: "not-reported"})
    return False


def may_lower(facts: Facts) -> bool:
    """Tell whether a switch has TF32 behind it: units of the device, and no variable that forbids them all."""
    return all_hold(facts, (has_tf32, lambda side: not forbidden(side)))


def forbidden(facts: Facts) -> bool:
    """Tell whether ``NVIDIA_TF32_OVERRIDE=0`` forbids TF32 below all switches; from outside a rule of its own says."""
    return in_process(facts) and variable(facts, "NVIDIA_TF32_OVERRIDE") == "0"


def effective(facts: Facts, *, lowered: bool) -> str:
    """Return what a float32 switch does here: without units, or below a variable that forbids it, nothing."""
    return LOWERED if lowered and may_lower(facts) else FULL


def resolved(asked: Asked) -> Projection:
    """Project what was asked of torch to what acts; a device without TF32 decides whatever is unread of the switch."""
    @on_gpu
    @using("torch")
    def project(facts: Facts) -> Any:
        try:
            lowered = asked(facts)
        except Missing:
            if may_lower(facts):
                raise
            return FULL
        return UNUSED if lowered is None else effective(facts, lowered=lowered)
    return project


def products_asked(facts: Facts) -> bool | None:
    """Tell whether products may use TF32, ``None`` without torch. Switch, flag and word are three names of one state.

    Torch itself refuses to tell the older two once a program has mixed the interfaces, so the newer one counts first.
    """
    switch, flag, word = (facts.look(path) for path in _PRODUCTS)
    if _said(switch):
        return _tf32(facts, switch)
    if _said(flag):
        return bool(flag)
    if _said(word):
        return word in ("high", "medium")
    facts.read_all(*_PRODUCTS)
    return None


def layer_asked(path: str) -> Asked:
    """Return whether convolutions or recurrent layers may use TF32; the older flag is on only where both may."""
    def asked(facts: Facts) -> bool | None:
        switch = facts.look(path)
        if is_unread(switch):
            if facts.get(_CUDNN) is True:
                return True
            facts.read(path)
        if switch is None:
            flag = facts.read(_CUDNN)
            return None if flag is None else bool(flag)
        return _tf32(facts, switch)
    return asked


def layers_asked(facts: Facts) -> bool | None:
    """Tell whether convolutions and recurrent layers may both use TF32, as the older flag says it."""
    flag = facts.look(_CUDNN)
    if _said(flag):
        return bool(flag)
    asked = [layer_asked(path)(facts) for path in _LAYERS]
    return None if None in asked else all(asked)


def _said(fact: Any) -> bool:
    return fact is not None and not is_unread(fact)


def _tf32(facts: Facts, switch: Any) -> bool:
    """Tell whether a switch of the newer interface means TF32; ``none`` leaves it to the generic one."""
    return bool((facts.read("precision.fp32_generic") if switch == "none" else switch) == "tf32")


@on_gpu
@using("torch")
def default_precision(facts: Facts) -> Any:
    """What products and convolutions use unless the program says otherwise: torch version and device decide.

    In the process the switches themselves are read, so the default does not matter there. NVIDIA's containers turn
    TF32 products on by a variable; their builds are known by the label of the version.
    """
    if in_process(facts):
        return UNUSED
    if not has_tf32(facts):
        return FULL
    version = facts.read("frameworks.torch.version")
    if version is None:
        return UNUSED
    if older(version, "1.7"):
        return FULL
    return f"{LOWERED} products and convolutions" if older(version, "1.12") or _of_nvidia(version) \
        else f"{FULL} with {LOWERED} convolutions"


def _of_nvidia(version: str) -> bool:
    label = local_label(version) or ""
    return label.startswith("nv") or ".nv" in label


@on_gpu
def by_variables(facts: Facts) -> Any:
    """What variables force, seen from outside: in the process the switches and their effect are read."""
    if in_process(facts):
        return UNUSED
    below, above = "NVIDIA_TF32_OVERRIDE", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE"
    if variable(facts, below) == "0":
        return Parts({below: "TF32 off everywhere"})
    try:
        on = variable(facts, above) == "1"
    except Missing as missing:
        return Parts({below: None}, missing.facts)
    return Parts({above: "TF32 products on" if on else None})


@on_gpu
def undocumented(facts: Facts) -> Any:
    """A value of ``NVIDIA_TF32_OVERRIDE`` that its maker does not explain; people set 1 and expect TF32 of it."""
    value = variable(facts, "NVIDIA_TF32_OVERRIDE")
    return "unset or 0" if value in (None, "0") else value


def _rule(rule_id: str, why: str, project: Projection, *, remedy: str, expected: Level = Level.STATISTICAL,
          effect: str = "about 1e-3 relative a product", source: tuple[str, ...] = (_PAPER,),
          confidence: str = "documented", subsumes: tuple[str, ...] = (), gathers: tuple[str, ...] = (),
          show: Callable[[Any], str] = show_value) -> Distinction:
    return Distinction(
        id=rule_id, layer="precision", cause="precision_mode", set_by=SetBy.PROGRAM, guaranteed=Level.STATISTICAL,
        expected=expected, possible=Level.BITWISE, why=why, effect=effect, remedy=remedy, confidence=confidence,
        source=source, subsumes=subsumes, gathers=gathers, project=project, show=show)


_MEASURED = "measured: five ways to ask torch 2.13 for TF32 give one state"
#: a device without TF32 cannot be given it, so the way that always leads to one arithmetic is to do without.
_OFF = ("turn TF32 off on the side that has it: torch.backends.cuda.matmul.allow_tf32 = False and "
        "torch.backends.cudnn.allow_tf32 = False")
_OFF_LAYERS = "turn TF32 off on the side that has it: torch.backends.cudnn.allow_tf32 = False"
_UNSET = "set NVIDIA_TF32_OVERRIDE and TORCH_ALLOW_TF32_CUBLAS_OVERRIDE the same on both sides, or unset them"

RULES: tuple[AnyRule, ...] = (
    _rule("tf32-matmul", "matrix products in {expected} against {observed}", resolved(products_asked),
          remedy=_OFF, source=(_PAPER, "pytorch issues 84334, 67384", _MEASURED), subsumes=("default-precision",),
          gathers=("tf32-conv", "tf32-rnn", "tf32-cudnn")),
    _rule("tf32-conv", "convolutions in {expected} against {observed}", resolved(layer_asked(_LAYERS[0])),
          remedy=_OFF_LAYERS, source=(_PAPER, _MEASURED), subsumes=("tf32-cudnn", "default-precision"),
          gathers=("tf32-rnn",)),
    _rule("tf32-rnn", "recurrent layers in {expected} against {observed}", resolved(layer_asked(_LAYERS[1])),
          remedy=_OFF_LAYERS, source=(_PAPER, _MEASURED), subsumes=("tf32-cudnn", "default-precision")),
    _rule("tf32-cudnn", "convolutions and recurrent layers in {expected} against {observed} "
          "(torch.backends.cudnn.allow_tf32)", resolved(layers_asked), remedy=_OFF_LAYERS,
          subsumes=("default-precision",)),
    _rule("tf32-override", "variables force: {expected} against {observed}", by_variables, remedy=_UNSET,
          show=show_parts("nothing"),
          source=("NVIDIA cuBLAS documentation, NVIDIA_TF32_OVERRIDE", "pytorch pull request 77114"),
          subsumes=("default-precision",)),
    _rule("tf32-override-value", "NVIDIA_TF32_OVERRIDE {expected} against {observed}", undocumented,
          remedy="unset NVIDIA_TF32_OVERRIDE on both sides", expected=Level.BITWISE, confidence="observed",
          effect="only 0 is explained by NVIDIA; another value may turn TF32 on where switches forbid it",
          source=("NVIDIA cuBLAS documentation, NVIDIA_TF32_OVERRIDE", "tokenspeed pull request 35")),
    _rule("default-precision", "by default {expected} against {observed}", default_precision, remedy=_OFF,
          source=(_PAPER, "PyTorch 1.12 release notes: TF32 products off by default",
                  "pytorch issues 53635, 78275", "transformers issue 16588",
                  "MONAI documentation, precision: NVIDIA's containers set TORCH_ALLOW_TF32_CUBLAS_OVERRIDE")),
)
