"""Bring a run up to date with its observations: its sides, their vectors, the vector of the run.

The row of a run depends on the set of observations alone, never on the order in which they came. The pure part is
``repro_env.comparability.runs``; this module reads rows and remembers projections that were made before.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from repro_env.canonical import digest_bytes, encode
from repro_env.comparability import runs, segments
from repro_env.comparability.levels import Question
from repro_env.comparability.reading import PROCESS_VANTAGES, Facts
from repro_env.comparability.vector import Vector, project
from sqlalchemy import or_, select
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.orm import Session, defer

from . import documents, vectors
from .tables import Observation, Projection, Run

QUESTIONS = (Question.COMPARE, Question.REPEAT)
REFRESH_BATCH = 200


def look_of(row: Observation) -> segments.Look:
    """Return the look that an observation is."""
    return segments.Look(row.id, row.vantage, row.subject, row.sequence, row.captured_at, row.node, row.rank, row.pid,
                         row.world_size, row.segment, row.job_key, row.restart)


def shape_of(session: Session, run_id: str) -> tuple[segments.Run, dict[str, Observation]]:
    """Return the shape of a run, and by id its observations and those that fill it, without their contents."""
    rows = {row.id: row for row in observations_of(session, run_id)}
    return segments.gather(look_of(row) for row in rows.values()), rows


def refresh_run(session: Session, run_id: str) -> Run:
    """Make the row of a run equal to what its observations say, and return it. Idempotent."""
    shape, rows = shape_of(session, run_id)
    own = [row for row in rows.values() if row.run_id == run_id]
    merged = {question: _run_vector(session, question, shape, rows) for question in QUESTIONS}
    run = session.scalar(select(Run).where(Run.id == run_id)) or Run(id=run_id)
    first = min(own, key=lambda row: (row.received_at, row.id))
    best = shape.sides[0]
    run.project = min((row.project for row in own if row.project is not None), default=None)
    run.group = min((row.group for row in own if row.group is not None), default=None)
    run.scope, run.vantage = shape.scope.value, best.look.vantage
    run.observations = len(own)
    run.ranks_seen, run.world_size, run.partial = shape.ranks_seen, shape.world_size, shape.partial
    stacks = {rows[side.look.observation_id].stack_digest for side in shape.sides}
    run.stacks, run.stack_digest = len(stacks), min(stacks)
    run.example_side = json.dumps([look.observation_id for look in (best.look, *best.fillers)])
    run.ruleset = vectors.RULES_IN_FORCE
    run.compare_vector, run.repeat_vector = merged[Question.COMPARE], merged[Question.REPEAT]
    run.first_received_at = first.received_at
    run.last_received_at = max(row.received_at for row in own)
    session.add(run)
    session.flush()
    return run


def affected_runs(session: Session, row: Observation) -> list[str]:
    """Return the runs whose judged stacks an observation can change: its own first, and those its prologue fills."""
    found = [row.run_id]
    if row.vantage == "prologue" and row.job_key is not None:
        others = session.scalars(select(Observation.run_id).distinct().where(
            Observation.job_key == row.job_key, Observation.node == row.node,
            Observation.vantage.in_(PROCESS_VANTAGES), Observation.run_id != row.run_id).order_by(Observation.run_id))
        found += others
    return found


def refresh_stale(session: Session) -> int:
    """Bring up to date a batch of runs that were folded under another rule set; return how many there were."""
    stale = session.scalars(select(Run.id).where(Run.ruleset != vectors.RULES_IN_FORCE).limit(REFRESH_BATCH)).all()
    for run_id in stale:
        refresh_run(session, run_id)
    return len(stale)


def observations_of(session: Session, run_id: str) -> Iterable[Observation]:
    """Return the observations of a run, and the prologues of its job on its nodes, without their contents."""
    own = session.scalars(select(Observation).options(defer(Observation.rest))
                          .where(Observation.run_id == run_id)).all()
    places = {(row.job_key, row.node) for row in own if row.job_key is not None and row.vantage in PROCESS_VANTAGES}
    if not places:
        return own
    matches = or_(*((Observation.job_key == job) & (Observation.node == node) for job, node in sorted(
        places, key=lambda place: (place[0] or "", place[1] or ""))))
    prologues = session.scalars(select(Observation).options(defer(Observation.rest)).where(
        Observation.vantage == "prologue", Observation.run_id != run_id, matches))
    return [*own, *prologues]


def _run_vector(session: Session, question: Question, shape: segments.Run, rows: dict[str, Observation]) -> str:
    parts = [{side_vector(session, question, *_rows_of(side, rows)) for side in segment.sides}
             for segment in shape.segments]
    digests = set().union(*parts)
    if len(digests) == 1 and not shape.partial:
        return digests.pop()  # what run_vector would give, without reading it: the usual case
    sides = vectors.load_all(session, digests)
    merged = runs.run_vector(([sides[digest] for digest in part] for part in parts), shape)
    return vectors.store(session, merged, question)


def segment_vector(session: Session, question: Question, shape: segments.Run, segment: segments.Segment,
                   rows: dict[str, Observation]) -> Vector:
    """Return the vector of one segment of a run, from what is stored where it is; stores nothing."""
    made: dict[str, Vector] = {}
    for side in segment.sides:
        row, fillers = _rows_of(side, rows)
        digest = _side_digest(row, fillers)
        if digest not in made:
            known = session.get(Projection, (digest, question.value, vectors.RULES_IN_FORCE))
            stacks = [filler.stack_digest for filler in fillers]
            made[digest] = vectors.load(session, known.vector_digest) if known is not None else project(
                load_facts(session, row, stacks), question)
    return runs.run_vector([made.values()], shape.of_segment(segment))


def _rows_of(side: segments.Side, rows: dict[str, Observation]) -> tuple[Observation, list[Observation]]:
    return rows[side.look.observation_id], [rows[look.observation_id] for look in side.fillers]


def _side_digest(row: Observation, fillers: list[Observation]) -> str:
    parts = [row.vantage, row.stack_digest, row.program_digest, *(filler.stack_digest for filler in fillers)]
    return digest_bytes(encode(parts))


def side_vector(session: Session, question: Question, row: Observation, fillers: list[Observation]) -> str:
    """Return the digest of the vector of one side."""
    stacks = [filler.stack_digest for filler in fillers]
    return projected(session, question, _side_digest(row, fillers),
                     lambda: project(load_facts(session, row, stacks), question))


def projected(session: Session, question: Question, side_digest: str, make: Callable[[], Vector]) -> str:
    """Return the digest of the vector of a side, made only when no equal side was projected before."""
    known = session.get(Projection, (side_digest, question.value, vectors.RULES_IN_FORCE))
    if known is not None:
        return known.vector_digest
    digest = vectors.store(session, make(), question)
    session.execute(insert(Projection).values(side_digest=side_digest, question=question.value,
                                              ruleset=vectors.RULES_IN_FORCE, vector_digest=digest))
    return digest


def load_facts(session: Session, row: Observation, filling: Iterable[str]) -> Facts:
    """Return the facts one side is judged by; ``filling`` are digests of stacks, best first."""
    filling = list(filling)
    parts = documents.load_parts(session, {row.stack_digest, row.program_digest, *filling})
    document = {"stack": parts[row.stack_digest], "program": parts[row.program_digest],
                "capture": {"vantage": row.vantage}}
    return runs.judged_facts(document, [parts[digest] for digest in filling])
