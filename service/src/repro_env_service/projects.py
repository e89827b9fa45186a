"""Projects and the baseline their runs are held against."""

from __future__ import annotations

from repro_env.comparability.levels import Level, Question
from sqlalchemy.orm import Session

from . import problems
from .errors import Refusal
from .ingest import now
from .judging import find_manifest, find_run
from .storage import Storage
from .tables import Project


def set_baseline(storage: Storage, name: str, *, run: str | None, manifest: str | None, level: Level | None,
                 question: Question) -> Project:
    """Set the baseline of a project to a known run or manifest; raise ``Refusal`` where it is not known."""
    kind, baseline = ("run", run) if run is not None else ("manifest", manifest or "")
    with storage.writing() as session:
        if kind == "run":
            find_run(session, baseline or "")
        else:
            find_manifest(session, baseline or "")
        project = session.get(Project, name) or Project(name=name)
        project.baseline_kind, project.baseline = kind, baseline or ""
        project.level, project.question = (level or question.default_level).word, question.value
        project.updated_at = now()
        session.add(project)
    return project


def find_baseline(session: Session, name: str) -> Project:
    """Return a project with its baseline; raise ``Refusal`` where it has none."""
    project = session.get(Project, name)
    if project is None:
        raise Refusal(problems.NO_BASELINE, f"project {name} has no baseline")
    return project
