"""``/v1/runs``: the list, one run, the runs comparable with it, and how it conforms to its manifest."""

from __future__ import annotations

from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Query
from repro_env.comparability.levels import Question
from sqlalchemy import select
from sqlalchemy.orm import Session

from .. import answers, classes, conformance, documents, folding, judging, policies, queries, sides
from ..ingest import NAME_PATTERN
from ..manifests import manifest_for
from ..tables import Observation, Run
from .comparisons import comparison_answer
from .request import PROBLEMS, AskedLevel, AskedPolicy, Cursor, Database, Limit, Name, ProjectFilter, Vary

router = APIRouter(tags=["runs"])
WithDocuments = Literal["true", "false"]
MANIFEST_NAME_PATTERN = NAME_PATTERN[:-1] + "/" + NAME_PATTERN[1:]


@router.get("/v1/runs", response_model=answers.RunPage, responses=PROBLEMS)
def list_runs(storage: Database, project: ProjectFilter = None, cursor: Cursor = None, limit: Limit = 50
              ) -> dict[str, Any]:
    """List runs, newest first."""
    with storage.reading() as session:
        page = queries.list_runs(session, project=project, before=cursor, limit=limit)
    return {"runs": [summary(run) for run in page.runs],
            "next": next_page("/v1/runs", page, project=project, limit=limit)}


@router.get("/v1/runs/{run_id}", response_model=answers.RunDetail, responses=PROBLEMS)
def get_run(run_id: Name, storage: Database,
            documents: Annotated[WithDocuments, Query(description="with the full documents")] = "true"
            ) -> dict[str, Any]:
    """Give one run with all its observations."""
    with storage.reading() as session:
        run = sides.find_run(session, run_id)
        entries, fillers = entries_of(session, run, whole=documents == "true")
        return {**summary(run), "segments": segments_of(session, run), "entries": entries, "fillers": fillers}


@router.get("/v1/runs/{run_id}/comparable", response_model=answers.ComparableAnswer, responses=PROBLEMS)
def comparable(run_id: Name, storage: Database, *, level: AskedLevel = None, project: ProjectFilter = None,
               policy: AskedPolicy = None, vary: Vary = (), cursor: Cursor = None, limit: Limit = 50
               ) -> dict[str, Any]:
    """List the runs guaranteed comparable with this one, and how many are open for want of facts.

    A policy holds between runs of its project; runs of other projects are listed as no policy has it, and with
    policy=project not at all.
    """
    with storage.reading() as session:
        run = sides.find_run(session, run_id)
        held = policies.of_run(session, policy, run.project).varying(vary)
        asked = held.level(level, Question.COMPARE)
        outside = None if policy == "project" else policies.NOTHING_IN_FORCE.varying(vary).policy
        parts = classes.parts_of(run, held.policy, outside, project)
        own = classes.class_of(session, run, asked, held.policy)
        page = classes.comparable_runs(session, run, asked, parts, before=cursor, limit=limit)
        confirmed = judging.without_contradicted(session, run, page.runs, asked, held.policy, outside)
        still_open = classes.undetermined(session, run, asked, parts)
    again = {"level": asked.word, "project": project, "policy": policy, "vary": ",".join(vary) or None, "limit": limit}
    return {"run_id": run.id, "level": asked.word, "scope": run.scope, "key": own.key, "failing": own.failing,
            "lacking": own.lacking, "in_force": held.to_json(), "runs": [summary(other) for other in confirmed],
            "next": next_page(f"/v1/runs/{run.id}/comparable", page, **again),
            "undetermined": {"count": still_open.count,
                             "lacking": [{"path": path, "runs": count} for path, count in still_open.lacking]}}


@router.get("/v1/runs/{run_id}/conformance", response_model=answers.ConformanceAnswer, responses=PROBLEMS)
def conform(run_id: Name, storage: Database, level: AskedLevel = None, policy: AskedPolicy = None,
            manifest: Annotated[str | None, Query(pattern=MANIFEST_NAME_PATTERN, description="name/version")] = None
            ) -> dict[str, Any]:
    """Hold a run against the manifest of its image, of its project, or the one named."""
    with storage.reading() as session:
        observed = sides.run_side(session, sides.find_run(session, run_id), Question.COMPARE)
        found, how = manifest_for(session, observed, manifest)
        expected = sides.manifest_side(session, found, Question.COMPARE)
        held = policies.of_run(session, policy, observed.project)
    drift = conformance.drift(expected.facts.stack, observed.facts.stack)
    return {"run_id": run_id, "manifest": f"{found.name}/{found.version}", "found": how, "conforms": not drift,
            "drift": drift,
            "verdict": comparison_answer(judging.judge_sides(expected, observed, Question.COMPARE, level, held))}


def summary(run: Run) -> dict[str, Any]:
    """Return one run as lists show it."""
    return {"run_id": run.id, "project": run.project, "group": run.group, "scope": run.scope, "vantage": run.vantage,
            "observations": run.observations, "stacks": run.stacks, "stack_digest": run.stack_digest,
            "ranks": {"seen": run.ranks_seen, "world_size": run.world_size, "partial": run.partial},
            "first_received_at": run.first_received_at, "last_received_at": run.last_received_at}


def segments_of(session: Session, run: Run) -> list[dict[str, Any]]:
    """Return the starts of a run in their order."""
    shape, rows = folding.shape_of(session, run.id)
    return [{"segment": segment.name, "started_at": segment.started_at,
             "ranks": {"seen": segment.ranks_seen, "world_size": segment.world_size, "partial": segment.partial},
             "stacks": len({rows[side.look.observation_id].stack_digest for side in segment.sides})}
            for segment in shape.segments]


def entries_of(session: Session, run: Run, *, whole: bool) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the observations of a run, and the prologues that fill them; parts that several share are read once."""
    names = [row.id for row in folding.observations_of(session, run.id)]
    rows = session.scalars(select(Observation).where(Observation.id.in_(queries.listed(names)))).all()
    shared = {digest for row in rows for digest in (row.stack_digest, row.program_digest)} if whole else set()
    parts = documents.load_parts(session, shared) if whole else {}
    ordered = sorted(rows, key=lambda row: (-1 if row.rank is None else row.rank, row.captured_at, row.id))
    return ([_entry(row, parts) for row in ordered if row.run_id == run.id],
            [_entry(row, parts) for row in ordered if row.run_id != run.id])


def _entry(row: Observation, parts: dict[str, Any]) -> dict[str, Any]:
    rest = documents.load_rest(row)
    capture = rest["capture"]
    entry = {"observation_id": row.id, "vantage": row.vantage, "moment": capture["moment"], "subject": row.subject,
             "sequence": row.sequence, "captured_at": row.captured_at, "received_at": row.received_at,
             "node": row.node, "rank": row.rank, "segment": row.segment, "labels": capture["labels"],
             "results": capture["results"],
             "digests": {"stack": row.stack_digest, "program": row.program_digest, "document": row.document_digest}}
    if parts:
        entry["document"] = {**rest, "stack": parts[row.stack_digest], "program": parts[row.program_digest]}
    return entry


def next_page(path: str, page: queries.Page, **parameters: object) -> str | None:
    """Return the relative address of the next page, or ``None`` on the last one."""
    if page.next_cursor is None:
        return None
    told = {name: value for name, value in parameters.items() if value is not None}
    return f"{path}?{urlencode({**told, 'cursor': page.next_cursor})}"
