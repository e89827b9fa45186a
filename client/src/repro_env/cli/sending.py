"""What commands that send have in common: their options, the settings behind them, the words about the outcome."""

from __future__ import annotations

import os

from .. import settings as settings_of
from ..delivery import KEPT, LOST, REFUSED, SENT
from .console import continue_saying, say, warn
from .options import Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..delivery import Outcome
    from ..settings import Settings

SERVER = Option("--server", "address of the service, as in http://127.0.0.1:8765", "URL")
RUN_ID = Option("--run-id", "id of the run (default: REPRO_ENV_RUN_ID, else from the scheduler, else made)", "ID")
PROJECT = Option("--project", "project the run belongs to", "NAME")
GROUP = Option("--group", "experiment or table the run belongs to", "NAME")
LABEL = Option("--label", "a label, as in owner=team-a; may be repeated", "K=V", name="labels", many=True)
TIMEOUT = Option("--timeout", "seconds for looking and sending in all (default: 2)", "S", name="timeout_s")
JSON = Option("--json", "print the document on stdout, and nothing else")
OUTPUT = Option("-o --output", "write the document to a file", "FILE")
NO_SEND = Option("--no-send", "do not send; the document waits in the spool, unless --json or -o takes it")
#: seconds a person waits at a command that only sends or asks.
PATIENCE_S = 10.0
MAX_NOTES = 3


def load(values: dict[str, Any], *, tolerant: bool = False) -> Settings:
    """Return the settings in force under the options given, having said what is wrong in variables and files.

    A wrong option raises ``UsageError``, or, where ``tolerant``, is said and not used: a job's prologue goes on.
    """
    chosen = settings_of.load(values, tolerant=tolerant)
    for warning in chosen.warnings:
        say(warning)
    return chosen


def patience_s(settings: Settings) -> float:
    """Return the seconds for one exchange of a command that a person waits for."""
    return settings.timeout_s if "timeout_s" in settings.sources else PATIENCE_S


def waits_in_spool(values: dict[str, Any], settings: Settings) -> bool:
    """Tell whether a document goes to the spool: to be sent from there, or because it goes nowhere else."""
    to_send = settings.server is not None and not values.get("no_send")
    return to_send or not (values.get("json") or values.get("output"))


def tell(what: str, outcome: Outcome, settings: Settings) -> None:
    """Say in one line what became of a document, then what the service has to say about its run."""
    if outcome.state == SENT:
        say(f"{what} sent to {settings.server}")
        tell_receipt(outcome.receipt or {})
    elif outcome.state == REFUSED:
        say(f"{what} refused by the service: {outcome.problem}; the document is set aside: {outcome.path}")
    elif outcome.state == KEPT and outcome.problem:
        say(f"{what} not sent: {outcome.problem}; it waits in {outcome.path}, `repro-env sync` delivers it")
    elif outcome.state == KEPT:
        why = "as asked" if settings.server else "no server is set (--server, REPRO_ENV_SERVER or reproenv.toml)"
        say(f"{what} not sent: {why}; the document waits in {outcome.path}")
    elif outcome.state == LOST:
        say(f"{what} neither sent nor kept: {outcome.problem}")


def tell_receipt(receipt: dict[str, Any]) -> None:
    """Print the service's warnings (headline, first reason, remedy) and notes."""
    for item in receipt.get("warnings") or ():
        if isinstance(item, dict):
            _tell_warning(item, receipt)
    notes = [note for note in receipt.get("notes") or () if isinstance(note, str)]
    for note in notes[:MAX_NOTES]:
        say(f"note: {note}")


def _tell_warning(item: dict[str, Any], receipt: dict[str, Any]) -> None:
    baseline, run = item.get("baseline"), receipt.get("run_id")
    against = f"against baseline {baseline}" if baseline else "from the service"
    level = f", asked for level {item['level']}" if item.get("level") else ""
    warn(f"{against}{level}: {item.get('headline', '')}")
    reason = item.get("first_reason") or item.get("reason")
    if reason and str(reason) not in str(item.get("headline", "")):
        continue_saying(f"reason: {reason}")
    if item.get("remedy"):
        continue_saying(f"remedy: {item['remedy']}")
    if baseline and run:
        continue_saying(f"more:   repro-env compare {baseline} {run}")


def file_name(path: str) -> str:
    """Return a path as messages name it."""
    return "standard input" if path == "-" else os.fspath(path)
