"""Which runs are comparable with a run where a policy holds, which the index of classes does not cover.

``vector_classes`` holds the classes without a policy. Under another one they are folded from stored vectors, each
distinct one once. A policy holds between runs of its project alone, so the other runs are a part of their own.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from repro_env.comparability.levels import Level, Scope
from repro_env.comparability.policy import NO_POLICY, Policy
from sqlalchemy import ColumnElement, and_, false, func, or_, select
from sqlalchemy.orm import Session

from . import queries, vectors
from .tables import Run, VectorClass
from .vectors import Folded

#: folded classes kept in memory; one takes about a kilobyte.
KEPT = 20_000
_Place = tuple[str, str, Level, Scope]


@dataclass
class Folds:
    """Classes folded before. A vector is named by the digest of its contents and rules, so an entry never gets old."""

    kept: dict[_Place, Folded] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def of(self, session: Session, digests: Iterable[str], policy: Policy, level: Level, scope: Scope
           ) -> dict[str, Folded]:
        """Return the class of each stored vector; those not met before are read and folded."""
        places = {digest: (digest, policy.digest, level, scope) for digest in set(digests)}
        with self.lock:
            found = {digest: self.kept[place] for digest, place in places.items() if place in self.kept}
        stored = vectors.load_all(session, places.keys() - found.keys())
        made = {digest: vectors.fold(vector, level, scope, policy) for digest, vector in stored.items()}
        with self.lock:
            if len(self.kept) + len(made) > KEPT:
                self.kept.clear()
            self.kept.update({places[digest]: folded for digest, folded in list(made.items())[:KEPT]})
        return {**found, **made}


FOLDS = Folds()


@dataclass(frozen=True)
class Part:
    """The runs that meet a run under one policy."""

    where: tuple[ColumnElement[bool], ...]
    policy: Policy

    @property
    def indexed(self) -> bool:
        """Whether the index of classes covers the policy: nothing of it acts."""
        return self.policy.digest == NO_POLICY.digest


def parts_of(run: Run, inside: Policy, outside: Policy | None, project: str | None) -> tuple[Part, ...]:
    """Return the parts in which other runs meet ``run``: those of its project, and those outside it.

    Without ``outside`` the latter are left out. ``project`` narrows both to the runs of one.
    """
    narrow = () if project is None else (Run.project == project,)
    if run.project is None:
        return () if outside is None else (Part(narrow, outside),)
    own = Part((Run.project == run.project, *narrow), inside)
    return (own,) if outside is None else (own, Part((Run.project.is_distinct_from(run.project), *narrow), outside))


def class_of(session: Session, run: Run, level: Level, policy: Policy) -> Folded:
    """Return the class of a run in its own scope."""
    return FOLDS.of(session, [run.compare_vector], policy, level, Scope(run.scope))[run.compare_vector]


def comparable_runs(session: Session, run: Run, level: Level, parts: Iterable[Part], *, before: int | None, limit: int
                    ) -> queries.Page:
    """Return the runs guaranteed comparable with ``run`` at ``level``, newest first."""
    met = [and_(*part.where, _indexed(run, level) if part.indexed else _folded(session, run, level, part))
           for part in parts]
    return queries.page(session, select(Run).where(Run.id != run.id, or_(false(), *met)), before, limit)


def undetermined(session: Session, run: Run, level: Level, parts: Iterable[Part]) -> queries.Undetermined:
    """Count the other runs whose unread facts leave open whether they compare with ``run`` at ``level``."""
    count, lacking = 0, Counter[str]()
    for part in parts:
        if part.indexed:
            found = queries.undetermined(session, run, level, part.where, shown=None)
            count += found.count
            lacking.update(dict(found.lacking))
            continue
        for _, _, runs, folded in _groups(session, run, level, part):
            if folded.key is None and not folded.failing:
                count += runs
                lacking.update(dict.fromkeys(folded.lacking, runs))
    ordered = sorted(((path, runs) for path, runs in lacking.items() if runs), key=lambda row: (-row[1], row[0]))
    return queries.Undetermined(count, tuple(ordered[:queries.LACKS_SHOWN]))


def _groups(session: Session, run: Run, level: Level, part: Part) -> list[tuple[str, Scope, int, Folded]]:
    """Return each vector and scope among the other runs of a part, how many have it, and the class it meets with."""
    rows = [(vector, Scope(scope), count) for vector, scope, count in session.execute(
        select(Run.compare_vector, Run.scope, func.count()).where(Run.id != run.id, *part.where)
        .group_by(Run.compare_vector, Run.scope))]
    folded = {met: FOLDS.of(session, {vector for vector, scope, _ in rows if _meets(run, scope) is met}, part.policy,
                            level, met) for met in Scope}
    return [(vector, scope, count, folded[_meets(run, scope)][vector]) for vector, scope, count in rows]


def _folded(session: Session, run: Run, level: Level, part: Part) -> ColumnElement[bool]:
    """Return the condition of a run in the class of ``run``, from folded classes."""
    own = {met: FOLDS.of(session, [run.compare_vector], part.policy, level, met)[run.compare_vector].key
           for met in Scope}
    same: dict[Scope, list[str]] = {scope: [] for scope in Scope}
    for vector, scope, _, folded in _groups(session, run, level, part):
        if folded.key is not None and folded.key == own[_meets(run, scope)]:
            same[scope].append(vector)
    return or_(*(and_(Run.scope == scope.value, Run.compare_vector.in_(queries.listed(found)))
                 for scope, found in same.items()))


def _indexed(run: Run, level: Level) -> ColumnElement[bool]:
    """Return the condition of a run in the class of ``run``, from the index."""
    def own(scope: Scope) -> ColumnElement[str]:
        return select(VectorClass.key).where(
            VectorClass.vector_digest == run.compare_vector, VectorClass.level == level.word,
            VectorClass.scope == _meets(run, scope).value).scalar_subquery()

    return or_(*(and_(Run.scope == scope.value, Run.compare_vector.in_(
        select(VectorClass.vector_digest).where(VectorClass.key == own(scope)))) for scope in Scope))


def _meets(run: Run, scope: Scope) -> Scope:
    """Return the scope in which ``run`` meets a run of ``scope``."""
    return Scope.PROCESS if run.scope == scope.value == Scope.PROCESS.value else Scope.STACK
