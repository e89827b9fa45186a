"""How rules about the program are written down: all are set by the program, and only *repeat* and *resume* ask them."""

from __future__ import annotations

from typing import Any

from ..acting import present
from ..levels import Level, SetBy
from ..reading import Facts
from ..rule import PROGRAM_QUESTIONS, Condition, Distinction, Projection

NONE, STATISTICAL, CURVE, BITWISE = Level.NONE, Level.STATISTICAL, Level.CURVE, Level.BITWISE
DECLARE = ("run the program under `repro-env run --watch loaders`; what it does not record, state with --declare, as "
           "in data.dataset_digest=sha256:...")
OTHER_TASK = "another experiment"
OTHER_NUMBERS = "other random numbers from the first draw on"


def fact(path: str) -> Projection:
    """Project a fact as it stands; surely absent has no say."""
    def project(facts: Facts) -> Any:
        return present(facts.read(path))
    return project


def distinction(rule_id: str, cause: str, why: str, project: Projection, *, expected: Level, effect: str, remedy: str,
                guaranteed: Level | None = None, source: tuple[str, ...] = ("definition of the program",),
                confidence: str = "documented", subsumes: tuple[str, ...] = (), capture_how: str = DECLARE
                ) -> Distinction:
    """Return a Distinction; unless said otherwise nothing above statistical is guaranteed where it bites."""
    return Distinction(
        id=rule_id, layer="program", cause=cause, set_by=SetBy.PROGRAM, questions=PROGRAM_QUESTIONS,
        guaranteed=min(expected, Level.STATISTICAL) if guaranteed is None else guaranteed, expected=expected,
        possible=Level.BITWISE, why=why, effect=effect, remedy=remedy, confidence=confidence, source=source,
        subsumes=subsumes, project=project, capture_how=capture_how)


def condition(rule_id: str, cause: str, why: str, holds: Any, *, guaranteed: Level, expected: Level, effect: str,
              remedy: str, source: tuple[str, ...], confidence: str = "observed", capture_how: str = DECLARE
              ) -> Condition:
    """Return a Condition on one execution of the program."""
    return Condition(id=rule_id, layer="program", cause=cause, set_by=SetBy.PROGRAM, questions=PROGRAM_QUESTIONS,
                     guaranteed=guaranteed, expected=expected, possible=Level.BITWISE, why=why, effect=effect,
                     remedy=remedy, confidence=confidence, source=source, holds=holds, capture_how=capture_how)
