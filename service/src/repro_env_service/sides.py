"""The sides of a verdict, loaded from what is stored: a run, one start of it, or a manifest.

Vectors answer; documents are opened only for the differences that do not act, and for the result digests.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from repro_env.comparability.levels import Question, Scope
from repro_env.comparability.reading import PROCESS_VANTAGES, Facts
from repro_env.comparability.runs import ONE_SEGMENT
from repro_env.comparability.segments import Run as Shape
from repro_env.comparability.segments import Segment
from repro_env.comparability.vector import Vector, project, project_program
from repro_env.comparability.verdict import Evidence
from sqlalchemy import select
from sqlalchemy.orm import Session

from . import documents, folding, problems, vectors
from .errors import Refusal
from .tables import Manifest, Observation, Run

MANIFEST_PREFIX = "manifest:"
#: a look inside the process ends with the results; the later look replaces the earlier one's.
_RESULT_ORDER = ("process", "exit")


@dataclass(frozen=True)
class Judged:
    """One side of a verdict, loaded.

    ``program`` holds the rules that *compare* lists without judging them, and is empty for the other questions.
    ``results`` maps a result name to the distinct digests its processes gave, ``evidence`` tells what was judged.
    """

    name: str
    summary: dict[str, Any]
    scope: Scope
    vector: Vector
    program: Vector
    facts: Facts
    results: dict[str, frozenset[str]]
    evidence: Evidence

    @property
    def project(self) -> str | None:
        """The project of a run; ``None`` for one without and for a manifest, which belongs to none."""
        told: str | None = self.summary["project"]
        return told


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
    stored = vectors.load_all(session, {run.compare_vector, run.repeat_vector})
    repeat = stored[run.repeat_vector]
    comparing = question is Question.COMPARE
    return Judged(run.id, run_summary(run), Scope(run.scope), stored[run.compare_vector] if comparing else repeat,
                  repeat if comparing else {}, facts, results_of(session, run.id),
                  evidence_of(run.id, folding.observations_of(session, run.id)))


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
    best = segment.sides[0]
    facts = folding.load_facts(session, rows[best.look.observation_id],
                               [rows[look.observation_id].stack_digest for look in best.fillers])
    stacks = {rows[side.look.observation_id].stack_digest for side in segment.sides}
    summary = {**run_summary(run), "vantage": best.look.vantage, "stack_digest": min(stacks), "stacks": len(stacks),
               "ranks_seen": segment.ranks_seen, "world_size": segment.world_size, "partial": segment.partial,
               "segment": segment.name}
    repeat = folding.segment_vector(session, Question.REPEAT, shape, segment, rows)
    comparing = question is Question.COMPARE
    vector = folding.segment_vector(session, Question.COMPARE, shape, segment, rows) if comparing else repeat
    name = f"{run.id} {segment.name}"
    return Judged(name, summary, shape.scope, vector, repeat if comparing else {}, facts,
                  results_of(session, run.id, segment.name), evidence_of(name, _seen_of(segment, rows.values())))


def _seen_of(segment: Segment, rows: Iterable[Observation]) -> list[Observation]:
    """Return what was seen of one start: looks inside it, those at its processes that tell no start, and prologues."""
    places = {(side.look.node, side.look.pid) for side in segment.sides}
    return [row for row in rows if row.vantage not in PROCESS_VANTAGES or row.segment == segment.name
            or (row.segment is None and (row.node, row.pid) in places)]


def manifest_side(session: Session, manifest: Manifest, question: Question) -> Judged:
    """Return a stored manifest as a side: it was never a process, so its scope is the stack."""
    document = documents.load(session, manifest)
    facts = Facts.of(document)
    name = f"{MANIFEST_PREFIX}{manifest.name}/{manifest.version}"
    summary = {"run_id": None, "manifest": f"{manifest.name}/{manifest.version}", "project": None, "group": None,
               "vantage": "image", "scope": Scope.STACK.value, "stack_digest": manifest.stack_digest, "stacks": 1,
               "ranks_seen": 0, "world_size": None, "partial": False, "segment": None}
    evidence = Evidence(name, (document["capture"]["observation_id"],), (manifest.stack_digest,),
                        (manifest.program_digest,))
    return Judged(name, summary, Scope.STACK, project(facts, question),
                  project_program(facts) if question is Question.COMPARE else {}, facts, {}, evidence)


def evidence_of(name: str, rows: Iterable[Observation]) -> Evidence:
    """Return what a run is judged from: all that was seen of it, and the prologues that may fill it."""
    known = list(rows)
    return Evidence(name, tuple(sorted(row.id for row in known)), tuple(sorted({row.stack_digest for row in known})),
                    tuple(sorted({row.program_digest for row in known})))


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
