"""``repro-env selftest``: verdicts held against the bits of workloads that run here."""

from __future__ import annotations

import sys

from ..errors import UsageError
from .console import answer, say
from .options import Command, Option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable

    from ..selftest import Report
    from ..selftest.launches import Launch

MISSED = 1
#: launches at a time where none is named.
JOBS = 2
COMMAND = Command(
    "selftest", "Runs small workloads here in pairs of environments, observes each in its process, judges the pairs "
    "and holds every verdict against the bits of the results. Workloads whose libraries this interpreter does not have "
    "are left out.",
    usage="selftest [options]",
    examples=(("repro-env selftest", "a sample, about two minutes"),
              ("repro-env selftest --full --keep launches", "everything, more than 600 launches"),
              ("repro-env selftest --judge launches", "judge kept launches again, with the rules of today"),
              ("repro-env selftest --full --base python", "everything that needs Python alone")),
    options=(Option("--quick", "a sample, the same at every call (default)"),
             Option("--full", "everything in the tables"),
             Option("--base", "only this base environment; may be repeated", "NAME", many=True),
             Option("--python", "interpreter that workloads run on (default: this one); the first that has what a "
                    "workload imports is taken", "EXE", many=True),
             Option("--other", "interpreter set against it, for versions (with --full)", "EXE", many=True),
             Option("--jobs", f"launches at a time (default: {JOBS})", "N"),
             Option("--keep", "keep what was observed, to judge it again", "DIR"),
             Option("--judge", "judge what --keep kept, launch nothing; may be repeated", "DIR", many=True),
             Option("--json", "print the report as JSON on stdout")),
    notes="Progress goes to stderr. Exit codes: 0 every aim is met, 1 one is missed, 64 wrong usage.")


def main(values: dict[str, Any]) -> int:
    """Print the report; return 1 where an aim is missed."""
    if values["arguments"] or (values.get("quick") and values.get("full")):
        raise UsageError("selftest: expected no argument, and one of --quick and --full")
    report = _judged(values["judge"]) if "judge" in values else _measured(values)
    if values.get("json"):
        import json

        answer(json.dumps(report.to_json(), indent=2, ensure_ascii=False) + "\n")
    else:
        answer(report.text())
    return 0 if report.met else MISSED


def _judged(folders: list[str]) -> Report:
    from ..selftest.launches import kept
    from ..selftest.report import Report

    try:
        return Report([outcome for folder in folders for outcome in kept(folder)], [], whole=True)
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(f"selftest: --judge: expected folders that --keep wrote, got {error}") from error


def _measured(values: dict[str, Any]) -> Report:
    from ..selftest import Machine, Plan, measure
    from ..selftest.bases import BASES_BY_NAME

    bases = values.get("base") or []
    unknown = [name for name in bases if name not in BASES_BY_NAME]
    if unknown:
        raise UsageError(f"selftest: unknown base {unknown[0]!r}; expected one of {', '.join(BASES_BY_NAME)}")
    machine = Machine(values.get("python") or [sys.executable], values.get("other") or [])
    if machine.broken:
        raise UsageError(f"selftest: {machine.broken[0]} cannot be run; expected a Python interpreter")
    plan = Plan(machine, quick=not values.get("full"), bases=bases)
    say(f"selftest: {len(plan.launches)} launches")
    return measure(plan, jobs=_jobs(values.get("jobs", str(JOBS))), folder=values.get("keep"), progress=_progress())


def _jobs(word: str) -> int:
    if not word.isascii() or not word.isdigit() or not 0 < int(word) <= 256:
        raise UsageError(f"selftest: --jobs: expected a whole number from 1 to 256, got {word!r}")
    return int(word)


def _progress() -> Callable[[int, int, Launch], None]:
    """Return what says at every twentieth part how far it is."""
    def tell(done: int, count: int, launch: Launch) -> None:
        if done == count or done * 20 // count != (done - 1) * 20 // count:
            say(f"selftest: {done} of {count} launches ({launch.name})")
    return tell
