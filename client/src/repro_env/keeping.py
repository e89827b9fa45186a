"""Keeping and sending what this process observed, and saying once on stderr what became of it.

A document is on the disk before anything else happens to it. Those of the first step wait for the end of the program,
where sending costs nobody a step; what the spool holds of killed programs goes with them.
"""

from __future__ import annotations

import os

from . import process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .delivery import Kept, Outcome
    from .settings import Settings


def keep(document: dict[str, Any]) -> Kept:
    """Keep a document durably, in the first folder that takes it."""
    from .delivery import keep_document

    return keep_document(document, process.settings_in_force())


def send(kept: Kept, *, now: bool, last: bool = False) -> None:
    """Send a kept document and those that waited for it, or let it wait; ``last``: at the end of the program."""
    state = process.STATE
    chosen = process.settings_in_force()
    state.waiting.append(kept)
    if kept.path is None and not (now and chosen.server):
        process.say(f"the observation is {'not kept' if chosen.server else 'lost'}: {kept.problem}")
    if not now:
        return
    if chosen.server is None:
        if last and kept.path is not None and state.speaks():
            process.say(f"run {process.run_identity()[0]} observed; no server is set, so it is kept in "
                        f"{os.path.dirname(kept.path)} and `repro-env sync` delivers it")
        return
    waiting, state.waiting = state.waiting, []
    try:
        _send_all(waiting, chosen, last=last)
    except RuntimeError as error:
        if "thread" not in str(error):
            raise
        # Python 3.12.0 and 3.12.1 start no thread at exit (CPython issue 113964); by then the document is kept.
        process.say(f"the observation waits for repro-env sync: {error}")


def _send_all(waiting: list[Kept], chosen: Settings, *, last: bool) -> None:
    """Send in order, within the time of the settings; what cannot be sent stays in the spool."""
    from time import monotonic

    from .delivery import REFUSED, SENT, send_kept, send_waiting

    deadline = monotonic() + chosen.timeout_s
    for kept in waiting:
        left_s = deadline - monotonic()
        if left_s <= 0:
            process.say("the observation waits for repro-env sync: the time for sending was over")
            return
        outcome = send_kept(kept, chosen, timeout_s=left_s)
        _tell(outcome)
        if outcome.state not in (SENT, REFUSED):
            return
    if last:
        send_waiting(os.environ, chosen, timeout_s=deadline - monotonic())


def _tell(outcome: Outcome) -> None:
    from .delivery import LOST, REFUSED

    if outcome.problem is not None:
        lost = {LOST: "the observation is lost", REFUSED: "the observation was set aside"}
        process.say(f"{lost.get(outcome.state, 'the observation waits for repro-env sync')}: {outcome.problem}")
    receipt = outcome.receipt or {}
    for warning in receipt.get("warnings", ()):
        process.say(warning_text(warning))
    for note in receipt.get("notes", ()):
        process.say(f"note: {note}")


def warning_text(warning: dict[str, Any]) -> str:
    """Return the service's warning as one line for a job's log; a form that is not known is shown as it came."""
    if "headline" not in warning:
        return f"warning: {warning}"
    headline, reason = str(warning["headline"]), str(warning.get("first_reason") or "").rstrip(".")
    parts = [f"warning: against baseline {warning.get('baseline')}: {headline}",
             None if reason in headline else reason, warning.get("remedy")]
    return "; ".join(part.rstrip(".") for part in parts if part)
