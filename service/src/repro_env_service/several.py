"""Several stored sides at once: loaded in bulk, judged together, at a bounded cost."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from repro_env.comparability.levels import Level, Question, Scope
from repro_env.comparability.policy import Levels
from repro_env.comparability.several import Member, Several, several
from sqlalchemy import select
from sqlalchemy.orm import Session

from . import policies, problems, vectors
from .errors import Refusal
from .policies import InForce, PolicyWord
from .sides import MANIFEST_PREFIX, find_manifest, manifest_side, run_summary
from .storage import Storage
from .tables import Run

FEWEST, MOST = 2, 1000
#: distinct environments up to which the ends of each pair are told unasked: they grow with the square.
MATRIX_GROUPS = 200
NAMED = 10
#: a thousand distinct environments take seconds of processor time, so one request computes and the others wait.
WAIT_S = 10.0
_computing = threading.Lock()


@dataclass(frozen=True)
class AskedOfSeveral:
    """What is asked of several sides. ``policy`` is a word, a policy that holds for this request, or ``None``."""

    names: tuple[str, ...]
    question: Question = Question.COMPARE
    level: Level | None = None
    policy: PolicyWord | dict[str, Any] | None = None
    vary: tuple[str, ...] = ()
    matrix: bool | None = None


@dataclass(frozen=True)
class Loaded:
    """One side: how it is judged and what is said of it."""

    member: Member
    summary: dict[str, Any]


def compare_several(storage: Storage, asked: AskedOfSeveral) -> dict[str, Any]:
    """Return the answer about several sides, as the API tells it; raise ``Refusal`` for names that are not known."""
    refuse_names(asked.names)
    with storage.reading() as session:
        loaded = load(session, asked.names, asked.question)
        held = policy_for(session, asked.policy, loaded).varying(asked.vary)
    with one_at_a_time():
        found = several([side.member for side in loaded], question=asked.question,
                        level=held.level(asked.level, asked.question), policy=held.policy)
        return told(found, loaded, held, matrix=asked.matrix)


def refuse_names(names: Sequence[str]) -> None:
    """Raise ``Refusal`` for too few, too many, or a name that stands twice."""
    if not FEWEST <= len(names) <= MOST:
        raise Refusal(problems.INVALID_REQUEST, f"expected {FEWEST} to {MOST} runs, got {len(names)}", field="runs")
    twice = sorted(name for name, count in Counter(names).items() if count > 1)
    if twice:
        raise Refusal(problems.INVALID_REQUEST, f"expected each run once; {_listed(twice)} more than once",
                      field="runs")


def load(session: Session, names: Sequence[str], question: Question) -> list[Loaded]:
    """Return the sides in the order of their names; raise ``Refusal`` naming every run that is not known."""
    known = {run.id: run for run in session.scalars(select(Run).where(Run.id.in_(names)))}
    missing = [name for name in names if name not in known and not name.startswith(MANIFEST_PREFIX)]
    if missing:
        raise Refusal(problems.UNKNOWN_RUN, f"no observation has arrived of {_listed(missing)}", field="runs")
    stored = {name: run.compare_vector if question is Question.COMPARE else run.repeat_vector
              for name, run in known.items()}
    contents = vectors.load_all(session, stored.values())
    return [_run(known[name], Member(name, contents[stored[name]], Scope(known[name].scope), stored[name]))
            if name in known else _manifest(session, name, question) for name in names]


def _run(run: Run, member: Member) -> Loaded:
    return Loaded(member, {**run_summary(run), "name": run.id, "observations": run.observations, "vector": member.key})


def _manifest(session: Session, name: str, question: Question) -> Loaded:
    side = manifest_side(session, find_manifest(session, name.removeprefix(MANIFEST_PREFIX)), question)
    digest = vectors.digest_of(side.vector, question)
    return Loaded(Member(name, side.vector, side.scope, digest),
                  {**side.summary, "name": name, "observations": 1, "vector": digest})


def policy_for(session: Session, asked: PolicyWord | dict[str, Any] | None, loaded: Sequence[Loaded]) -> InForce:
    """Return the one policy that all sides are judged by; manifests belong to any project.

    Asked for nothing, it is that of the project of all runs, where they have one. Raise ``Refusal`` where the policy of
    a project is asked for and the runs belong to several or to none.
    """
    if isinstance(asked, dict):
        return InForce(policies.read_policy(asked))
    projects = {side.summary["project"] for side in loaded if side.summary["run_id"] is not None}
    if asked == "project" and len(projects) > 1:
        named = sorted("none" if project is None else project for project in projects)
        raise Refusal(problems.INVALID_REQUEST, f"expected runs of one project, got {_listed(named)}; ask with policy "
                                                "none, or state a policy", field="policy")
    return policies.NOTHING_IN_FORCE if len(projects) > 1 else policies.of_run(
        session, asked, projects.pop() if projects else None)


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Let one request compute; raise ``Refusal`` where the others take too long."""
    if not _computing.acquire(timeout=WAIT_S):
        raise Refusal(problems.BUSY, f"other comparisons of many runs have taken {WAIT_S:g} s")
    try:
        yield
    finally:
        _computing.release()


def told(found: Several, loaded: Sequence[Loaded], held: InForce, *, matrix: bool | None) -> dict[str, Any]:
    """Return what the API tells: the ends of each pair are left out where they are many and not asked for."""
    whole = len(found.groups) <= MATRIX_GROUPS if matrix is None else matrix
    ends = {} if whole else dict.fromkeys(Levels._fields, None)
    answer = (found if whole else replace(found, guaranteed=(), expected=(), possible=())).to_json()
    return {**answer, **ends, "terms": held.terms, "in_force": held.to_json(),
            "runs": [side.summary for side in loaded]}


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:NAMED])
    return f"{shown} and {len(names) - NAMED} more" if len(names) > NAMED else shown
