"""Layer ``determinism``: switches and kernels that decide whether a program repeats."""

from __future__ import annotations

import re
from typing import Any, Callable

from ...fingerprint.facts import is_unread
from ..acting import UNUSED, all_hold, imported, in_process, of_devices, on_gpu, present, using, variable
from ..levels import Level, SetBy
from ..reading import Facts, Missing
from ..rule import RUN_IT, AnyRule, Condition, Distinction, Fails, Projection
from ..versions import older, release
from . import attention, jax_tensorflow

_DOCS = "PyTorch documentation, torch.use_deterministic_algorithms"


def gpu_torch(project: Projection) -> Projection:
    """Limit a projection to torch on an accelerator."""
    return on_gpu(using("torch")(project))


@using("torch")
def mode(facts: Facts) -> Any:
    """Deterministic mode as one value: off, warn-only or strict."""
    on = facts.read("determinism.deterministic_algorithms")
    if not on:
        return UNUSED if on is None else "off"
    return "warn only" if facts.read("determinism.warn_only") else "strict"


@on_gpu
@using("torch")
def cudnn_switches(facts: Facts) -> Any:
    """State of cuDNN: on or off, and whether convolutions are restricted, by its own switch or by that of torch."""
    if facts.read("determinism.cudnn_enabled") is False:
        return "cuDNN off"
    value = facts.read("determinism.cudnn_deterministic")
    if value is None:
        return UNUSED
    return "deterministic algorithms" if value or facts.read("determinism.deterministic_algorithms") \
        else "any algorithm"


@on_gpu
@using("torch")
def cudnn_own(facts: Facts) -> Any:
    """The switch of cuDNN by itself, which its CTC loss asks whatever torch's own says."""
    return present(facts.read("determinism.cudnn_deterministic"))


@on_gpu
@using("torch")
def workspace_size(facts: Facts) -> Any:
    """The workspace that torch gives cuBLAS, which chooses algorithms by its size.

    It is the sum of what the variable names. Unset, torch takes 32 MiB on Hopper since 2.1 and less before.
    """
    asked = _PIECES.findall(facts.read("determinism.cublas_workspace") or "")
    if asked:
        return f"{sum(int(size) * int(count) for size, count in asked)} KiB"
    version = facts.read("frameworks.torch.version")
    hopper = of_devices(facts, lambda device: device.target) == ["9.0"]
    return "32768 KiB" if hopper and version and not older(version, "2.1") else "library default"


_PIECES = re.compile(r":(\d+):(\d+)")


@on_gpu
def workspace_setting(facts: Facts) -> Any:
    """The variable as it stands, which whatever opens cuBLAS by itself reads too."""
    return facts.read("determinism.cublas_workspace") or "library default"


def changed(facts: Facts) -> Any:
    """Switches and counts that changed while the program ran: where some did, the end tells half of the run."""
    return facts.read("determinism.changed") or "nothing"


def on_accelerator(facts: Facts) -> bool:
    """Tell whether the process computed on an accelerator."""
    return facts.read("frameworks.backend") not in ("cpu", None)


def strict(facts: Facts) -> bool:
    """Tell whether torch refuses kernels that do not repeat."""
    return bool(mode(facts) == "strict")


def may_vary(facts: Facts) -> Fails | None:
    """Fail where torch may choose kernels that do not repeat: on an accelerator, outside strict mode."""
    varies = all_hold(facts, (on_accelerator, lambda side: imported(side, "torch") if in_process(side) else True,
                              lambda side: not strict(side)))
    return Fails("torch may choose kernels that do not repeat") if varies else None


def cpu_atomics(facts: Facts) -> Fails | None:
    """Fail where torch on the CPU may add with several threads in any order: index_put and scatter, accumulating."""
    varies = all_hold(facts, (lambda side: side.read("frameworks.backend") == "cpu",
                              lambda side: imported(side, "torch") if in_process(side) else True,
                              lambda side: (side.read("threads.torch_intraop") or 1) > 1,
                              lambda side: not strict(side)))
    return Fails("two or more threads may add to one place in any order") if varies else None


def known_kernels(facts: Facts) -> Fails | None:
    """Fail where the program is known to call a kernel without a deterministic form.

    The observer in the process knows what was imported: it says none for plain NumPy and for torch alone with one
    thread. Other libraries have threads of their own, whatever torch has, so where it is unread nobody can tell.
    """
    called = facts.look(_CALLED)
    if is_unread(called):
        raise Missing({_CALLED: called["unread"], **{f"{_CALLED}.{name}": called["unread"] for name in holes(facts)}})
    return Fails(", ".join(called)) if called else None


_CALLED = "determinism.nondeterministic_kernels"
#: distributions with kernels of their own that add in any order, and the variable and value that restrict them.
OUTSIDE = {
    "apex": None, "bitsandbytes": None, "causal-conv1d": ("CAUSAL_CONV1D_DETERMINISTIC", ("1",)),
    "cupy-cuda11x": None, "cupy-cuda12x": None, "deepspeed": None, "dgl": None,
    "flash-attn": ("FLASH_ATTENTION_DETERMINISTIC", ("1",)), "flash-attn-3": None, "flash-linear-attention": None,
    "liger-kernel": None, "mamba-ssm": ("MAMBA_DETERMINISTIC", ("1",)), "mmcv": None, "numba": None, "pyg-lib": None,
    "spconv": None, "torch-cluster": None, "torch-scatter": None, "torch-sparse": None,
    "transformer-engine": ("NVTE_ALLOW_NONDETERMINISTIC_ALGO", ("0",)), "vllm": ("VLLM_BATCH_INVARIANT", ("1",)),
    "xformers": None}


def holes(facts: Facts) -> list[str]:
    """Name the installed distributions that no switch of torch reaches; those that were not read are left out."""
    try:
        return [name for name, switch in OUTSIDE.items() if facts.distribution(name) is not None
                and not (switch and variable(facts, switch[0]) in switch[1])]
    except Missing:
        return []


def warn_only(facts: Facts) -> Fails | None:
    """Fail where deterministic mode only warns, on an accelerator."""
    warns = all_hold(facts, (on_accelerator, lambda side: mode(side) == "warn only"))
    return Fails("deterministic mode only warns") if warns else None


def autotuning(facts: Facts) -> Fails | None:
    """Fail where cuDNN times algorithms and takes the fastest.

    From outside nobody says whether cuDNN is on: people who report on this switch use it.
    """
    on = all_hold(facts, (
        lambda side: side.read("determinism.cudnn_benchmark") is True, _not_cpu,
        lambda side: not in_process(side) or side.read("determinism.cudnn_enabled") is not False))
    return Fails("torch.backends.cudnn.benchmark is on") if on else None


def _not_cpu(facts: Facts) -> bool:
    return facts.read("frameworks.backend") != "cpu" if in_process(facts) else True


def tunable(facts: Facts) -> Fails | None:
    """Fail where TunableOp times matrix products; told not to tune, it takes what its file says."""
    on = all_hold(facts, (lambda side: side.read("determinism.tunable_op") is True, _not_cpu,
                          lambda side: variable(side, "PYTORCH_TUNABLEOP_TUNING") != "0"))
    return Fails("TunableOp is on") if on else None


def late_workspace(facts: Facts) -> Fails | None:
    """Fail where torch before 2.10 runs strictly without the workspace variable that it needs for that."""
    lacks = all_hold(facts, (
        _not_cpu, lambda side: side.read("determinism.cublas_workspace") not in (":4096:8", ":16:8"), strict,
        lambda side: side.read("frameworks.torch.cuda_build") is not None,
        lambda side: release(side.read("frameworks.torch.version")) < (2, 10)))
    return Fails("CUBLAS_WORKSPACE_CONFIG is not set") if lacks else None


def transformer_engine(facts: Facts) -> Fails | None:
    """Fail where TransformerEngine is told that attention need not repeat; unset, it is a hole that torch leaves."""
    allowed = variable(facts, "NVTE_ALLOW_NONDETERMINISTIC_ALGO")
    return Fails("NVTE_ALLOW_NONDETERMINISTIC_ALGO=1") if allowed not in (None, "0") else None


def _condition(rule_id: str, cause: str, why: str, holds: Callable[[Facts], Fails | None], *, remedy: str,
               source: tuple[str, ...], expected: Level = Level.BITWISE, confidence: str = "documented",
               effect: str = "two runs of one program may differ from the first step on, at rounding level",
               capture_how: str = RUN_IT) -> Condition:
    return Condition(id=rule_id, layer="determinism", cause=cause, set_by=SetBy.PROGRAM, guaranteed=Level.CURVE,
                     expected=expected, possible=Level.BITWISE, why=why, effect=effect, remedy=remedy,
                     confidence=confidence, source=source, holds=holds, capture_how=capture_how)


_WORKSPACE = "export CUBLAS_WORKSPACE_CONFIG=:4096:8 on both sides, before the process starts"
_STRICT = "call torch.use_deterministic_algorithms(True) before the first step"

RULES: tuple[AnyRule, ...] = (
    Distinction(
        id="deterministic-mode", layer="determinism", cause="determinism_flags", set_by=SetBy.PROGRAM,
        guaranteed=Level.CURVE, expected=Level.CURVE, possible=Level.BITWISE,
        why="deterministic mode {expected} against {observed}",
        effect="other kernels for scatter, index and some convolutions", remedy=_STRICT + " on both sides",
        confidence="documented", source=(_DOCS,), project=mode),
    Distinction(
        id="cudnn-switches", layer="determinism", cause="determinism_flags", set_by=SetBy.PROGRAM,
        guaranteed=Level.CURVE, expected=Level.CURVE, possible=Level.BITWISE,
        why="cuDNN: {expected} against {observed}", effect="other convolution algorithms, so other rounding",
        remedy="set torch.backends.cudnn.enabled and torch.backends.cudnn.deterministic the same",
        confidence="documented", source=("PyTorch documentation, Reproducibility",
                                         "PyTorch source, ATen/native/Convolution.cpp: either switch restricts"),
        subsumes=("cudnn-deterministic",), project=cudnn_switches),
    Distinction(
        id="cudnn-deterministic", layer="determinism", cause="determinism_flags", set_by=SetBy.PROGRAM,
        guaranteed=Level.CURVE, expected=Level.BITWISE, possible=Level.BITWISE,
        why="torch.backends.cudnn.deterministic {expected} against {observed}",
        effect="where torch's own switch restricts convolutions already, seen only in the CTC loss of cuDNN",
        remedy="set torch.backends.cudnn.deterministic the same", confidence="documented",
        source=("PyTorch source, ATen/native/LossCTC.cpp",), project=cudnn_own),
    Distinction(
        id="mkldnn-enabled", layer="determinism", cause="determinism_flags", set_by=SetBy.PROGRAM,
        guaranteed=Level.CURVE, expected=Level.CURVE, possible=Level.BITWISE,
        why="oneDNN in torch {expected} against {observed}",
        effect="convolutions and linear layers run other kernels, up to 1e-4 relative after training",
        remedy="set torch.backends.mkldnn.enabled the same", confidence="proven",
        source=("measured: changes convolution and linear training on the CPU",),
        project=using("torch")(lambda facts: present(facts.read("determinism.mkldnn_enabled")))),
    Distinction(
        id="changed-while-running", layer="determinism", cause="determinism_flags", set_by=SetBy.PROGRAM,
        guaranteed=Level.STATISTICAL, expected=Level.CURVE, possible=Level.BITWISE,
        why="changed after the first step: {expected} against {observed}",
        effect="a part of the steps ran with other switches or counts than the end shows",
        remedy="set switches and thread counts once, before the first step", confidence="proven",
        source=("measured: threads lowered after two steps give other weights than few threads from the start",),
        project=changed),
    Distinction(
        id="cublas-workspace", layer="determinism", cause="determinism_flags", set_by=SetBy.PROGRAM,
        guaranteed=Level.CURVE, expected=Level.CURVE, possible=Level.BITWISE,
        why="cuBLAS workspace {expected} against {observed}",
        effect="cuBLAS chooses algorithms by the size of its workspace", remedy=_WORKSPACE, confidence="documented",
        source=("NVIDIA cuBLAS documentation, Results Reproducibility", "pytorch issue 181944",
                "PyTorch source, ATen/cuda/CublasHandlePool.cpp: size by variable and device"),
        subsumes=("cublas-workspace-setting",), project=workspace_size),
    Distinction(
        id="cublas-workspace-setting", layer="determinism", cause="determinism_flags", set_by=SetBy.PROGRAM,
        guaranteed=Level.CURVE, expected=Level.BITWISE, possible=Level.BITWISE,
        why="CUBLAS_WORKSPACE_CONFIG {expected} against {observed}",
        effect="seen only in what opens cuBLAS beside torch, or in the pieces of one size", remedy=_WORKSPACE,
        confidence="documented", source=("NVIDIA cuBLAS documentation, Results Reproducibility",),
        project=workspace_setting),
    Distinction(
        id="fill-uninitialized", layer="determinism", cause="determinism_flags", set_by=SetBy.PROGRAM,
        guaranteed=Level.CURVE, expected=Level.BITWISE, possible=Level.BITWISE,
        why="filling of uninitialised memory {expected} against {observed}",
        effect="only programs that read memory they never wrote see it",
        remedy="set torch.utils.deterministic.fill_uninitialized_memory the same", confidence="documented",
        source=("PyTorch documentation, torch.utils.deterministic",),
        project=using("torch")(lambda facts: present(facts.read("determinism.fill_uninitialized_memory"))
                               if strict(facts) else UNUSED)),
    _condition("known-nondeterministic-kernel", "nondeterministic_kernel",
               "a kernel that does not repeat: {detail} {side}",
               known_kernels, expected=Level.CURVE, confidence="observed",
               remedy="replace the kernel by a deterministic one, or compare curves over repeats",
               capture_how=_STRICT + ", or run with one thread: then the kernels need not be known",
               source=("NVIDIA framework-reproducibility, list of ops", "pytorch documentation, list of ops")),
    _condition("cudnn-autotune", "cudnn_autotune", "{detail} {side}: kernels are chosen by timing", autotuning,
               expected=Level.CURVE, remedy="set torch.backends.cudnn.benchmark = False",
               source=("PyTorch documentation, Reproducibility: cuDNN benchmarking", "pytorch issue 6351")),
    _condition("tunable-op", "cudnn_autotune", "{detail} {side}: matrix products are chosen by timing", tunable,
               expected=Level.CURVE, remedy="unset PYTORCH_TUNABLEOP_ENABLED",
               source=("PyTorch documentation, TunableOp",)),
    _condition("transformer-engine-nondeterministic", "nondeterministic_kernel", "{detail} {side}", transformer_engine,
               expected=Level.CURVE, remedy="export NVTE_ALLOW_NONDETERMINISTIC_ALGO=0", confidence="observed",
               source=("Megatron-LM issue 925",)),
    _condition("deterministic-warn-only", "determinism_flags",
               "{detail} {side}, so kernels that do not repeat still run", warn_only,
               remedy="call torch.use_deterministic_algorithms(True) without warn_only",
               source=(_DOCS, "pytorch issue 182551")),
    _condition("workspace-unset", "determinism_flags", "{detail} {side}, which strict mode needs before torch 2.10",
               late_workspace, remedy="export CUBLAS_WORKSPACE_CONFIG=:4096:8 before the process starts: without it "
               "torch raises at matrix products",
               source=("NVIDIA cuBLAS documentation, Results Reproducibility", "pytorch issue 161749")),
    _condition("nondeterministic-kernels-allowed", "nondeterministic_kernel", "{detail} {side}", may_vary,
               remedy=_STRICT, source=(_DOCS,)),
    _condition("cpu-atomics-allowed", "nondeterministic_kernel", "{detail} {side}", cpu_atomics, confidence="proven",
               remedy=_STRICT + ", or run with one thread",
               source=("measured: index_put with accumulation and two threads does not repeat",)),
    *jax_tensorflow.VARYING,
    *attention.RULES,
)
