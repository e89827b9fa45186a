"""Observing the process this runs in: looks, drift between them, reported results, keeping and sending.

Owns the state of one observed process. Which moments call for a look is decided in ``watch``, or by the program with
``observe()``; reading is left to ``capture`` and ``probes``, files to ``spool``, the network to ``transport``.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .probes.inprocess import Readings
    from .settings import Settings
    from .watch import Watch

#: seconds one look may take.
LOOK_BUDGET_S = 1.0
MAX_RESULTS = 256
MAX_NAME = 200
#: the fact that sums up drift for the rules; it is none itself.
CHANGED = "determinism.changed"


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
    """What is known of this process between looks."""

    def __init__(self) -> None:
        from .probes.inprocess import Seen

        self.seen = Seen()
        self.variables: dict[str, str] = {}  #: settings that ``repro-env run`` handed over
        self.inherited: dict[str, str] = {}  #: settings that the environment had when the run began
        self.made_run_id: str | None = None
        self.watch: Watch | None = None
        self.results: dict[str, str] = {}
        self.overrides: dict[str, Any] = {}  #: project, group, labels that the program gave
        self.sequence = 0
        self.first_stack: dict[str, Any] | None = None
        self.exit_armed = False
        self.said: set[str] = set()

    def forked(self) -> None:
        """Start counting anew in a forked child; its looks are its own."""
        self.sequence = 0
        self.first_stack = None
        self.results = {}


STATE = State()


def observe(*, project: str | None, group: str | None, labels: dict[str, str] | None) -> Observation | None:
    """Look now, keep and send; see ``repro_env.observe``."""
    try:
        given = {"project": project, "group": group, "labels": labels}
        STATE.overrides.update({name: value for name, value in given.items() if value is not None})
        document = look("process", "call")
        keep(document, send=True)
        _arm_exit()
        return Observation(document)
    except Exception as error:  # noqa: BLE001 - the guard of the host contract
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
        say(f"report_result: {error}; nothing was recorded")
        return None


def look(vantage: str, moment: str) -> dict[str, Any]:
    """Return the document of one look at this process."""
    from .capture import capture
    from .probes import inprocess
    from .system import System

    system = System()
    chosen = settings_in_force()
    run_id, source = run_identity(system)
    if vantage == "exit":
        STATE.seen.settled = True
    overrides = sections(inprocess.read(system, STATE.seen))
    overrides["capture"] = {"results": dict(STATE.results), "run_id_source": source}
    document = capture(
        system, vantage=vantage, subject="process", budget_s=LOOK_BUDGET_S, run_id=run_id,
        project=STATE.overrides.get("project", chosen.project), group=STATE.overrides.get("group", chosen.group),
        labels={**chosen.labels, **STATE.overrides.get("labels", {})}, sequence=STATE.sequence, moment=moment,
        overrides=overrides)
    STATE.sequence += 1
    if STATE.first_stack is None:
        STATE.first_stack = document["stack"]
    elif vantage == "exit":
        document["capture"]["drift"] = drift(STATE.first_stack, document["stack"])
    return document


def keep(document: dict[str, Any], *, send: bool) -> None:
    """Keep a document durably; send it too where the moment allows. What goes wrong is said once on stderr."""
    from .delivery import LOST, REFUSED, deliver

    chosen = settings_in_force()
    try:
        outcome = deliver(document, chosen, timeout_s=chosen.timeout_s, send=send)
    except RuntimeError as error:
        if "thread" not in str(error):
            raise
        # Python 3.12.0 and 3.12.1 start no thread at exit (CPython issue 113964); by then the document is kept.
        say(f"the observation waits for repro-env sync: {error}")
        return
    if outcome.problem is not None:
        lost = {LOST: "the observation is lost", REFUSED: "the observation was set aside"}
        say(f"{lost.get(outcome.state, 'the observation waits for repro-env sync')}: {outcome.problem}")
    receipt = outcome.receipt or {}
    for warning in receipt.get("warnings", ()):
        say(warning_text(warning))
    for note in receipt.get("notes", ()):
        say(f"note: {note}")


def warning_text(warning: dict[str, Any]) -> str:
    """Return the service's warning as one line for a job's log; a form that is not known is shown as it came."""
    if "headline" not in warning:
        return f"warning: {warning}"
    parts = [f"warning: against baseline {warning.get('baseline')}: {warning['headline']}",
             warning.get("first_reason"), warning.get("remedy")]
    return "; ".join(part.rstrip(".") for part in parts if part)


def settings_in_force() -> Settings:
    """Return the settings: what ``repro-env run`` was given stands above this process's own variables and file.

    Below them stands what the environment held when the run began, for programs that were given another one.
    """
    from .settings import load
    from .system import System

    chosen = load(environ={**STATE.inherited, **System().environ, **STATE.variables})
    for warning in chosen.warnings:
        say(warning)
    return chosen


def run_identity(system: Any) -> tuple[str | None, str | None]:
    """Return the run id and how it was learned; one that is made here is made once and stays."""
    from . import ids

    given = STATE.variables.get("REPRO_ENV_RUN_ID")
    if given is None and "REPRO_ENV_RUN_ID" not in system.environ:
        given = STATE.inherited.get("REPRO_ENV_RUN_ID")
    if given is None and STATE.made_run_id is not None:
        return STATE.made_run_id, "made"
    run_id, source = ids.run_identity(system.environ, system.now(), given=given, subject="process")
    if source == "made":
        STATE.made_run_id = run_id
    return run_id, source


def sections(readings: Readings) -> dict[str, Any]:
    """Return readings by dotted path as the nested sections that ``capture`` takes as overrides."""
    nested: dict[str, Any] = {"sources": readings.sources, "errors": readings.errors}
    for path, value in readings.facts.items():
        steps = path.split(".")
        section, rest = (".".join(steps[:2]), steps[2:]) if steps[0] == "program" else (steps[0], steps[1:])
        place = nested.setdefault(section, {})
        for step in rest[:-1]:
            place = place.setdefault(step, {})
        place[rest[-1]] = value
    return nested


def drift(before: dict[str, Any], after: dict[str, Any]) -> list[dict[str, str]]:
    """Return the facts of the stack that differ between two looks, with both values as canonical JSON text.

    A fact that one of the looks did not read says nothing.
    """
    from .canonical import encode

    left, right = dict(_leaves(before, "")), dict(_leaves(after, ""))
    return [{"path": path, "before": encode(left[path]).decode("utf-8"), "after": encode(right[path]).decode("utf-8")}
            for path in sorted(left.keys() & right.keys()) if path != CHANGED and _drifted(left[path], right[path])]


def _drifted(before: Any, after: Any) -> bool:
    from .fingerprint.facts import is_unread

    return before != after and not is_unread(before) and not is_unread(after)


def _leaves(value: Any, path: str) -> Any:
    """Yield every fact below ``value`` with its dotted path; a list is one fact."""
    from .fingerprint.facts import is_unread

    if not isinstance(value, dict) or is_unread(value) or not value:
        yield path, value
        return
    for name, item in value.items():
        yield from _leaves(item, f"{path}.{name}" if path else name)


def say(message: str) -> None:
    """Say something once on stderr, for the person who runs the program."""
    if message not in STATE.said and sys.stderr is not None:
        STATE.said.add(message)
        try:
            sys.stderr.write(f"repro-env: {message}\n")
        except (OSError, ValueError):
            return  # a closed stderr: there is nobody to tell


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not name.isascii() or not name.isprintable() or not 0 < len(name) <= MAX_NAME:
        raise TypeError(f"expected a name of 1 to {MAX_NAME} printable ASCII characters, got {ascii(name)[:60]}")
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
    try:
        keep(look("exit", "exit"), send=True)
    except Exception as error:  # noqa: BLE001 - the guard of the host contract
        say(f"the look at the end failed: {type(error).__name__}: {error}")
