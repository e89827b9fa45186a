"""Layer ``known``: combinations known to compute wrongly, and releases at which a quantity changed its meaning.

The knowledge is data in :mod:`known_wrong` and :mod:`known_changes`; this module makes rules of it.
"""

from __future__ import annotations

from typing import Any, Callable

from ..acting import UNUSED, all_hold, imported, in_process
from ..levels import Level, SetBy
from ..reading import Facts
from ..rule import AnyRule, Condition, Distinction, Fails, Projection
from ..versions import older, release
from .distributions import version as installed_version
from .known_changes import CHANGES, Change
from .known_wrong import CASES, Case
from .predicates import architecture, build_of_torch, toolkit, torch

_CAPTURE = "run `repro-env capture` in the job's environment, or the program under `repro-env run`"


def _holds(case: Case) -> Callable[[Facts], Fails | None]:
    return lambda facts: Fails(case.words) if all_hold(facts, case.tests) else None


def build_where_it_matters(facts: Facts) -> Any:
    """Where torch's build came from, where one of the builds of this version is known to compute wrongly."""
    doubtful = all_hold(facts, (torch("1.8.0", "1.9"), toolkit("11.1"), architecture(5, 6)))
    return build_of_torch(facts) if doubtful else UNUSED


def meaning(change: Change) -> Projection:
    """Project a side to what the quantity means in its release; ``UNUSED`` where the package is not there."""
    def project(facts: Facts) -> Any:
        if change.framework:
            if in_process(facts) and not imported(facts, change.package):
                return UNUSED
            version = facts.read(f"frameworks.{change.package}.version")
        else:
            version = installed_version(facts, change.package)
        if version is None or not release(version):
            return UNUSED
        return change.meanings[sum(not older(version, boundary) for boundary in change.releases)]
    return project


WRONG: tuple[AnyRule, ...] = (
    Distinction(
        id="known-wrong-build", layer="known", cause="build_variant", guaranteed=Level.NONE, expected=Level.NONE,
        possible=Level.BITWISE, why="torch from {expected} against {observed}, one of which computes wrong products",
        effect="wrong values or NaN", remedy="install the build that is not affected on both sides",
        confidence="proven", source=("pytorch issue 56747",), set_by=SetBy.PROGRAM, capture_how=_CAPTURE,
        subsumes=("known-torch-1.8-pip-pascal", "torch-build"), project=build_where_it_matters),
    *(Condition(
        id=f"known-{case.id}", layer="known", cause=case.cause, set_by=case.set_by, guaranteed=case.levels.guaranteed,
        expected=case.levels.expected, possible=case.levels.possible, why="{detail} {side}",
        effect="wrong values or NaN", remedy=case.remedy, confidence=case.confidence,
        source=tuple(case.source.split("; ")), holds=_holds(case), capture_how=_CAPTURE)
      for case in CASES),
)
MEANINGS: tuple[AnyRule, ...] = tuple(
    Distinction(
        id=f"change-{change.id}", layer="known", cause=change.cause, set_by=SetBy.MACHINE,
        guaranteed=change.guaranteed, expected=change.expected, possible=Level.BITWISE,
        why=f"{change.package.replace('_', '-')}: {{expected}} against {{observed}}",
        effect="what is logged, drawn or computed by default is another quantity", remedy=change.remedy,
        confidence="documented", source=tuple(change.source.split("; ")), capture_how=_CAPTURE,
        project=meaning(change))
    for change in CHANGES)
