"""Judging whole documents, keeping what was judged, and recomputing a verdict that somebody shows.

A verdict in its JSON form names ruleset, policy and observations. ``verify`` holds it against the documents: they must
be those it was made from; under the ruleset it names it must fold to what it says; and what it says today is said too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..errors import InvalidDocument
from ..fingerprint.validate import part_digests
from .headline import of_one_run
from .ignored import ignored_differences
from .judge import answer_for, judge_vectors, program_of
from .levels import Level, Question, Scope
from .policy import NO_POLICY, Levels, Policy
from .reading import Facts
from .rules import RULES_BY_ID, RULESET
from .runs import ends_of_documents, vector_of_documents
from .segments import Run
from .vector import Vector
from .verdict import Evidence, Verdict

Documents = Sequence[dict[str, Any]]


def judge_documents(left: Documents, right: Documents, *, question: Question = Question.COMPARE,
                    level: Level | None = None, policy: Policy = NO_POLICY,
                    names: tuple[str, str] = ("", "")) -> Verdict:
    """Return the verdict on two sides, each of one document or of all documents of a run.

    ``resume`` of a run with itself compares its first start with its last; raise ``InvalidDocument`` where it has one.
    """
    if question is Question.RESUME and left == right:
        (one, run), (other, other_run) = _starts(left)
    else:
        (one, run), (other, other_run) = (vector_of_documents(side, question) for side in (left, right))
    verdict = judge_vectors(one, other, scope=_scope(run, other_run), question=question, level=level, policy=policy)
    if question is Question.COMPARE:
        programs = [vector_of_documents(side, Question.REPEAT)[0] for side in (left, right)]
        verdict = replace(verdict, varied=(*verdict.varied, *program_of(*programs)))
    if len(left) == len(right) == 1:
        verdict = replace(verdict, ignored=ignored_differences(Facts.of(left[0]), Facts.of(right[0])))
    if names[0] and names[0] == names[1] and question is not Question.RESUME and not _is_what_if(left):
        verdict = replace(verdict, headline=of_one_run(verdict.headline))
    return replace(verdict, sides=(evidence(left, names[0]), evidence(right, names[1])))


def _is_what_if(documents: Documents) -> bool:
    """Tell whether a side is short facts: nothing ran, so that no run is held against itself."""
    captures = [document.get("capture") or {} for document in documents]
    return any((capture.get("imported") or {}).get("format") == "what-if" for capture in captures)


def _scope(*runs: Run) -> Scope:
    return Scope.PROCESS if all(run.scope is Scope.PROCESS for run in runs) else Scope.STACK


def _starts(documents: Documents) -> tuple[tuple[Vector, Run], tuple[Vector, Run]]:
    try:
        return ends_of_documents(documents)
    except ValueError as error:
        raise InvalidDocument("capture.segment", str(error)) from error


def evidence(documents: Documents, name: str) -> Evidence:
    """Return what identifies the documents of one side; the order in which they come does not matter."""
    digests = [part_digests(document) for document in documents]
    return Evidence(name, tuple(sorted({document["capture"]["observation_id"] for document in documents})),
                    *(tuple(sorted({item[part] for item in digests})) for part in ("stack", "program")))


@dataclass(frozen=True)
class Verification:
    """What became of a verdict that was recomputed.

    ``holds`` is whether it says what its own ruleset makes of the documents; ``None`` where that ruleset is not the
    one at hand: then only what it says was folded again, and ``today`` tells what holds now. ``problems`` say what is
    wrong, ``later`` which observations of the same sides the verdict did not use.
    """

    holds: bool | None
    problems: tuple[str, ...]
    later: tuple[str, ...]
    today: Verdict
    changes: tuple[str, ...]


def verify(told: Verdict, left: Documents, right: Documents) -> Verification:
    """Recompute ``told`` from the documents of its sides; raise ``InvalidDocument`` where it cannot be."""
    if len(told.sides) != 2:
        raise InvalidDocument("verdict.sides", "expected the two sides that the verdict was made from; it was written "
                                               "before verdicts named them, so it cannot be recomputed")
    used, problems, later = [], [], []
    known = {item for side in told.sides for item in side.observations}  # of one run, both sides have documents
    for side, documents in zip(told.sides, (left, right)):
        kept = [document for document in documents if document["capture"]["observation_id"] in side.observations]
        later += sorted({document["capture"]["observation_id"] for document in documents} - known)
        problems += _other_evidence(side, kept)
        used.append(kept)
    problems += _misfolded(told)
    policy = Policy.parse(told.terms, RULES_BY_ID) if told.terms else NO_POLICY
    if policy.digest != told.policy and told.ruleset == RULESET:
        problems.append("the policy that it shows is not the one whose digest it names")
    today = told
    if all(used):
        names = (told.sides[0].name, told.sides[1].name)
        today = judge_documents(*used, question=told.question, level=told.level, policy=policy, names=names)
    changes = tuple(_changes(told, today))
    if told.ruleset == RULESET and not problems:
        problems += [f"recomputed it says otherwise: {change}" for change in changes]
    holds = False if problems else True if told.ruleset == RULESET else None
    return Verification(holds, tuple(problems), tuple(dict.fromkeys(later)), today, changes)


def _other_evidence(side: Evidence, documents: list[dict[str, Any]]) -> list[str]:
    """Say what of the recorded evidence is not there, or is not what it was."""
    name = side.name or "a side"
    if not side.observations:
        return [f"{name}: no observation is named from which it was judged"]
    missing = set(side.observations) - {document["capture"]["observation_id"] for document in documents}
    found = [f"{name}: observation {item} is not among the documents" for item in sorted(missing)]
    if found:
        return found
    now = evidence(documents, side.name)
    return [f"{name}: the {part} is not the one it was judged by" for part, was, is_now in (
        ("stack", side.stacks, now.stacks), ("program", side.programs, now.programs)) if was != is_now]


def _misfolded(told: Verdict) -> list[str]:
    """Say where the ends and the answer do not follow from the reasons and assumptions that the verdict lists."""
    lowering = [item.guaranteed for item in told.assumes if item.lowers]
    read = min((reason.guaranteed for reason in told.reasons), default=Level.BITWISE)
    expected = min((reason.expected_level for reason in told.reasons), default=Level.BITWISE)
    possible = min((reason.possible for reason in told.reasons), default=Level.BITWISE)
    folded = Levels(min([read, *lowering]), expected, possible)
    stated = Levels(told.guaranteed, told.expected, told.possible)
    found = [f"its reasons make it {end} {is_now.word}, it says {was.word}"
             for end, is_now, was in zip(Levels._fields, folded, stated) if is_now is not was]
    answer = answer_for(folded, read, told.level)
    if not found and answer is not told.answer:
        found.append(f"its ends answer {answer.value} at level {told.level.word}, it says {told.answer.value}")
    return found


def _changes(told: Verdict, today: Verdict) -> list[str]:
    """Say in which ends, answer and reasons two verdicts differ."""
    found = [f"{name} {is_now} instead of {was}" for name, was, is_now in (
        *((end, getattr(told, end).word, getattr(today, end).word) for end in Levels._fields),
        ("the answer", told.answer.value, today.answer.value)) if was != is_now]
    was, is_now = ([(reason.rule, reason.why) for reason in verdict.reasons] for verdict in (told, today))
    found += [f"the reason {rule} is new: {why}" for rule, why in is_now if (rule, why) not in was]
    found += [f"the reason {rule} is gone: {why}" for rule, why in was if (rule, why) not in is_now]
    if not found and [(item.rule, item.lacking) for item in told.assumes] != [
            (item.rule, item.lacking) for item in today.assumes]:
        found.append("other facts are unread")
    if not found and told.headline != today.headline:
        found.append(f"the headline reads {today.headline!r}")
    return found or [f"{name} reads otherwise" for name in _EXPLAINING if getattr(told, name) != getattr(today, name)]


#: what explains a verdict beside its headline, and follows from the same facts.
_EXPLAINING = ("reasons", "assumes", "raises", "waived", "varied", "confounds", "ignored")

