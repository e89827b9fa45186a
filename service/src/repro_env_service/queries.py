"""Lists and look-ups over runs: pages by cursor, the class of a run at a level, what keeps others out of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from repro_env.comparability.levels import Level, Scope
from sqlalchemy import ColumnElement, ScalarSelect, Select, func, literal, select
from sqlalchemy.orm import Session

from .tables import Observation, Run, VectorClass, VectorLack

MAX_PAGE = 200
LACKS_SHOWN = 10


@dataclass(frozen=True)
class Page:
    """Runs, newest first; ``next_cursor`` is ``None`` on the last page."""

    runs: tuple[Run, ...]
    next_cursor: int | None


@dataclass(frozen=True)
class Undetermined:
    """Runs that unread facts keep out of every class at a level, and which facts they lack most."""

    count: int
    lacking: tuple[tuple[str, int], ...]


def list_runs(session: Session, *, project: str | None, before: int | None, limit: int) -> Page:
    """Return one page of runs, newest first."""
    query = select(Run)
    if project is not None:
        query = query.where(Run.project == project)
    return page(session, query, before, limit)


def class_of(session: Session, run: Run, level: Level) -> tuple[VectorClass, tuple[str, ...]]:
    """Return the class of a run in its own scope, and the unread facts that keep it out of one."""
    place = (run.compare_vector, level.word, run.scope)
    found = session.get_one(VectorClass, place)
    lacking = session.scalars(select(VectorLack.path).where(
        VectorLack.vector_digest == place[0], VectorLack.level == place[1], VectorLack.scope == place[2])
        .order_by(VectorLack.path))
    return found, tuple(lacking)


def comparable_runs(session: Session, run: Run, level: Level, *, project: str | None, before: int | None,
                    limit: int) -> Page:
    """Return the runs guaranteed comparable with ``run`` at ``level``, by class key.

    Two runs seen in the process meet in scope ``process``; a pair with a side seen from outside in scope ``stack``.
    """
    keys = {row.scope: row.key for row in session.scalars(select(VectorClass).where(
        VectorClass.vector_digest == run.compare_vector, VectorClass.level == level.word))}
    wanted = [keys[scope] for scope in _scopes_met(run) if keys[scope] is not None]
    query = select(Run).join(VectorClass, _class_met(run, level)).where(VectorClass.key.in_(wanted), Run.id != run.id)
    if project is not None:
        query = query.where(Run.project == project)
    return page(session, query, before, limit)


def undetermined(session: Session, run: Run, level: Level, where: Sequence[ColumnElement[bool]] = (), *,
                 shown: int | None = LACKS_SHOWN) -> Undetermined:
    """Count the other runs whose unread facts leave open whether they compare with ``run`` at ``level``.

    ``where`` narrows the other runs; ``shown`` is how many facts are told, ``None`` for all.
    """
    query = select(func.count()).select_from(Run).join(VectorClass, _class_met(run, level)).where(
        VectorClass.key.is_(None), VectorClass.failing.is_(False), Run.id != run.id, *where)
    lacks = select(VectorLack.path, func.count()).select_from(Run).join(VectorClass, _class_met(run, level)).join(
        VectorLack, (VectorLack.vector_digest == VectorClass.vector_digest) & (VectorLack.level == VectorClass.level)
        & (VectorLack.scope == VectorClass.scope)).where(
        Run.id != run.id, *where).group_by(VectorLack.path).order_by(func.count().desc(), VectorLack.path).limit(shown)
    return Undetermined(session.scalar(query) or 0, tuple((path, count) for path, count in session.execute(lacks)))


def runs_on_stack(session: Session, digest: str, limit: int) -> tuple[int, tuple[str, ...]]:
    """Return how many runs had an observation on a stack, and the ids of the newest."""
    on_stack = select(Observation.run_id).where(Observation.stack_digest == digest)
    count = session.scalar(select(func.count(func.distinct(Observation.run_id))).where(
        Observation.stack_digest == digest)) or 0
    newest = session.scalars(select(Run.id).where(Run.id.in_(on_stack)).order_by(Run.number.desc()).limit(limit))
    return count, tuple(newest)


def listed(values: Sequence[str]) -> ScalarSelect[str]:
    """Return values as one parameter, however many there are: a statement takes a limited number."""
    rows = func.json_each(json.dumps(values)).table_valued("value")
    return select(rows.c.value).scalar_subquery()


def _scopes_met(run: Run) -> tuple[str, ...]:
    stack, process = Scope.STACK.value, Scope.PROCESS.value
    return (process, stack) if run.scope == process else (stack,)


def _class_met(run: Run, level: Level) -> ColumnElement[bool]:
    """Return the condition that joins a run with its class at ``level`` in the scope in which it meets ``run``."""
    return ((VectorClass.vector_digest == Run.compare_vector) & (VectorClass.level == level.word)
            & (VectorClass.scope == _scope_met_with(run)))


def _scope_met_with(run: Run) -> ColumnElement[str]:
    return Run.scope.expression if run.scope == Scope.PROCESS.value else literal(Scope.STACK.value)


def page(session: Session, query: Select[Run], before: int | None, limit: int) -> Page:
    """Cut one page; one more row than asked for tells whether there is a next one."""
    if before is not None:
        query = query.where(Run.number < before)
    rows = session.scalars(query.order_by(Run.number.desc()).limit(limit + 1)).all()
    more = len(rows) > limit
    return Page(tuple(rows[:limit]), rows[limit - 1].number if more else None)
