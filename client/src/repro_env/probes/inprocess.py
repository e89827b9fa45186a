"""Facts that only the running process knows, read from what it has already loaded.

Imports nothing on the program's behalf, changes no state, never raises: each fact is read under one guard, so a
reader that fails costs its own fact only. What torch, NumPy and the thread pools say lies in the modules beside this
one; which of it may be believed at which moment is decided here.
"""

from __future__ import annotations

import _thread

from ..fingerprint.facts import is_unread, unread
from ..guard import pass_on

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from ..system import System

#: facts that are only fixed once the program has computed.
_TOO_EARLY = ("threads.torch_intraop", "threads.torch_interop", "threads.openmp", "threads.mkl", "threads.blas_pools",
              "threads.openmp_pools", "program.model.compile", "determinism.inductor", "determinism.compile_cache")
#: sections whose facts a program may change while it runs.
_CHANGING = ("precision.", "determinism.", "threads.")
#: facts among them that grow as the program goes on, which nobody switches: what was compiled and chosen, and the order
#: of attention's kernels, which torch fits to the device when it first computes attention.
_GROWING = ("determinism.compile_cache", "determinism.inductor", "determinism.nondeterministic_kernels",
            "determinism.sdp_priority")


#: facts that each thread has for itself: those of the thread that was seen to compute count.
_OF_THREAD = ("precision.flush_to_zero", "threads.openmp", "threads.openmp_pools")


class Seen:
    """What the hooks of a watched process noticed before the look; ``observe()`` alone knows nothing of it."""

    __slots__ = ("at_first_step", "autocast", "group", "jax", "layout", "meshes", "modules", "of_thread", "rank",
                 "settled", "sharded_optimizer", "thread", "torch_seed_at_import", "whole_pass")

    def __init__(self) -> None:
        self.settled = False  #: the program has computed: a step, a forward pass, or it is over
        self.whole_pass = False  #: a forward pass of an outermost module came to its end, or an optimizer stepped
        self.torch_seed_at_import: int | None = None
        self.autocast: Any = unread("not-reported")
        self.group: tuple[str, int] | None = None  #: backend and size of the process group, also once it was left
        self.rank: int | None = None  #: in that group
        self.jax: dict[str, Any] = {}  #: what JAX had started, see ``inprocess_jax``, also once it was taken down
        self.modules: Any = None  #: what forward calls showed, see ``inprocess_model``
        self.meshes: dict[int, Any] = {}  #: device meshes that parameters of the first step lie on, by identity
        self.sharded_optimizer = False  #: the optimizer that stepped keeps its states in shards
        self.layout: dict[str, Any] = {}  #: facts of program.layout, also once process group and model are gone
        self.at_first_step: dict[str, Any] | None = None  #: switches and counts at the first look that counts

        self.thread: int | None = None  #: that of the first look that counts
        self.of_thread: dict[str, Any] = {}  #: what it had for itself

    def note_thread(self, facts: dict[str, Any]) -> None:
        """Note what the thread of the first look that counts has for itself; a look in another one keeps to that."""
        here = _thread.get_ident()
        if self.thread is None:
            self.thread, self.of_thread = here, {path: facts[path] for path in _OF_THREAD if path in facts}
        elif self.thread != here:
            facts.update(self.of_thread)

    def note_autocast(self, dtype: str | None) -> None:
        """Note the autocast region of one forward pass; a dtype once seen stays."""
        if dtype is not None or is_unread(self.autocast):
            self.autocast = dtype

    def forget_autocast(self) -> None:
        """Forward passes are no longer watched: that none was under autocast so far says nothing any more."""
        if self.autocast is None:
            self.autocast = unread("not-reported")

    def changed(self, facts: dict[str, Any]) -> Any:
        """Return the switches and counts that are others than at the first step, each with its value there.

        What appeared only later (a library, a thread pool) is no change: it is judged as if it had been there.
        """
        if not self.settled:
            return unread("too-early")
        now = {name: value for path, whole in facts.items() if path.startswith(_CHANGING) and path not in _GROWING
               for name, value in _parts(path, whole)}
        if self.at_first_step is None:
            self.at_first_step = now
        return [f"{path}: {str(value).lower() if isinstance(value, bool) else value}"
                for path, value in sorted(self.at_first_step.items()) if now.get(path, value) != value]


def _parts(path: str, value: Any) -> Iterable[tuple[str, Any]]:
    """Yield a switch or count with its path; each entry of a mapping, a list of names as one text."""
    if isinstance(value, dict) and not is_unread(value):
        yield from ((f"{path}.{name}", item) for name, item in value.items() if isinstance(item, (bool, int, str)))
    elif isinstance(value, list) and all(isinstance(item, str) for item in value):
        yield path, ", ".join(value)
    elif isinstance(value, (bool, int, str)):
        yield path, value


class Readings:
    """Facts by dotted path, their sources, and what failed."""

    __slots__ = ("errors", "facts", "sources")

    def __init__(self) -> None:
        self.facts: dict[str, Any] = {}
        self.sources: dict[str, str] = {}
        self.errors: list[dict[str, str]] = []

    def put(self, path: str, source: str, value: Any) -> None:
        """Record one fact; a tuple becomes a list."""
        self.facts[path] = list(value) if isinstance(value, tuple) else value
        self.sources[path] = source

    def attempt(self, path: str, source: str, look: Callable[[], Any]) -> None:
        """Read one fact under guard: what raises is unread ``failed``, with the kind of error in words."""
        try:
            value = look()
        except Exception as error:  # noqa: BLE001 - the guard of the host contract: no reader reaches the program
            pass_on(error)
            self.errors.append({"path": path, "code": "failed", "message": f"reading raised {type(error).__name__}"})
            value = unread("failed")
        self.put(path, source, value)

    def attempt_all(self, table: Iterable[tuple[str, str, Callable[[Any], Any]]], subject: Any) -> None:
        """Read every line of a table from ``subject``."""
        for path, source, look in table:
            self.attempt(path, source, lambda look=look: look(subject))  # type: ignore[misc]  # bound at definition

    def fail(self, path: str, error: Exception) -> None:
        """Record that a whole group of looks failed."""
        pass_on(error)
        self.errors.append({"path": path, "code": "failed", "message": f"reading raised {type(error).__name__}"})


def read(system: System, seen: Seen) -> Readings:
    """Return every fact the calling process can tell of itself, in the calling thread."""
    readings = Readings()
    for path, group in _groups():
        try:
            group(system, seen, readings)
        except Exception as error:  # noqa: BLE001 - as above, for what lies between two facts
            readings.fail(path, error)
        if seen.thread is not None:
            seen.note_thread(readings.facts)
    if seen.settled:
        seen.note_thread(readings.facts)
    readings.put("determinism.changed", "torch", seen.changed(readings.facts))
    if not seen.settled:
        _withhold_early(readings)
    return readings


def _groups() -> tuple[tuple[str, Callable[[System, Seen, Readings], None]], ...]:
    """Return the groups of looks, each with the section that it is for in the main."""
    from . import (
        inprocess_compile,
        inprocess_distributed,
        inprocess_jax,
        inprocess_libraries,
        inprocess_mapped,
        inprocess_model,
        inprocess_numpy,
        inprocess_pools,
        inprocess_python,
        inprocess_ranks,
        inprocess_tensorflow,
        inprocess_torch,
    )

    return (("frameworks", inprocess_python.read), ("precision", inprocess_torch.read),
            ("precision", inprocess_jax.read), ("precision", inprocess_tensorflow.read),
            ("program.layout", inprocess_distributed.read), ("program.layout", inprocess_ranks.read),
            ("determinism.inductor", inprocess_compile.read),
            ("program.model", inprocess_model.read), ("cpu", inprocess_numpy.read),
            ("libraries", inprocess_libraries.read), ("threads", inprocess_pools.read),
            ("determinism", inprocess_mapped.read))


def _withhold_early(readings: Readings) -> None:
    """Counts and "not loaded" hold only once the program has computed."""
    for path in _TOO_EARLY:
        if path in readings.facts:
            readings.facts[path] = unread("too-early")
    for path, value in readings.facts.items():
        if (path.endswith(".imported") and value is False) or (path.startswith("libraries.") and value is None):
            readings.facts[path] = unread("too-early")
