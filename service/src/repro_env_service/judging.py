"""Judge what is stored: load two sides, hold one against the other, warn against a project's baseline.

Vectors answer; documents are opened only for the differences that do not act, and for the result digests.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

from repro_env.comparability.ignored import ignored_differences
from repro_env.comparability.judge import judge_vectors
from repro_env.comparability.levels import Answer, Level, Question, Scope
from repro_env.comparability.reading import Facts
from repro_env.comparability.runs import ONE_SEGMENT
from repro_env.comparability.segments import Run as Shape
from repro_env.comparability.segments import Segment
from repro_env.comparability.vector import Vector, project
from repro_env.comparability.verdict import Verdict
from sqlalchemy import select
from sqlalchemy.orm import Session

from . import documents, folding, problems, vectors
from .errors import Refusal
from .tables import Manifest, Observation, Project, Run

MANIFEST_PREFIX = "manifest:"
#: a look inside the process ends with the results; the later look replaces the earlier one's.
_RESULT_ORDER = ("process", "exit")


@dataclass(frozen=True)
class Judged:
    """One side of a verdict, loaded. ``results`` maps a result name to the distinct digests its processes gave."""

    name: str
    summary: dict[str, Any]
    scope: Scope
    vector: Vector
    facts: Facts
    results: dict[str, frozenset[str]]


@dataclass(frozen=True)
class Comparison:
    """A verdict with its two sides and the evidence that stands beside it."""

    verdict: Verdict
    left: Judged
    right: Judged
    same_run: bool
    equal_results: tuple[str, ...]
    different_results: tuple[str, ...]


def compare(session: Session, left: str, right: str, question: Question, level: Level | None, *,
            left_segment: str | None = None, right_segment: str | None = None) -> Comparison:
    """Judge two names: run ids, or ``manifest:name/version``. Raise ``Refusal`` where one is not known.

    A segment narrows a run to one of its starts. A run held against itself with *resume* is its first start against
    its last, where none is named.
    """
    if question is Question.RESUME and left == right and left_segment is None and right_segment is None:
        return judge_sides(*ends_of_run(session, find_run(session, left), question), question, level)
    expected = load_side(session, left, question, left_segment)
    same = (left, left_segment) == (right, right_segment)
    return judge_sides(expected, expected if same else load_side(session, right, question, right_segment), question,
                       level)


def judge_sides(left: Judged, right: Judged, question: Question, level: Level | None) -> Comparison:
    """Judge two loaded sides. A run against itself is the question whether it would repeat, and the answer says so."""
    scope = Scope.PROCESS if left.scope is right.scope is Scope.PROCESS else Scope.STACK
    verdict = judge_vectors(left.vector, right.vector, scope=scope, question=question, level=level)
    same = left.name == right.name
    headline = f"Same run. Would it repeat? {verdict.headline}" if same else verdict.headline
    equal, different = ((), ()) if same else compare_results(left.results, right.results)
    evidence = (*(f"result {name}: equal" for name in equal), *(f"result {name}: different" for name in different))
    told = replace(verdict, headline=headline, ignored=ignored_differences(left.facts, right.facts),
                   observed=evidence)
    return Comparison(told, left, right, same, equal, different)


def compare_results(left: dict[str, frozenset[str]], right: dict[str, frozenset[str]]
                    ) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of results that both sides reported: those with equal digests, and those with others."""
    both = sorted(left.keys() & right.keys())
    return (tuple(name for name in both if left[name] == right[name]),
            tuple(name for name in both if left[name] != right[name]))


def load_side(session: Session, name: str, question: Question, segment: str | None = None) -> Judged:
    """Return the side called ``name``: a run id with a segment of it or without, or ``manifest:name/version``."""
    if segment is not None:
        return segment_side(session, find_run(session, name), segment, question)
    if name.startswith(MANIFEST_PREFIX):
        return manifest_side(session, find_manifest(session, name.removeprefix(MANIFEST_PREFIX)), question)
    return run_side(session, find_run(session, name), question)


def run_side(session: Session, run: Run, question: Question) -> Judged:
    """Return a stored run as a side."""
    first, *filling = json.loads(run.example_side)
    rows = {row.id: row for row in session.scalars(select(Observation).where(
        Observation.id.in_([first, *filling])))}
    facts = folding.load_facts(session, rows[first], [rows[key].stack_digest for key in filling])
    vector = vectors.load(session, run.compare_vector if question is Question.COMPARE else run.repeat_vector)
    return Judged(run.id, run_summary(run), Scope(run.scope), vector, facts, results_of(session, run.id))


def segment_side(session: Session, run: Run, name: str, question: Question) -> Judged:
    """Return one start of a stored run as a side; raise ``Refusal`` where the run has none of that name."""
    shape, rows = folding.shape_of(session, run.id)
    try:
        found = shape.named(name)
    except KeyError as error:
        raise Refusal(problems.UNKNOWN_SEGMENT, str(error.args[0])) from error
    return _segment_as_side(session, run, found, shape, rows, question)


def ends_of_run(session: Session, run: Run, question: Question) -> tuple[Judged, Judged]:
    """Return the first and the last start of a stored run; raise ``Refusal`` where it has one only."""
    shape, rows = folding.shape_of(session, run.id)
    if len(shape.segments) < 2:
        raise Refusal(problems.ONE_SEGMENT, f"run {run.id}: {ONE_SEGMENT}")
    first, last = (_segment_as_side(session, run, shape.segments[index], shape, rows, question) for index in (0, -1))
    return first, last


def _segment_as_side(session: Session, run: Run, segment: Segment, shape: Shape, rows: dict[str, Observation],
                     question: Question) -> Judged:
    stored = Question.COMPARE if question is Question.COMPARE else Question.REPEAT
    best = segment.sides[0]
    facts = folding.load_facts(session, rows[best.look.observation_id],
                               [rows[look.observation_id].stack_digest for look in best.fillers])
    stacks = {rows[side.look.observation_id].stack_digest for side in segment.sides}
    summary = {**run_summary(run), "vantage": best.look.vantage, "stack_digest": min(stacks), "stacks": len(stacks),
               "ranks_seen": segment.ranks_seen, "world_size": segment.world_size, "partial": segment.partial,
               "segment": segment.name}
    return Judged(f"{run.id} {segment.name}", summary, shape.scope,
                  folding.segment_vector(session, stored, shape, segment, rows), facts,
                  results_of(session, run.id, segment.name))


def manifest_side(session: Session, manifest: Manifest, question: Question) -> Judged:
    """Return a stored manifest as a side: it was never a process, so its scope is the stack."""
    document = documents.load(session, manifest)
    facts = Facts.of(document)
    name = f"{MANIFEST_PREFIX}{manifest.name}/{manifest.version}"
    summary = {"run_id": None, "manifest": f"{manifest.name}/{manifest.version}", "project": None, "group": None,
               "vantage": "image", "scope": Scope.STACK.value, "stack_digest": manifest.stack_digest, "stacks": 1,
               "ranks_seen": 0, "world_size": None, "partial": False, "segment": None}
    return Judged(name, summary, Scope.STACK, project(facts, question), facts, {})


def run_summary(run: Run) -> dict[str, Any]:
    """Return what a verdict and a list say of a run."""
    return {"run_id": run.id, "manifest": None, "project": run.project, "group": run.group, "vantage": run.vantage,
            "scope": run.scope, "stack_digest": run.stack_digest, "stacks": run.stacks,
            "ranks_seen": run.ranks_seen, "world_size": run.world_size, "partial": run.partial, "segment": None}


def results_of(session: Session, run_id: str, segment: str | None = None) -> dict[str, frozenset[str]]:
    """Return the result digests a run, or one start of it, reported, by name.

    Of two looks at one process the later one counts.
    """
    rows = session.scalars(select(Observation).where(
        Observation.run_id == run_id, Observation.vantage.in_(_RESULT_ORDER)))
    latest: dict[tuple[Any, ...], dict[str, str]] = {}
    counted = [row for row in rows if segment is None or row.segment == segment]
    for row in sorted(counted, key=lambda row: folding.look_of(row).age):
        told = documents.load_rest(row)["capture"]["results"]
        latest.setdefault((row.segment, row.node, row.rank, row.pid), {}).update(told)
    names = {name for told in latest.values() for name in told}
    return {name: frozenset(told[name] for told in latest.values() if name in told) for name in names}


def find_run(session: Session, run_id: str) -> Run:
    """Return a run; raise ``Refusal`` with what to do where it is not known."""
    run = session.scalar(select(Run).where(Run.id == run_id))
    if run is None:
        raise Refusal(problems.UNKNOWN_RUN, f"no observation of run {run_id!a} has arrived")
    return run


def find_manifest(session: Session, name: str) -> Manifest:
    """Return a manifest by ``name/version``; raise ``Refusal`` where it is not known."""
    head, _, version = name.partition("/")
    manifest = session.get(Manifest, (head, version))
    if manifest is None:
        raise Refusal(problems.UNKNOWN_MANIFEST, f"no manifest {name!a} is stored")
    return manifest


def without_contradicted(session: Session, run: Run, others: tuple[Run, ...], level: Level) -> tuple[Run, ...]:
    """Return the runs of one class that no fact both sides state keeps apart.

    Keys in scope ``stack`` cover machine-set facts only; where both sides happen to state program-set facts, those
    count too. In scope ``process`` the key alone decides.
    """
    outside = [other for other in others if Scope.STACK.value in (run.scope, other.scope)]
    known = vectors.load_all(session, {run.compare_vector, *(other.compare_vector for other in outside)})
    apart = {vector for vector in {other.compare_vector for other in outside} if judge_vectors(
        known[run.compare_vector], known[vector], scope=Scope.STACK).guaranteed < level}
    return tuple(other for other in others if other not in outside or other.compare_vector not in apart)


@dataclass(frozen=True)
class Heed:
    """What a sender is told of the run it just reported: warnings to act on, notes to know."""

    warnings: tuple[dict[str, Any], ...] = ()
    notes: tuple[str, ...] = ()


def hold_against_baseline(session: Session, run_id: str) -> Heed:
    """Judge a run against the baseline of its project.

    ``no`` and ``likely`` rest on facts that were read: a warning. ``unknown`` rests on unread facts alone: a note,
    because a warning at every half-read prologue would soon be read by nobody.
    """
    run = find_run(session, run_id)
    held = session.get(Project, run.project) if run.project is not None else None
    if held is None or (held.baseline_kind == "run" and held.baseline == run.id):
        return Heed()
    question, level = Question(held.question), Level.parse(held.level)
    name = held.baseline if held.baseline_kind == "run" else f"{MANIFEST_PREFIX}{held.baseline}"
    verdict = judge_sides(load_side(session, name, question), run_side(session, run, question), question, level).verdict
    if verdict.answer is Answer.YES:
        return Heed()
    if verdict.answer is Answer.UNKNOWN:
        return Heed(notes=(unknown_note(name, verdict),))
    return Heed(warnings=(baseline_warning(name, run.id, verdict),))


def baseline_warning(baseline: str, run_id: str, verdict: Verdict) -> dict[str, Any]:
    """Return the warning that a job's log shows; ``comparison`` leads to the whole verdict."""
    first = verdict.reasons[0] if verdict.reasons else None
    return {"kind": "baseline", "baseline": baseline, "level": verdict.level.word, "answer": verdict.answer.value,
            "headline": verdict.headline, "first_reason": first.why if first else None,
            "remedy": first.remedy if first else None,
            "comparison": comparison_address(baseline, run_id, verdict)}


def comparison_address(left: str, right: str, verdict: Verdict) -> str:
    """Return the relative address of a comparison. Names hold no character that an address must escape."""
    return (f"/v1/comparisons?left={left.replace('+', '%2B')}&right={right.replace('+', '%2B')}"
            f"&level={verdict.level.word}&question={verdict.question.value}")


def unknown_note(baseline: str, verdict: Verdict) -> str:
    """Say which unread facts leave the comparison with the baseline open, and how to read the first of them."""
    lowering = [row for row in verdict.assumes if row.lowers]
    paths = sorted({path for row in lowering for side in row.lacking.values() for path in side})
    how = f"; to know, {lowering[0].capture_how}" if lowering else ""
    shown = ", ".join(paths[:3]) + (f" and {len(paths) - 3} more" if len(paths) > 3 else "")
    return f"whether this run compares with baseline {baseline} at {verdict.level.word} is open: {shown} not read{how}"
