"""Verdicts held against measured bits: workloads run in pairs of environments, each observed in its process and judged.

``bases`` says what is held still and ``factors`` what is varied; ``plan`` chooses launches, ``running`` makes them,
``scoring`` judges pairs and counts, ``report`` says it. ``workloads`` is a program of its own. Nothing here is imported
by a capture or a verdict.
"""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor

from .launches import keep
from .machine import Machine
from .plan import Plan
from .report import Report
from .running import Stage

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Callable

    from .launches import Launch, Outcome

__all__ = ("Machine", "Plan", "Report", "measure")


def measure(plan: Plan, *, jobs: int = 2, folder: str | None = None,
            progress: Callable[[int, int, Launch], None] = lambda done, of, launch: None) -> Report:
    """Make every launch of a plan, ``jobs`` at a time, and return the report; ``folder`` keeps what became of each.

    An interruption ends the launches that have begun and starts no other.
    """
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="repro-env-selftest-") as place:
        stage = Stage(place, plan.machine)
        pool = ThreadPoolExecutor(jobs)
        try:
            begun = [pool.submit(stage.run, launch, number) for number, launch in enumerate(plan.launches)]
            for number, future in enumerate(begun):
                outcomes.append(future.result())
                if folder is not None:
                    keep(outcomes[-1], folder, number)
                progress(number + 1, len(begun), outcomes[-1].launch)
        finally:
            pool.shutdown(cancel_futures=True)
    return Report(outcomes, plan.left_out, whole=plan.whole)
