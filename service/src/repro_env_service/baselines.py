"""The baseline that the runs of a project are held against: stated by its policy, else set by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from repro_env.comparability.levels import Level, Question
from sqlalchemy.orm import Session

from . import policies, problems
from .errors import Refusal
from .ingest import now
from .sides import MANIFEST_PREFIX, find_manifest, find_run
from .storage import Storage
from .tables import Project


@dataclass(frozen=True)
class Baseline:
    """A run or a manifest, and what runs are held to; ``source`` tells who stated it."""

    project: str
    run: str | None
    manifest: str | None
    level: Level
    question: Question
    source: Literal["policy", "baseline"]
    updated_at: str

    @property
    def side(self) -> str:
        """The name under which it is a side of a verdict."""
        return self.run if self.run is not None else f"{MANIFEST_PREFIX}{self.manifest}"


def set_baseline(storage: Storage, name: str, *, run: str | None, manifest: str | None, level: Level | None,
                 question: Question) -> Baseline:
    """Set the baseline of a project to a known run or manifest; raise ``Refusal`` where it is not known.

    Where the policy in force states one, that is the one: it is not passed over in silence.
    """
    kind, baseline = ("run", run) if run is not None else ("manifest", manifest or "")
    with storage.writing() as session:
        if kind == "run":
            find_run(session, baseline or "")
        else:
            find_manifest(session, baseline or "")
        held = policies.in_force(session, name)
        if held.policy.baseline is not None:
            raise Refusal(problems.POLICY_HAS_BASELINE, f"version {held.version} of the policy of project {name} "
                                                        f"states the baseline {held.policy.baseline}")
        project = session.get(Project, name) or Project(name=name)
        project.baseline_kind, project.baseline = kind, baseline or ""
        project.level, project.question = level.word if level is not None else None, question.value
        project.updated_at = now()
        session.add(project)
        session.flush()
        return find_baseline(session, name)


def find_baseline(session: Session, name: str) -> Baseline:
    """Return the baseline of a project; raise ``Refusal`` where it has none."""
    found = baseline_of(session, name)
    if found is None:
        raise Refusal(problems.NO_BASELINE, f"project {name} has no baseline")
    return found


def baseline_of(session: Session, name: str) -> Baseline | None:
    """Return the baseline of a project, ``None`` where it has none.

    The level is the one that was named with it, else the one that the policy requires, else that of the question.
    """
    row, version = session.get(Project, name), policies.latest(session, name)
    held = policies.of_version(version) if version is not None else policies.NOTHING_IN_FORCE
    if version is not None and held.policy.baseline is not None:
        run, manifest = _run_or_manifest(held.policy.baseline)
        return Baseline(name, run, manifest, held.level(None, Question.COMPARE), Question.COMPARE, "policy",
                        version.received_at)
    if row is None:
        return None
    question = Question(row.question)
    level = Level.parse(row.level) if row.level is not None else None
    is_run = row.baseline_kind == "run"
    return Baseline(name, row.baseline if is_run else None, None if is_run else row.baseline,
                    held.level(level, question), question, "baseline", row.updated_at)


def _run_or_manifest(side: str) -> tuple[str | None, str | None]:
    if side.startswith(MANIFEST_PREFIX):
        return None, side.removeprefix(MANIFEST_PREFIX)
    return side, None
