"""Projection vectors in the database: each distinct one stored once, with the class it belongs to at every level."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from typing import NamedTuple

from repro_env.canonical import digest_bytes, encode
from repro_env.comparability.levels import Level, Question, Scope
from repro_env.comparability.policy import NO_POLICY, Policy
from repro_env.comparability.rules import RULES, RULESET
from repro_env.comparability.vector import FAILS, UNREAD, Vector, class_key, from_text, keyed_rules, to_text
from sqlalchemy import select
from sqlalchemy.dialects.sqlite import insert
from sqlalchemy.orm import Session

from . import tables

#: name of the rule set with a digest over its rules and levels: vectors of another set are never met.
RULES_IN_FORCE = f"{RULESET}+" + digest_bytes(encode(
    [[rule.id, *(level.word for level in (rule.guaranteed, rule.expected, rule.possible)),
      [question.value for question in rule.questions]] for rule in RULES]))[7:15]


def store(session: Session, vector: Vector, question: Question) -> str:
    """Store ``vector`` if it is new, with its classes and lacks; return its digest."""
    text = to_text(vector)
    digest = _digest(text, question)
    if session.get(tables.Vector, digest) is None:
        session.execute(insert(tables.Vector).values(
            digest=digest, ruleset=RULES_IN_FORCE, question=question.value, content=zlib.compress(text.encode())))
        if question is Question.COMPARE:
            store_classes(session, digest, vector)
    return digest


def digest_of(vector: Vector, question: Question) -> str:
    """Return the digest under which ``vector`` is stored, or would be."""
    return _digest(to_text(vector), question)


def _digest(text: str, question: Question) -> str:
    return digest_bytes(f"{RULES_IN_FORCE} {question.value} {text}".encode())


def store_classes(session: Session, digest: str, vector: Vector) -> None:
    """Store the class of a vector at every level in both scopes, and the facts that keep it out of one."""
    for scope in Scope:
        for level in Level:
            found = fold(vector, level, scope)
            place = {"vector_digest": digest, "level": level.word, "scope": scope.value}
            session.execute(insert(tables.VectorClass).values(**place, key=found.key, failing=found.failing))
            for path in found.lacking:
                session.execute(insert(tables.VectorLack).values(**place, path=path))


class Folded(NamedTuple):
    """The class of a vector at a level, or what keeps it out of every one: a failed Condition, else unread facts."""

    key: str | None
    failing: bool = False
    lacking: tuple[str, ...] = ()


def fold(vector: Vector, level: Level, scope: Scope, policy: Policy = NO_POLICY) -> Folded:
    """Return the class of ``vector`` at ``level`` under ``policy``."""
    key = class_key(vector, level, scope, policy=policy)
    if key is not None:
        return Folded(key)
    counted = [vector[rule.id] for rule in keyed_rules(Question.COMPARE, scope) if policy.guaranteed_of(rule) < level]
    if any(entry.state == FAILS for entry in counted):
        return Folded(None, failing=True)
    lacking = {path for entry in counted if entry.state == UNREAD for path, _code in entry.lacking}
    return Folded(None, lacking=tuple(sorted(lacking)))


def load(session: Session, digest: str) -> Vector:
    """Return a stored vector."""
    return load_all(session, [digest])[digest]


def load_all(session: Session, digests: Iterable[str]) -> dict[str, Vector]:
    """Return stored vectors by digest."""
    rows = session.execute(select(tables.Vector.digest, tables.Vector.content)
                           .where(tables.Vector.digest.in_(set(digests))))
    return {digest: from_text(zlib.decompress(content).decode()) for digest, content in rows}
