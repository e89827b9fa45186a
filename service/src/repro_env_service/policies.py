"""Policies of projects: versions that are only added to, and which of them a verdict is judged by.

A policy holds for the runs of its project. What it says, and what it may say, ``repro_env.comparability.policy`` owns.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal

from repro_env.canonical import check_canonical, digest_bytes, encode
from repro_env.comparability.levels import Level, Question
from repro_env.comparability.policy import NO_POLICY, Policy
from repro_env.comparability.rules import RULES_BY_ID
from repro_env.errors import InvalidDocument
from sqlalchemy import select
from sqlalchemy.orm import Session

from . import documents, problems
from .errors import Refusal
from .ingest import now
from .sides import MANIFEST_PREFIX, Judged, find_manifest, find_run
from .storage import Storage
from .tables import PolicyVersion

#: every verdict carries the policy it was judged by.
MAX_CONTENT_BYTES = 1 << 16
MAX_NAME = 128
#: what a request may say of the policy; without it the one of the project that both sides belong to, where it has one.
PolicyWord = Literal["project", "none"]


@dataclass(frozen=True)
class InForce:
    """A policy and where it is kept; ``project`` and ``version`` are ``None`` for one that is not stored.

    ``notes`` say which of its entries mean nothing under the rule set in force.
    """

    policy: Policy = NO_POLICY
    project: str | None = None
    version: int | None = None
    notes: tuple[str, ...] = ()

    def level(self, asked: Level | None, question: Question) -> Level:
        """Return the level that is asked for: the one named, else the policy's, else the default of the question."""
        return asked if asked is not None else self.policy.require or question.default_level

    def varying(self, words: Iterable[str]) -> InForce:
        """Return this policy with further words for what varies; raise ``Refusal`` for one that covers no rule."""
        told = tuple(words)
        if not told:
            return self
        try:
            return replace(self, policy=self.policy.varying(told))
        except InvalidDocument as error:
            raise Refusal(problems.INVALID_REQUEST, error.problem, field="vary") from error

    @property
    def terms(self) -> dict[str, Any]:
        """What the policy says, as it is sent; nothing where there is none."""
        return {} if self.policy is NO_POLICY else self.policy.to_json()

    def to_json(self) -> dict[str, Any]:
        """Return what answers say of it."""
        return {"project": self.project, "version": self.version, "name": self.policy.name,
                "digest": self.policy.digest, "require": self.policy.require.word if self.policy.require else None,
                "vary": list(self.policy.vary), "notes": list(self.notes)}


NOTHING_IN_FORCE = InForce()


def store_policy(storage: Storage, project: str, sent: Any, expected: Expected, *, text: str = ""
                 ) -> tuple[PolicyVersion, bool]:
    """Store ``sent`` as the next version of a project's policy; return the version in force and whether it is new.

    What is in force already is no new version, whatever the sender expects: a request that is sent again changes
    nothing. Raise ``Refusal`` where it is no policy, naming the line of ``text``, or where another version is in force
    than the sender expects.
    """
    policy = read_policy(sent, text)
    content = encode(sent)
    if len(content) > MAX_CONTENT_BYTES:
        raise Refusal(problems.TOO_LARGE, f"expected a policy of at most {MAX_CONTENT_BYTES} bytes, got {len(content)}")
    with storage.writing() as session:
        known = latest(session, project)
        if known is not None and known.content_digest == digest_bytes(content):
            return known, False
        expected.check(project, known)
        check_baseline(session, policy.baseline)
        row = PolicyVersion(project=project, version=known.version + 1 if known is not None else 1, name=policy.name,
                            digest=policy.digest, content_digest=digest_bytes(content), content=zlib.compress(content),
                            received_at=now())
        session.add(row)
    return row, True


@dataclass(frozen=True)
class Expected:
    """The version that a sender takes to be in force (``If-Match``): ``None`` for any, ``()`` for any there is."""

    versions: tuple[int, ...] | None = None

    def check(self, project: str, known: PolicyVersion | None) -> None:
        """Raise ``Refusal`` where another version is in force."""
        if self.versions is None or (known is not None and (not self.versions or known.version in self.versions)):
            return
        found = f"version {known.version} is" if known is not None else "none is"
        raise Refusal(problems.OTHER_VERSION, f"expected {self._words()} of the policy of project {project} to be in "
                                              f"force, {found}", field="If-Match")

    def _words(self) -> str:
        return " or ".join(f"version {version}" for version in self.versions or ()) or "a version"


def read_policy(value: Any, text: str = "") -> Policy:
    """Return the policy that JSON states; raise ``Refusal`` naming the wrong field, and its line in ``text``."""
    try:
        policy = Policy.parse(value, RULES_BY_ID)
        check_canonical(value, "policy")
        _check_name(policy.name)
    except InvalidDocument as error:
        line = line_of(text, error.field)
        where = f"line {line}: " if line is not None else ""
        raise Refusal(problems.INVALID_POLICY, f"{where}{error}", field=error.field) from error
    return policy


def _check_name(name: str) -> None:
    if len(name) > MAX_NAME:
        raise InvalidDocument("policy.name", f"expected at most {MAX_NAME} characters, got {len(name)}")


def line_of(text: str, field_name: str) -> int | None:
    """Return the line of JSON text in which the last name of a dotted field stands; ``None`` in a text of one line."""
    at = 0
    for name in field_name.split(".")[1:]:
        found = text.find(json.dumps(name), at)
        if found < 0:
            break
        at = found
    return text.count("\n", 0, at) + 1 if at and "\n" in text.strip() else None


def check_baseline(session: Session, baseline: str | None) -> None:
    """Raise ``Refusal`` for a baseline that is neither a known run nor ``manifest:`` with a known name and version."""
    if baseline is None:
        return
    if baseline.startswith(MANIFEST_PREFIX):
        find_manifest(session, baseline.removeprefix(MANIFEST_PREFIX))
    else:
        find_run(session, baseline)


def latest(session: Session, project: str) -> PolicyVersion | None:
    """Return the version of a project's policy that is in force."""
    return session.scalar(select(PolicyVersion).where(PolicyVersion.project == project)
                          .order_by(PolicyVersion.version.desc()).limit(1))


def find_version(session: Session, project: str, version: int | None = None) -> PolicyVersion:
    """Return one version of a project's policy, the one in force where none is named; raise ``Refusal``."""
    row = latest(session, project) if version is None else session.get(PolicyVersion, (project, version))
    if row is None:
        which = f"version {version} of a policy" if version is not None else "policy"
        raise Refusal(problems.NO_POLICY, f"project {project} has no {which}")
    return row


def versions_of(session: Session, project: str, before: int | None, limit: int
                ) -> tuple[list[PolicyVersion], int | None]:
    """Return a page of versions, newest first, and the cursor of the next page."""
    query = select(PolicyVersion).where(PolicyVersion.project == project).order_by(PolicyVersion.version.desc())
    if before is not None:
        query = query.where(PolicyVersion.version < before)
    rows = list(session.scalars(query.limit(limit + 1)))
    return rows[:limit], rows[limit - 1].version if len(rows) > limit else None


def content_of(row: PolicyVersion) -> dict[str, Any]:
    """Return a policy as it was sent."""
    content: dict[str, Any] = documents.decode(row.content)
    return content


def in_force(session: Session, project: str | None) -> InForce:
    """Return the policy of a project, or that nothing is changed where it has none."""
    row = latest(session, project) if project is not None else None
    return of_version(row) if row is not None else NOTHING_IN_FORCE


def of_version(row: PolicyVersion) -> InForce:
    """Return a stored version as it acts under the rule set in force."""
    policy, notes = still_meant(content_of(row))
    return InForce(policy, row.project, row.version, notes)


def still_meant(content: dict[str, Any]) -> tuple[Policy, tuple[str, ...]]:
    """Return what a stored policy says under the rule set in force, and which entries this rule set has no use for.

    A rule may have gone, or have got levels that the changed ones no longer fit. Without its entry it counts as the
    rule set says; the entry is told, not lost.
    """
    told: dict[str, Any] = {name: dict(value) if isinstance(value, dict) else value
                            for name, value in content.items()}
    notes: list[str] = []
    while True:
        try:
            return Policy.parse(told, RULES_BY_ID), tuple(notes)
        except InvalidDocument as error:
            _, table, rule, *_ = [*error.field.split(".", 3), "", ""]
            if table == "vary":
                told["vary"], gone = _known_words(told["vary"])
                notes += gone
            elif isinstance(told.get(table), dict) and rule in told[table]:
                del told[table][rule]
                notes.append(f"{error.field} has no effect: {error.problem}")
            else:
                raise


def _known_words(words: list[str]) -> tuple[list[str], list[str]]:
    known, notes = [], []
    for word in words:
        try:
            Policy.parse({"vary": [word]}, RULES_BY_ID)
            known.append(word)
        except InvalidDocument as error:
            notes.append(f"{error.field} has no effect: {error.problem}")
    return known, notes


def choose(session: Session, asked: PolicyWord | None, expected: Judged, observed: Judged) -> InForce:
    """Return the policy that two sides are judged by.

    Asked for nothing, it is that of the project to which both belong; a manifest belongs to any. Asked for
    ``project``, it is that of the observed run, else of the expected one; raise ``Refusal`` where there is none.
    """
    projects = [side.project for side in (observed, expected) if side.summary["run_id"] is not None]
    if asked is None and len(set(projects)) != 1:
        return NOTHING_IN_FORCE
    return of_run(session, asked, next((project for project in projects if project is not None), None))


def of_run(session: Session, asked: PolicyWord | None, project: str | None) -> InForce:
    """Return the policy that a run of ``project`` is held to; raise ``Refusal`` where it is asked for and not there."""
    if asked == "project":
        if project is None:
            raise Refusal(problems.NO_POLICY, "the run belongs to no project, so there is no policy of one",
                          field="policy")
        return of_version(find_version(session, project))
    return NOTHING_IN_FORCE if asked == "none" else in_force(session, project)
