"""Watching a program from its first line to its end: when to look, and how not to be noticed.

Owns the hooks: the import of torch, the first optimizer step, forward passes before it, the end of the process.
What a look does is left to ``process``. Every entry from the host passes the one guard here.
"""

from __future__ import annotations

import atexit
import os
import sys

from . import injection

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_DYNAMO = "torch._dynamo.eval_frame"


def guarded(function: Callable[..., None]) -> Callable[..., None]:
    """Return ``function`` as the host may call it: whatever fails inside is said once on stderr and goes no further."""
    def call(*arguments: Any) -> None:
        try:
            function(*arguments)
        except Exception as error:  # noqa: BLE001 - the guard of the host contract
            from . import process

            process.say(f"this look failed: {type(error).__name__}: {error}")

    return call


class Watch:
    """The hooks of one process."""

    def __init__(self, values: dict[str, str], folder: str) -> None:
        self.child = injection.is_child(values)
        self.children = injection.Children(values, folder)
        self.looked = False
        self.stepped = False
        self._forward_handle: Any = None

    def begin(self) -> None:
        """Install the hooks that need no torch."""
        self.children.begin()
        sys.meta_path.insert(0, ImportHook({"torch": self.torch_imported, _DYNAMO: self.dynamo_imported}))
        os.register_at_fork(after_in_child=guarded(self.forked))
        atexit.register(guarded(self.ended))

    def forked(self) -> None:
        """A forked child is watched for steps of its own only."""
        self.child = True
        self.stepped = False
        from . import process

        process.STATE.forked()

    def torch_imported(self, torch: Any) -> None:
        """Register torch's global hooks, and note the generator's state before the program can seed it."""
        from . import process

        seen = process.STATE.seen
        seen.torch_seed_at_import = torch.default_generator.initial_seed()
        optimizer = sys.modules.get("torch.optim.optimizer")
        register = getattr(optimizer, "register_optimizer_step_post_hook", None)
        if register is not None:
            register(self._after_step)
        if not self.child:
            modules = sys.modules["torch.nn.modules.module"]
            self._forward_handle = modules.register_module_forward_hook(self._after_forward)

    def dynamo_imported(self, eval_frame: Any) -> None:
        """Stop watching forward passes when the program compiles: torch warns of global hooks on compiled modules."""
        context = getattr(eval_frame, "OptimizeContext", None)
        if context is None:
            self._leave_forward()
            return
        original = context.__init__

        def begin_compiling(*arguments: Any, **options: Any) -> None:
            """Leave, restore the class as it was, and go on."""
            context.__init__ = original
            self._leave_forward()
            from . import process

            process.STATE.seen.forget_autocast()
            original(*arguments, **options)

        context.__init__ = begin_compiling

    def _after_step(self, *_: Any) -> None:
        """Torch's global hook after ``Optimizer.step``. It stays registered: removing it here breaks torch's loop."""
        if not self.stepped:
            self.stepped = True
            self._leave_forward()
            self._look("first-step")

    def _after_forward(self, *_: Any) -> None:
        """Torch's global hook after a forward pass: note autocast; without gradients no step is to be expected."""
        guarded(self._note_forward)()

    def _note_forward(self) -> None:
        from . import process
        from .probes import inprocess_torch

        torch = sys.modules["torch"]
        process.STATE.seen.settled = True
        process.STATE.seen.note_autocast(inprocess_torch.autocast(torch))
        if not torch.is_grad_enabled() and not self.looked:
            self._look("first-forward")

    def _leave_forward(self) -> None:
        handle, self._forward_handle = self._forward_handle, None
        if handle is not None:
            handle.remove()

    def _look(self, moment: str) -> None:
        self.looked = True
        guarded(self._take)("process", moment)

    def _take(self, vantage: str, moment: str) -> None:
        from . import process

        process.STATE.seen.settled = True
        process.keep(process.look(vantage, moment), send=vantage == "exit")

    def ended(self) -> None:
        """The exit look. A mere child that never stepped, and a launcher of ranks, are not the program."""
        if (self.child and not self.stepped) or self.children.starts_ranks:
            return
        self._take("exit", "exit")


class ImportHook:
    """Calls back after a module was executed; finds nothing itself, and leaves loader and spec as they were."""

    def __init__(self, callbacks: dict[str, Callable[[Any], None]]) -> None:
        self.callbacks = callbacks
        self._busy = False

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the spec that the other finders give, its loader set to call back once."""
        if self._busy or name not in self.callbacks:
            return None
        self._busy = True
        try:
            spec = self._others(name, path, target)
        finally:
            self._busy = False
        if spec is not None and spec.loader is not None:
            self._listen(name, spec.loader)
        return spec

    def _others(self, name: str, path: Any, target: Any) -> Any:
        for finder in list(sys.meta_path):
            find = getattr(finder, "find_spec", None)
            if finder is not self and find is not None:
                spec = find(name, path, target)
                if spec is not None:
                    return spec
        return None

    def _listen(self, name: str, loader: Any) -> None:
        original = getattr(loader, "exec_module", None)
        if original is None:
            return

        def exec_module(module: Any) -> None:
            del loader.exec_module
            original(module)
            self._done(name, module)

        try:
            loader.exec_module = exec_module
        except AttributeError:
            return  # a loader with fixed attributes: this program is looked at when it ends

    def _done(self, name: str, module: Any) -> None:
        callback = self.callbacks.pop(name, None)
        if not self.callbacks and self in sys.meta_path:
            sys.meta_path.remove(self)
        if callback is not None:
            guarded(callback)(module)


def begin(packed: str, folder: str) -> None:
    """Watch this process under the settings of the run."""
    from . import process

    values = injection.unpack(packed)
    process.STATE.variables = {name: value for name, value in values.items() if name.startswith("REPRO_ENV_")}
    process.STATE.inherited = {name[len(injection.INHERITED):]: value for name, value in values.items()
                               if name.startswith(injection.INHERITED)}
    process.STATE.made_run_id = values.get("made_run_id")
    watch = Watch(values, folder)
    process.STATE.watch = watch
    watch.begin()
