"""``repro-env sync``: deliver what waits in the spool; set aside what cannot be delivered, and say so."""

from __future__ import annotations

import os
import sys

from ..errors import InvalidDocument, SpoolError, UsageError
from . import sending
from .console import is_terminal, say
from .options import Command

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..delivery import Outcome
    from ..settings import Settings
    from ..spool import Spool

#: after so many documents in a row that the service did not take, it is not there: the rest waits for another time.
GIVE_UP_AFTER = 3
REMAINS = 1

COMMAND = Command(
    "sync", "Delivers the documents that wait in the spool. A document that is half-written or that the service "
    "refuses is set aside, with the reason beside it; nothing is deleted before the service has acknowledged it.",
    usage="sync [options]",
    examples=(("repro-env sync", "deliver everything"),
              ("repro-env sync --server http://127.0.0.1:8765", "to this service")),
    options=(sending.SERVER, sending.TIMEOUT),
    notes="Exit codes: 0 nothing remains in the spool, 1 something remains or was set aside.")


class Tally:
    """What became of the documents so far."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.sent = self.set_aside = self.remaining = self.failures = 0
        self.problem: str | None = None


def main(values: dict[str, Any]) -> int:
    """Deliver; return 0 where nothing remains."""
    from ..spool import existing

    settings = sending.load(values)
    spools = existing(os.environ, settings.spool)
    waiting = [(spool, path) for spool in spools for path in spool.pending()]
    unfinished = [(spool, path) for spool in spools for path in spool.unfinished()]
    if not waiting and not unfinished:
        say("nothing waits to be delivered")
        return 0
    if settings.server is None:
        raise UsageError(f"sync: {_documents(len(waiting))} waiting in {spools[0].folder}, but no server is set; give "
                         "--server, REPRO_ENV_SERVER or server in reproenv.toml")
    tally = Tally(len(waiting))
    for spool, path in unfinished:
        _set_aside(spool, path, "half-written: its writer ended before it was done", tally)
    for spool, path in waiting:
        if tally.failures >= GIVE_UP_AFTER:
            tally.remaining += 1
            continue
        _deliver_one(spool, path, settings, tally)
        _progress(tally)
    return _report(tally, settings)


def _deliver_one(spool: Spool, path: str, settings: Settings, tally: Tally) -> None:
    from ..canonical import parse
    from ..delivery import Kept, observation_id_of, send_kept

    try:
        data = spool.read(path)
        observation_id = observation_id_of(parse(data))
    except FileNotFoundError:
        tally.total -= 1  # another process has delivered it meanwhile
        return
    except OSError as error:
        tally.remaining += 1
        say(f"{path}: could not be read ({error.strerror}); it stays")
        return
    except InvalidDocument as error:
        _set_aside(spool, path, f"half-written or damaged: {error}", tally)
        return
    kept = Kept(data, observation_id, spool, path)
    _count(send_kept(kept, settings, timeout_s=sending.patience_s(settings)), tally)


def _count(outcome: Outcome, tally: Tally) -> None:
    from ..delivery import REFUSED, SENT

    if outcome.state == SENT:
        tally.sent += 1
        tally.failures = 0
        sending.tell_receipt(outcome.receipt or {})
    elif outcome.state == REFUSED:
        tally.set_aside += 1
        tally.failures = 0
        say(f"{outcome.path}: set aside: {outcome.problem}")
    else:
        tally.remaining += 1
        tally.failures += 1
        tally.problem = outcome.problem


def _set_aside(spool: Spool, path: str, reason: str, tally: Tally) -> None:
    try:
        say(f"{spool.set_aside(path, reason)}: set aside: {reason}")
        tally.set_aside += 1
    except SpoolError as error:
        tally.remaining += 1
        say(str(error))


def _progress(tally: Tally) -> None:
    if is_terminal(sys.stderr):
        done = tally.sent + tally.set_aside + tally.remaining
        sys.stderr.write(f"\r{done} of {tally.total}" + ("\n" if done >= tally.total else ""))
        sys.stderr.flush()


def _report(tally: Tally, settings: Settings) -> int:
    parts = [f"{_documents(tally.sent)} delivered to {settings.server}"]
    if tally.set_aside:
        parts.append(f"{tally.set_aside} set aside")
    if tally.remaining:
        parts.append(f"{tally.remaining} still waiting")
    say(", ".join(parts) + (f": {tally.problem}" if tally.problem else ""))
    return REMAINS if tally.remaining or tally.set_aside else 0


def _documents(number: int) -> str:
    return "1 document" if number == 1 else f"{number} documents"
