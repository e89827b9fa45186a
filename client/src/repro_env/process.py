"""The process this runs in: what is known of it between looks, the public calls, and what is said to its user.

Which moments call for a look is decided in ``watch``, or by the program with ``observe()``; what a look does is left to
``looks``, what becomes of its document to ``keeping``.
"""

from __future__ import annotations

import os
import sys

from .guard import pass_on

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .delivery import Kept
    from .memory import Memory
    from .probes.inprocess import Seen
    from .settings import Settings
    from .system import System
    from .watch import Watch

MAX_RESULTS = 256
MAX_NAME = 200


class Observation:
    """One look at this process."""

    __slots__ = ("document", "observation_id", "run_id")

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self.run_id: str | None = document["capture"]["run_id"]
        self.observation_id: str = document["capture"]["observation_id"]

    def __repr__(self) -> str:
        return f"Observation(run_id={self.run_id!r}, observation_id={self.observation_id!r})"


class State:
    """What is known of this process between looks. Making one loads nothing: it happens before the program starts."""

    def __init__(self) -> None:
        self.variables: dict[str, str] = {}  #: settings that ``repro-env run`` handed over
        self.inherited: dict[str, str] = {}  #: settings that the environment had when the run began
        self.differences: dict[str, dict[str, Any]] = {}  #: states of working trees, read before the program began
        self.made_run_id: str | None = None
        self.given_run_id: str | None = None  #: by the block that is being observed
        self.watch: Watch | None = None
        self.child = False  #: this process is a mere child of an observed one
        self.results: dict[str, str] = {}
        self.declared: dict[str, str] = {}
        self.overrides: dict[str, Any] = {}  #: project, group, labels that the program gave
        self.waiting: list[Kept] = []  #: documents that are sent at the end
        self.sequence = 0
        self.first_stack: dict[str, Any] | None = None
        self.looking = False
        self.exit_armed = False
        self.said: set[str] = set()
        self._seen: Seen | None = None
        self._memory: Memory | None = None

    @property
    def seen(self) -> Seen:
        """What the hooks noticed; made when first asked for."""
        if self._seen is None:
            from .probes.inprocess import Seen

            self._seen = Seen()
        return self._seen

    @property
    def memory(self) -> Memory:
        """What earlier looks found that lasts; made when first asked for."""
        if self._memory is None:
            from .memory import Memory

            self._memory = Memory()
            self._memory.differences.update(self.differences)
        return self._memory

    def forked(self) -> None:
        """Start counting anew in a forked child; its looks are its own."""
        self.child = True
        self.looking = False
        self.waiting = []
        self.sequence = 0
        self.first_stack = None
        self.results = {}

    def begin_run(self) -> None:
        """Forget what belongs to another run of this process; looks go on being counted."""
        self.first_stack = None
        self.results = {}
        self._seen = None

    def speaks(self) -> bool:
        """Tell whether this process may say what concerns the whole run: no child, and no other rank than the first."""
        from . import injection

        return not self.child and injection.rank_text(os.environ) in ("", "0")


STATE = State()


def observe(*, project: str | None, group: str | None, labels: dict[str, str] | None) -> Observation | None:
    """Look now, keep and send; see ``repro_env.observe``."""
    try:
        from . import looks

        given = {"project": project, "group": group, "labels": labels}
        STATE.overrides.update({name: value for name, value in given.items() if value is not None})
        document = looks.take("process", "call", deliver=True)
        _arm_exit()
        return None if document is None else Observation(document)
    except Exception as error:  # noqa: BLE001 - the guard of the host contract
        pass_on(error)
        say(f"observe: this look failed: {type(error).__name__}: {error}")
        return None


def report_result(name: str, value: Any) -> str | None:
    """Record one result digest; see ``repro_env.report_result``."""
    try:
        from .results import result_digest

        _check_name(name)
        digest = result_digest(value)
        STATE.results[name] = digest
        _arm_exit()
        return digest
    except Exception as error:  # noqa: BLE001 - the guard of the host contract
        pass_on(error)
        say(f"report_result: {error}; nothing was recorded")
        return None


def prepare() -> None:
    """Load and read beside torch's own import what a look needs and what lasts, so that the look itself is short."""
    from . import declared, delivery, looks  # noqa: F401 - loaded on purpose
    from .capture import remember
    from .guard import bounded
    from .probes import inprocess

    inprocess._groups()
    bounded(lambda: remember(system(), STATE.memory, looks.PROBES_S), looks.LOOK_S)


def note_module(torch: Any, module: Any) -> None:
    """Note one module call, and the autocast region that it was in."""
    from .probes import inprocess_model, inprocess_torch

    STATE.seen.settled = True
    STATE.seen.note_autocast(inprocess_torch.autocast(torch))
    inprocess_model.note_module(torch, module, STATE.seen)


def note_pass(torch: Any, module: Any) -> None:
    """Note that an outermost module has done its pass."""
    from .probes import inprocess_model

    STATE.seen.whole_pass = True
    inprocess_model.note_pass(torch, module, STATE.seen)


def note_region(torch: Any) -> None:
    """Note the autocast region that the calling thread is in; one that is switched off is none."""
    from .probes import inprocess_torch

    dtype = inprocess_torch.autocast(torch)
    if dtype is not None:
        STATE.seen.note_autocast(dtype)


def note_optimizer(optimizer: Any) -> None:
    """Note the first step: the pass before it was whole, and its optimizer may split its states."""
    from .probes import inprocess_sharding

    STATE.seen.whole_pass = True
    inprocess_sharding.note_optimizer(optimizer, STATE.seen)


def awaits_later_steps() -> bool:
    """Note what steps after the first settle; tell whether some of it is still to come."""
    from .probes import inprocess_distributed

    return inprocess_distributed.note_buckets(STATE.seen)


def add_stated(overrides: dict[str, Any], *, ended: bool = False) -> None:
    """Add what watchers saw and what the user declared to the facts of a look; what was read stands above.

    At the end a program that broke off says so, unless it was declared how it ended.
    """
    from . import declared

    for watcher in STATE.watch.watchers if STATE.watch is not None else ():
        declared.add(overrides, watcher.facts(), "hook")
    stated = {"exit-status": "1", **STATE.declared} if ended and broke_off() else STATE.declared
    if stated:
        declared.add(overrides, declared.facts(stated, say), "declared")


def broke_off() -> bool:
    """Tell whether an exception that nobody caught ended the program; in a notebook one ends a cell and no more."""
    return getattr(sys, "last_value", None) is not None and not hasattr(sys, "ps1") and "IPython" not in sys.modules


def system() -> System:
    """Return the machine."""
    from .system import System

    return System()


def settings_in_force() -> Settings:
    """Return the settings: what ``repro-env run`` was given stands above this process's own variables and file.

    Below them stands what the environment held when the run began, for programs that were given another one.
    """
    from .settings import load

    chosen = load(environ={**STATE.inherited, **system().environ, **STATE.variables})
    for warning in chosen.warnings:
        say(warning)
    return chosen


def run_identity() -> tuple[str | None, str | None]:
    """Return the run id and how it was learned; one that is made here is made once and stays."""
    from . import ids

    environ, now = system().environ, system().now()
    given = STATE.given_run_id or STATE.variables.get("REPRO_ENV_RUN_ID")
    if given is None and "REPRO_ENV_RUN_ID" not in environ:
        given = STATE.inherited.get("REPRO_ENV_RUN_ID")
    if given is None and STATE.made_run_id is not None:
        return STATE.made_run_id, "made"
    run_id, source = ids.run_identity(environ, now, given=given, subject="process")
    if source == "made":
        STATE.made_run_id = run_id
    return run_id, source


def say(message: str) -> None:
    """Say something once on stderr, for the person who runs the program."""
    if message not in STATE.said and sys.stderr is not None:
        STATE.said.add(message)
        try:
            sys.stderr.write(f"repro-env: {message}\n")
        except (OSError, ValueError):
            return  # a closed stderr: there is nobody to tell


def _check_name(name: Any) -> None:
    from .variables import is_token

    if not isinstance(name, str) or not name.isascii() or not name.isprintable() or not 0 < len(name) <= MAX_NAME:
        raise TypeError(f"expected a name of 1 to {MAX_NAME} printable ASCII characters, got {ascii(name)[:60]}")
    if is_token(name):
        raise TypeError("expected a name, got a text that has the shape of a credential")
    if name not in STATE.results and len(STATE.results) >= MAX_RESULTS:
        raise TypeError(f"expected at most {MAX_RESULTS} results from one process, got another named {name!r}")


def _arm_exit() -> None:
    """Take the exit look of a program that is not under ``repro-env run`` but observes itself."""
    if STATE.watch is None and not STATE.exit_armed:
        import atexit

        STATE.exit_armed = True
        atexit.register(_exit_look, os.getpid())


def _exit_look(pid: int) -> None:
    if os.getpid() != pid:
        return  # a forked child of the program that asked: its end is not the program's
    from .guard import guarded

    guarded(_look_at_the_end, "the look at the end")()


def _look_at_the_end() -> None:
    from . import looks

    looks.take("exit", "exit", deliver=True)
