"""A program under ``repro-env run``, from before its first line to its end.

Owns what belongs to the process as a whole: settings handed over, children, forks, the exit look. Torch's moments are
left to ``watch``.
"""

from __future__ import annotations

import atexit
import os
import sys

from . import injection, process
from .guard import guarded
from .watch import Watch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def begin(packed: str, folder: str) -> None:
    """Observe this process under the settings of the run."""
    values = injection.unpack(packed)
    state = process.STATE
    state.variables = {name: value for name, value in values.items() if name.startswith("REPRO_ENV_")}
    state.inherited = injection.under(values, injection.INHERITED)
    state.declared = injection.under(values, injection.DECLARED)
    state.differences = injection.differences(values)
    state.made_run_id = values.get("made_run_id")
    Injected(values, folder).begin()


class Injected:
    """One observed process."""

    def __init__(self, values: dict[str, str], folder: str) -> None:
        self.state = process.STATE
        self.state.child = injection.is_child(values)
        self.children = injection.Children(values, folder)
        self.over = False
        self.state.watch = self.watch = Watch(self.look, forward=not self.state.child, wanted=wanted(values))

    def begin(self) -> None:
        """Install the hooks."""
        self.children.begin()
        self.watch.begin()
        os.register_at_fork(after_in_child=guarded(self.forked))
        atexit.register(guarded(self.ended, "the look at the end"))

    def forked(self) -> None:
        """A forked child is a mere child."""
        self.over = False
        self.watch.forked()
        self.state.forked()

    def look(self, moment: str) -> None:
        """Look at a moment of torch's; what the document says of threads and libraries holds from now on."""
        from . import looks

        self.state.seen.settled = True
        if self.state.child:
            self._hear_of_the_end()
        looks.take("process", moment, deliver=False)

    def _hear_of_the_end(self) -> None:
        """Take the exit look also in a child of multiprocessing, which ends without the interpreter's exit handlers."""
        module: Any = sys.modules.get("multiprocessing.process")
        util: Any = sys.modules.get("multiprocessing.util")
        if module is not None and util is not None and module.parent_process() is not None:
            util.Finalize(None, guarded(self.ended, "the look at the end"), exitpriority=-100)

    def ended(self) -> None:
        """The exit look. A mere child that never stepped, and a launcher of ranks, are not the program."""
        if self.over or (self.state.child and not self.watch.stepped) or self.children.starts_ranks:
            return
        from . import looks

        self.over = True
        looks.take("exit", "exit", deliver=True)


def wanted(values: dict[str, str]) -> tuple[str, ...]:
    """Return what is to be watched beyond the usual."""
    text = values.get("REPRO_ENV_WATCH") or values.get(injection.INHERITED + "REPRO_ENV_WATCH", "")
    return tuple(text.split(","))
