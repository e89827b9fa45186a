"""``with repro_env.run(...)``: a block of a program that is observed without ``repro-env run``.

The block is a run of its own, whose hooks are gone when it ends; or part of the run that is observed around it: an
outer block, or the whole program under ``repro-env run``. Then what it states holds for that run from there on.
"""

from __future__ import annotations

import os

from . import process
from .guard import guarded

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from .process import Observation


class Run:
    """One observed block; ``run_id`` is known once it has begun."""

    def __init__(self, *, project: str | None, group: str | None, labels: Mapping[str, str] | None,
                 declare: Mapping[str, Any] | None, watch: Iterable[str] | str, run_id: str | None) -> None:
        self.run_id = run_id
        self._stated = {"project": project, "group": group, "labels": labels}
        self._declare = declare or {}
        self._wanted = tuple(watch.split(",")) if isinstance(watch, str) else tuple(watch)
        self._given = run_id
        self._owner: int | None = None  #: the process that this block observes; none where an outer one does
        self._before: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"Run(run_id={self.run_id!r})"

    def __enter__(self) -> Run:  # noqa: PYI034 - ``Self`` is younger than the oldest Python
        guarded(self._begin, "observing this block")()
        return self

    def __exit__(self, *_: object) -> None:
        guarded(self._end, "the look at the end of the block")()

    def observe(self) -> Observation | None:
        """Look now; see ``repro_env.observe``."""
        return process.observe(project=None, group=None, labels=None)

    def _begin(self) -> None:
        from . import declared
        from .watchers import NAMES

        state = process.STATE
        for name in self._wanted:
            if name and name not in NAMES:
                process.say(f"run: watch: expected {' or '.join(NAMES)}, got {name!r}; it is not used")
        self._before = {name: getattr(state, name) for name in ("overrides", "declared", "made_run_id")}
        stated = {name: value for name, value in self._stated.items() if value is not None}
        state.overrides = {**state.overrides, **checked(stated)}
        state.declared = {**state.declared, **declared.checked(self._declare, process.say)}
        if state.watch is None:
            self._observe_alone()
        else:
            state.watch.watch_too(self._wanted)
        self.run_id, _ = process.run_identity()

    def _observe_alone(self) -> None:
        """Begin a run: its id, its hooks."""
        from . import injection
        from .watch import Watch

        state = process.STATE
        self._owner = os.getpid()
        state.given_run_id = checked({"run_id": self._given}).get("run_id") if self._given else None
        state.begin_run()
        run_id, source = process.run_identity()
        if source == "made" and run_id is not None:
            injection.tell_children(run_id)
        settings = process.settings_in_force()
        state.watch = Watch(self._look, wanted={*self._wanted, *settings.watch})
        on_fork()
        state.watch.begin()

    def _look(self, moment: str) -> None:
        from . import looks

        process.STATE.seen.settled = True
        looks.take("process", moment, deliver=False)

    def _end(self) -> None:
        """Take the exit look and every hook away. A child that was forked in the block only leaves it."""
        from . import injection, looks

        state = process.STATE
        try:
            if self._owner is not None and state.watch is not None:
                watch = state.watch
                watch.end()
                if self._owner == os.getpid() or watch.stepped:
                    looks.take("exit", "exit", deliver=True)
        finally:
            if self._owner is not None:
                state.watch, state.given_run_id, self._owner = None, None, None
                for name, value in self._before.items():
                    setattr(state, name, value)
                injection.tell_children(None)


def checked(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that can be used; what is wrong with the others is said."""
    from .errors import UsageError
    from .settings import READERS

    kept: dict[str, Any] = {}
    for name, value in values.items():
        try:
            kept[name] = READERS[name](value)
        except UsageError as error:
            process.say(f"run: {name}: {error}; it is not used")
    return kept


_ON_FORK: list[bool] = []


def on_fork() -> None:
    """Hear of forks, once for this process; a hook of this kind cannot be taken away."""
    if not _ON_FORK:
        _ON_FORK.append(True)
        os.register_at_fork(after_in_child=guarded(_forked))


def _forked() -> None:
    state = process.STATE
    if state.watch is not None:
        state.watch.forked()
        state.forked()
