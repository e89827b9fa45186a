"""Watching a process compute: when to look, and how not to be noticed.

Owns torch's hooks: its import, the first optimizer step, forward passes and autocast before it, the beginning of
compilation. What a look does is left to ``looks``; whose process it is, and when it ends, to ``injected`` and
``block``. Every entry from the host passes the guard.
"""

from __future__ import annotations

import _thread
import atexit
import sys

from . import watchers
from .guard import guarded
from .import_hook import ImportHook
from .regions import Regions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

_DYNAMO = "torch._dynamo.eval_frame"
#: module calls that are watched before the first step; after so many the rest is taken to be like them.
MODULE_CALLS = 20_000
#: steps after the first in which what is settled only then is waited for; the model may be gone before the end.
LATER_STEPS = 10


class Watch:
    """The hooks of one process. ``look`` is called with the moment, once for each."""

    def __init__(self, look: Callable[[str], None], *, forward: bool = True, wanted: Iterable[str] = ()) -> None:
        self.look = look
        self.forward = forward  #: whether a pass without gradients calls for a look: that of a mere child does not
        self.looked = False
        self.stepped = False
        self.watchers = watchers.chosen(wanted)
        self._calls_left = MODULE_CALLS
        self._later_steps = LATER_STEPS
        self._outermost: int | None = None
        self._thread = 0
        self._handles: list[Any] = []
        self._forward_handles: list[Any] = []
        self._import_hook: ImportHook | None = None
        self._uncompile: Callable[[], None] | None = None
        self._regions = Regions(_note_region)

    def begin(self) -> None:
        """Install the hooks, or wait for torch to be imported."""
        waited = {"torch": self.torch_imported, _DYNAMO: self.dynamo_imported, "jax": self.jax_imported}
        torch = sys.modules.get("torch")
        if torch is not None and "torch.optim.optimizer" in sys.modules:
            del waited["torch"]
            guarded(self.torch_imported)(torch)
        if _DYNAMO in sys.modules:
            del waited[_DYNAMO]
            guarded(self.dynamo_imported)(sys.modules[_DYNAMO])
        if hasattr(sys.modules.get("jax"), "jit"):
            del waited["jax"]
            guarded(self.jax_imported)(sys.modules["jax"])
        if waited:
            self._import_hook = ImportHook(waited)
            sys.meta_path.insert(0, self._import_hook)

    def end(self) -> None:
        """Take every hook away again."""
        if self._import_hook is not None:
            self._import_hook.leave()
        atexit.unregister(_note_jax)
        for handle in self._handles:
            handle.remove()
        self._handles = []
        self._leave_forward()
        self._regions.end()
        self._end_watchers()
        if self._uncompile is not None:
            self._uncompile()

    def forked(self) -> None:
        """A forked child is watched for steps of its own only."""
        self.stepped = self.forward = False
        self._outermost = None
        self._end_watchers()

    def watch_too(self, wanted: Iterable[str]) -> None:
        """Add watchers that are asked for only now."""
        have = {type(watcher) for watcher in self.watchers}
        added = [watcher for watcher in watchers.chosen(wanted) if type(watcher) not in have]
        self.watchers += added
        if self._thread:
            for watcher in added:
                guarded(watcher.begin)(sys.modules["torch"])

    def torch_imported(self, torch: Any) -> None:
        """Register torch's global hooks, and note the generator's state before the program can seed it."""
        from . import process

        self._thread = _thread.get_ident()
        process.STATE.seen.torch_seed_at_import = torch.default_generator.initial_seed()
        optimizer = sys.modules.get("torch.optim.optimizer")
        register = getattr(optimizer, "register_optimizer_step_post_hook", None)
        if register is not None:
            self._handles.append(register(self._after_step))
        modules = sys.modules["torch.nn.modules.module"]
        self._forward_handles = [modules.register_module_forward_pre_hook(self._before_forward),
                                 modules.register_module_forward_hook(self._after_forward)]
        self._regions.begin(torch)
        for watcher in self.watchers:
            guarded(watcher.begin)(torch)
        process.prepare()

    def jax_imported(self, *_: Any) -> None:
        """Have noted what JAX started: its own exit handler, older than the one made here, takes it down."""
        atexit.register(_note_jax)

    def dynamo_imported(self, eval_frame: Any) -> None:
        """Stop watching forward passes when the program compiles: torch warns of global hooks on compiled modules."""
        context = getattr(eval_frame, "OptimizeContext", None)
        if context is None or getattr(eval_frame, "cached_backends", None):  # it may have compiled already, or has
            self._compiling()
            return
        original = context.__init__

        def restore() -> None:
            """Leave the class as it was; once is enough."""
            self._uncompile = None
            if context.__init__ is begin_compiling:
                context.__init__ = original

        def begin_compiling(*arguments: Any, **options: Any) -> None:
            """Leave, restore the class as it was, and go on."""
            restore()
            guarded(self._compiling)()
            original(*arguments, **options)

        context.__init__ = begin_compiling
        self._uncompile = restore

    def _compiling(self) -> None:
        from . import process

        self._leave_forward()
        self._regions.end()
        for watcher in self.watchers:
            watcher.compiling()
        if not self.stepped:
            process.STATE.seen.forget_autocast()

    def _after_step(self, optimizer: Any = None, *_: Any) -> None:
        """Torch's global hook after ``Optimizer.step``. It stays registered: removing it here breaks torch's loop."""
        if self.stepped:
            if self.watchers:
                self._end_watchers()
            if self._later_steps > 0:
                self._later_steps -= 1
                guarded(self._later_step)()
            return
        self.stepped = True
        guarded(self._step_done)(optimizer)
        self._take("first-step")

    def _later_step(self) -> None:
        from . import process

        if not process.awaits_later_steps():
            self._later_steps = 0

    def _step_done(self, optimizer: Any) -> None:
        from . import process

        process.note_optimizer(optimizer)
        self._leave_forward()
        self._regions.end()
        self._told_elsewhere()
        for watcher in self.watchers:
            watcher.step_done()

    def _before_forward(self, module: Any, *_: Any) -> None:
        """Torch's global hook before a forward pass: the outermost module is the one whose end counts."""
        if self._outermost is None:
            self._outermost = id(module)  # no reference: a pass that raised never ends

    def _after_forward(self, module: Any, *_: Any) -> None:
        """Torch's global hook after a forward pass: note it; without gradients no step is to be expected."""
        guarded(self._note_forward)(module)

    def _note_forward(self, module: Any) -> None:
        from . import process

        torch = sys.modules["torch"]
        process.note_module(torch, module)
        self._told_elsewhere()
        self._calls_left -= 1
        if id(module) == self._outermost:
            self._outermost = None
            process.note_pass(torch, module)
            if self.forward and not self.looked and not torch.is_grad_enabled():
                self._take("first-forward")
        if self._calls_left <= 0:
            self._leave_forward()

    def _told_elsewhere(self) -> None:
        if self.watchers and _thread.get_ident() != self._thread:
            for watcher in self.watchers:
                watcher.elsewhere()

    def _leave_forward(self) -> None:
        handles, self._forward_handles = self._forward_handles, []
        self._outermost = None
        for handle in handles:
            handle.remove()

    def _end_watchers(self) -> None:
        for watcher in self.watchers:
            guarded(watcher.end)()

    def _take(self, moment: str) -> None:
        self.looked = True
        guarded(self.look)(moment)


def _note_region(torch: Any) -> None:
    """Note the autocast region that the program has just entered."""
    from . import process

    process.note_region(torch)


@guarded
def _note_jax() -> None:
    """Note what JAX has started, before its exit handler runs."""
    from . import process
    from .probes import inprocess_jax
    from .system import System

    inprocess_jax.note(System(), sys.modules, process.STATE.seen)
