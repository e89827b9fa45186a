"""Modes of the model as its forward passes show them: training, batch norm, attention; and the wrappers around it.

``note_module`` is called after every forward call of every module until the first step, so it must cost next to
nothing: a module of a kind that tells nothing is known by its type at one look-up. Modules are held weakly.
"""

from __future__ import annotations

from ..fingerprint.facts import unread
from . import inprocess_compile, inprocess_torch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..system import System
    from .inprocess import Readings, Seen

#: class of a wrapper, the package that it comes from, and what it is called here.
_WRAPPERS = (("DistributedDataParallel", "torch", "ddp"), ("DataParallel", "torch", "dp"),
             ("FullyShardedDataParallel", "torch", "fsdp"), ("FullyShardedDataParallel", "fairscale", "fsdp"),
             ("FSDPModule", "torch", "fsdp2"), ("DeepSpeedEngine", "deepspeed", "deepspeed"),
             ("DistributedDataParallel", "megatron", "megatron"))
#: wrappers that are kept for the look; a model may have one around every layer.
MAX_WRAPPERS = 256


class Modules:
    """What the forward calls of this process showed."""

    __slots__ = ("attention", "kinds", "norms", "outermost", "passes", "training", "wrappers")

    def __init__(self) -> None:
        self.kinds: dict[type, str] = {}  #: what each type seen is: plain, batch-norm, or a wrapper
        #: mode of the module that returned last and holds others or parameters, by gradients on or off
        self.training: dict[bool, bool] = {}
        self.passes: dict[bool, set[bool]] = {True: set(), False: set()}  #: modes of whole passes, likewise
        self.norms: dict[bool, set[str]] = {True: set(), False: set()}  #: modes of batch norm, by gradients on or off
        self.attention: set[str] = set()
        self.wrappers: dict[int, tuple[str, Any]] = {}  #: kind and weak reference by identity
        self.outermost: Any = None  #: weak reference to the module that ``training`` is of


def note_module(torch: Any, module: Any, seen: Seen) -> None:
    """Note one forward call of ``module``."""
    modules = seen.modules
    if modules is None:
        modules = seen.modules = Modules()
    kind = modules.kinds.get(type(module))
    if kind is None:
        kind = modules.kinds[type(module)] = kind_of(torch, module)
        _note_attention(module, modules)
    if kind != "plain":
        _note_kind(torch, kind, module, modules)
    if module._modules or module._parameters:
        import weakref

        gradients = torch.is_grad_enabled()
        modules.training[gradients] = module.training
        if gradients or True not in modules.training:
            modules.outermost = weakref.ref(module)


def note_pass(torch: Any, module: Any, seen: Seen) -> None:
    """Note that the pass of an outermost module has ended; losses and the like are no models."""
    if seen.modules is not None and (module._modules or module._parameters):
        seen.modules.passes[torch.is_grad_enabled()].add(module.training)


def kind_of(torch: Any, module: Any) -> str:
    """Return what a module is, by the classes it is made of."""
    if isinstance(module, torch.nn.modules.batchnorm._BatchNorm):
        return "batch-norm"
    for base in type(module).__mro__:
        for name, package, kind in _WRAPPERS:
            if base.__name__ == name and base.__module__.partition(".")[0] == package:
                return kind
    return "plain"


def _note_kind(torch: Any, kind: str, module: Any, modules: Modules) -> None:
    if kind == "batch-norm":
        modules.norms[torch.is_grad_enabled()].add(norm_mode(module))
    elif id(module) not in modules.wrappers and len(modules.wrappers) < MAX_WRAPPERS:
        import weakref

        modules.wrappers[id(module)] = (kind, weakref.ref(module))


def norm_mode(module: Any) -> str:
    """Return whose statistics a batch norm uses: those it keeps, of its batch, or of the batches of all ranks."""
    if not module.training and module.running_mean is not None:
        return "eval"
    return "sync" if "sync" in type(module).__name__.lower() else "train"


def _note_attention(module: Any, modules: Modules) -> None:
    """Note the implementation that a model's configuration names, as Hugging Face models have it."""
    chosen = getattr(module.__dict__.get("config"), "_attn_implementation", None)
    if isinstance(chosen, str) and chosen.isascii():
        modules.attention.add(chosen)


def wrappers(seen: Seen, *kinds: str) -> list[Any]:
    """Return the wrappers of these kinds that were seen and are still alive."""
    held = [] if seen.modules is None else list(seen.modules.wrappers.values())
    return [module for module in (reference() for kind, reference in held if kind in kinds) if module is not None]


def complete(modules: Any, seen: Seen) -> bool:
    """Tell whether every forward call up to the first step, or to the end, was noted: compiled ones are not."""
    return seen.modules is not None and seen.whole_pass and not inprocess_compile.compiled(modules)


def mode(noted: Modules) -> Any:
    """Return the mode of what was trained, or of what computed where nothing was; a teacher without gradients is not.

    Where several models computed with gradients in both modes, which of them is meant nobody can tell.
    """
    gradients = True in noted.training
    modes = noted.passes[gradients] or {noted.training[gradients]}
    return next(iter(modes)) if len(modes) == 1 else unread("not-reported")


def read(system: System, seen: Seen, readings: Readings) -> None:
    """Record the modes; nothing when no forward call was noted."""
    modules = system.loaded_modules()
    if seen.modules is None or inprocess_torch.imported(modules) is None:
        return
    whole = complete(modules, seen)
    early = unread("not-reported" if seen.whole_pass else "too-early")
    noted: Modules = seen.modules
    if noted.training:
        readings.put("program.model.training", "hook", mode(noted) if whole else early)
    norms = noted.norms[bool(noted.norms[True]) or True in noted.training]
    readings.put("program.model.batch_norm", "hook", (", ".join(sorted(norms)) or None) if whole else early)
    if noted.attention:
        readings.put("program.model.attention", "hook", ", ".join(sorted(noted.attention)))
