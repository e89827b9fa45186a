"""Who gets what by the name ``repro_env`` in a program under ``repro-env run``.

There this package runs under a name of its own, so that a module of the user's called ``repro_env`` stays the user's.
A program that imports ``repro_env`` to report a result gets the package that is already observing it, whether or not
its own environment has one installed.
"""

from __future__ import annotations

import os
import sys

from .import_hook import found_by_others

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAME = "repro_env"
#: files by which another copy of this package is known.
_OURS = ("injection.py", "fingerprint/facts.py")


class Finder:
    """Answers imports of ``repro_env`` and of what lies in it; the first one decides whose it is."""

    def __init__(self, package: str) -> None:
        self.package = package
        self._ours: bool | None = None

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return a spec that hands out the running module; ``None`` for what is not ours, or is run as a program."""
        if name == NAME:
            self._ours = self._is_ours(found_by_others(self, name, path, target))
        elif not name.startswith(NAME + ".") or name == f"{NAME}.__main__":
            return None
        if not self._ours:
            return None
        from importlib.machinery import ModuleSpec

        running = sys.modules[self.package]
        loader: Any = _Loader(self.package + name[len(NAME):])
        spec = ModuleSpec(name, loader, is_package=name == NAME)
        if name == NAME:
            spec.submodule_search_locations = list(running.__path__)
        return spec

    @staticmethod
    def _is_ours(spec: Any) -> bool:
        folders = list(getattr(spec, "submodule_search_locations", None) or ())
        return spec is None or any(all(os.path.exists(os.path.join(folder, file)) for file in _OURS)
                                   for folder in folders)


class _Loader:
    """Hands out a module that is there already, or loads it under its running name; changes nothing of it."""

    def __init__(self, running: str) -> None:
        self.running = running
        self._attributes: dict[str, Any] = {}

    def create_module(self, _: Any) -> Any:
        """Return the running module, noting what the import system will set on it."""
        __import__(self.running)
        module = sys.modules[self.running]
        self._attributes = {name: getattr(module, name) for name in ("__spec__", "__loader__", "__package__")}
        return module

    def exec_module(self, module: Any) -> None:
        """Set back what the import system has set."""
        for name, value in self._attributes.items():
            setattr(module, name, value)
