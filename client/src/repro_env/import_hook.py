"""Being told when a module was imported, without an import being any different for it."""

from __future__ import annotations

import sys

from .guard import guarded

#: code of this name is left out of the tracebacks of imports that fail.
_UNSHOWN = "<frozen importlib._bootstrap_external>"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def found_by_others(own: Any, name: str, path: Any, target: Any) -> Any:
    """Return the spec that the finders beside ``own`` give for a module; ``None`` where none has it."""
    for finder in list(sys.meta_path):
        find = getattr(finder, "find_spec", None)
        if finder is not own and find is not None:
            spec = find(name, path, target)
            if spec is not None:
                return spec
    return None


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
            spec = found_by_others(self, name, path, target)
        finally:
            self._busy = False
        if spec is not None and spec.loader is not None:
            self._listen(name, spec.loader)
        return spec

    def _listen(self, name: str, loader: Any) -> None:
        original = getattr(loader, "exec_module", None)
        if original is None:
            return

        def exec_module(module: Any) -> None:
            del loader.exec_module
            original(module)
            self._done(name, module)

        exec_module.__code__ = exec_module.__code__.replace(co_filename=_UNSHOWN)
        try:
            loader.exec_module = exec_module
        except AttributeError:
            return  # a loader with fixed attributes: this program is looked at when it ends

    def leave(self) -> None:
        """Stop waiting."""
        self.callbacks.clear()
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def _done(self, name: str, module: Any) -> None:
        callback = self.callbacks.pop(name, None)
        if not self.callbacks:
            self.leave()
        if callback is not None:
            guarded(callback)(module)
