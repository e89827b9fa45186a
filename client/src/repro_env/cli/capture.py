"""``repro-env capture``: look, keep, send. Made for a job's prologue: bounded, quiet on stdout, exit code 0."""

from __future__ import annotations

import os
import sys
import time

from ..errors import ReproEnvError, UsageError
from . import sending
from .console import answer, say
from .options import Command, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..delivery import Kept, Outcome
    from ..settings import Settings

#: share of the time that looking may take; the rest is for sending.
LOOK_SHARE = 0.6
#: less time than this is not worth an exchange.
LEAST_EXCHANGE_S = 0.1
#: seconds for one exchange in a detached child: nobody waits for it.
DETACHED_S = 30.0

COMMAND = Command(
    "capture", "Records this environment without importing a framework or touching a GPU, keeps the document on disk, "
    "sends it, and prints what the service warns of. Always exits with 0 unless --strict is given, so that it can "
    "stand in a job's prologue.",
    usage="capture [options]",
    examples=(("repro-env capture", "record and send; the run id stands on stderr"),
              ("repro-env capture --json | less", "look at the whole document"),
              ("repro-env capture -o env.json --no-send", "only write a file, to compare later"),
              ("repro-env capture --python .venv/bin/python --project vision --label owner=team-a",
               "look at another interpreter's environment")),
    options=(sending.JSON, sending.OUTPUT, sending.NO_SEND,
             Option("--detach", "return at once and send in the background; warnings are not shown"),
             Option("--strict", "exit with 1 when looking, keeping or sending failed"),
             Option("--python", "interpreter whose environment is looked at, from files (default: first on PATH)",
                    "EXE"),
             Option("--subject", "what to look at (default: detected)", choices=("node", "environment")),
             sending.RUN_ID, sending.PROJECT, sending.GROUP, sending.LABEL,
             Option("--declare", "a fact you state, as in epochs=4; may be repeated", "K=V", many=True),
             sending.SERVER, sending.TIMEOUT))


def main(values: dict[str, Any]) -> int:
    """Capture; return 0, or 1 for a failure under ``--strict``."""
    started = time.monotonic()
    strict = bool(values.get("strict"))
    try:
        done = _capture(values, started)
    except UsageError:
        raise
    except Exception as error:
        if strict or os.environ.get("REPRO_ENV_DEBUG") == "1":
            raise
        told = error if isinstance(error, ReproEnvError) else f"unexpected {type(error).__name__}: {error}"
        say(f"capture failed: {told}; the job goes on")
        return 0
    return 1 if strict and not done else 0


def _capture(values: dict[str, Any], started: float) -> bool:
    """Look, hand over where asked, keep and send; tell whether everything worked."""
    from ..capture import capture
    from ..names import Mask
    from ..system import System

    strict = bool(values.get("strict"))
    values, done = _without_output_to_slurm(values)
    settings = sending.load(values, tolerant=not strict)
    document = capture(
        System(), vantage="prologue", subject=values.get("subject"), python=settings.python,
        budget_s=settings.timeout_s * LOOK_SHARE, run_id=settings.run_id, project=settings.project,
        group=settings.group, labels=settings.labels, mask=Mask(settings.mask, settings.mask_key),
        overrides=_declared(values.get("declare") or [], tolerant=not strict))
    done = _hand_over(document, values) and done
    left_s = settings.timeout_s - (time.monotonic() - started)
    if not sending.waits_in_spool(values, settings):
        other = _other_interpreter(document, settings) if values.get("output") else ""
        say(f"{_subject(document)} captured{other}")
        return done
    return _deliver(document, values, settings, left_s) and done


def _other_interpreter(document: dict[str, Any], settings: Settings) -> str:
    """Say whose environment was looked at, where PATH leads to another interpreter than the one that runs this."""
    from ..errors import ProbeFailed
    from ..probes.interpreter import find_executable
    from ..system import System

    if settings.python is not None or document["capture"]["subject"] != "environment":
        return ""
    try:
        found = find_executable(System(), None)
    except ProbeFailed:
        return ""
    if found is None or os.path.realpath(os.path.dirname(found)) == os.path.realpath(os.path.dirname(sys.executable)):
        return ""
    return f" (of {found}, the first on PATH; --python {sys.executable} looks at this one)"


def _without_output_to_slurm(values: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """Take ``--json`` away in a prolog or epilog of Slurm, which may read its lines as commands; tell if it stood."""
    if not (values.get("json") and os.environ.get("SLURM_SCRIPT_CONTEXT")):
        return values, True
    say("the document is not printed: Slurm reads what a prolog prints as commands; write it to a file with -o")
    return {**values, "json": False}, False


def _declared(pairs: list[str], *, tolerant: bool) -> dict[str, Any] | None:
    """Return the facts that the user states, as ``capture`` takes them; raise ``UsageError`` unless ``tolerant``."""
    from ..settings import label

    values: dict[str, str] = {}
    for pair in pairs:
        try:
            values.update((label(pair),))
        except UsageError as error:
            if not tolerant:
                raise UsageError(f"--declare: {error}") from error
            say(f"--declare: {error}; it is not used")
    return {"program.declared": {"values": values}, "sources": {"declared": "declared"}} if values else None


def _hand_over(document: dict[str, Any], values: dict[str, Any]) -> bool:
    """Give the document where the user asked for it; what cannot be written there costs that alone, not the rest."""
    if not (values.get("json") or values.get("output")):
        return True
    text = document_text(document)
    done = not values.get("json") or _printed(text)
    if values.get("output"):
        from ..errors import SpoolError
        from ..spool import write_file

        try:
            write_file(values["output"], text.encode("utf-8"))
        except SpoolError as error:
            say(str(error))
            return False
    return done


def _printed(text: str) -> bool:
    """Print on stdout; tell whether it arrived. A reader that went away, or a full disk, is not the job's fault."""
    try:
        answer(text)
    except (OSError, ValueError, AttributeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is closed"
        say(f"the document could not be printed on stdout ({reason})")
        return False
    return True


def document_text(document: dict[str, Any]) -> str:
    """Return a document as files and stdout show it."""
    import json

    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _subject(document: dict[str, Any]) -> str:
    record = document["capture"]
    if isinstance(record["run_id"], str):
        return f"run {record['run_id']}"
    return f"{record['subject']} {record['process']['node']}"


def _deliver(document: dict[str, Any], values: dict[str, Any], settings: Settings, left_s: float) -> bool:
    from ..delivery import KEPT, SENT, keep_document, send_kept, send_waiting

    kept = keep_document(document, settings)
    sends = settings.server is not None and not values.get("no_send")
    if sends and values.get("detach"):
        return _detach(kept, settings, _subject(document))
    if sends and left_s >= LEAST_EXCHANGE_S:
        before = time.monotonic()
        outcome = send_kept(kept, settings, timeout_s=left_s)
        if outcome.state == SENT:
            send_waiting(os.environ, settings, timeout_s=left_s - (time.monotonic() - before))
    else:
        outcome = _unsent(kept, "looking took the time for sending" if sends else None)
    _tell(outcome, document, settings)
    return outcome.state == SENT or (outcome.state == KEPT and not sends)


def _unsent(kept: Kept, why: str | None) -> Outcome:
    from ..delivery import KEPT, LOST, Outcome

    return Outcome(KEPT if kept.path else LOST, path=kept.path, problem=kept.problem or why)


def _tell(outcome: Outcome, document: dict[str, Any], settings: Settings) -> None:
    sending.tell(f"{_subject(document)} captured,", outcome, settings)


def _detach(kept: Kept, settings: Settings, subject: str) -> bool:
    """Send in a process of its own that holds nothing of ours: no terminal, no pipe, no place in our group."""
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            if os.fork() == 0:
                _send_alone(kept, settings)
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    say(f"{subject} captured, being sent to {settings.server} in the background")
    return True


def _send_alone(kept: Kept, settings: Settings) -> None:
    from ..delivery import send_kept

    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.closerange(3, 4096)
    os.chdir("/")
    send_kept(kept, settings, timeout_s=DETACHED_S)
