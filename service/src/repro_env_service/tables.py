"""The tables. ``parts``, ``observations``, ``manifests`` and ``policies`` hold what was received and are only added to.

``runs``, ``vectors``, ``projections``, ``vector_classes`` and ``vector_lacks`` are an index: all of it can be made
again from the former (``folding.refresh_stale``). Digests are ``sha256:<hex>``, times RFC 3339 UTC text.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, ForeignKey, Index, Integer, LargeBinary, String
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

DIGEST = String(71)
#: documents hold integers up to 2^53-1; SQLite takes them in its INTEGER, which a counting key must be.
WHOLE = BigInteger().with_variant(Integer(), "sqlite")


class Base(DeclarativeBase):
    """Base of every table."""

    type_annotation_map = {int: WHOLE}  # noqa: RUF012  # SQLAlchemy reads it from the class


class Part(Base):
    """A distinct stack or program: zlib-compressed canonical bytes, stored once under their digest."""

    __tablename__ = "parts"
    digest: Mapped[str] = mapped_column(DIGEST, primary_key=True)
    content: Mapped[bytes] = mapped_column(LargeBinary)
    first_received_at: Mapped[str] = mapped_column(String(32))


class Observation(Base):
    """One document. ``rest`` is everything but stack and program; the columns repeat what is looked up by.

    ``document_digest`` covers the document without the digests its sender claims: a claim says nothing new.
    ``job_key`` is the job whatever its restarts, ``restart`` which of them, ``segment`` which start of the run.
    """

    __tablename__ = "observations"
    __table_args__ = (Index("observations_by_run", "run_id"), Index("observations_by_job", "job_key", "node"),
                      Index("observations_by_stack", "stack_digest"))
    id: Mapped[str] = mapped_column(String(128), primary_key=True)
    run_id: Mapped[str] = mapped_column(String(128))
    project: Mapped[str | None] = mapped_column(String(128))
    group: Mapped[str | None] = mapped_column("run_group", String(128))
    document_digest: Mapped[str] = mapped_column(DIGEST)
    stack_digest: Mapped[str] = mapped_column(ForeignKey("parts.digest"))
    program_digest: Mapped[str] = mapped_column(ForeignKey("parts.digest"))
    rest: Mapped[bytes] = mapped_column(LargeBinary)
    schema_version: Mapped[str] = mapped_column(String(16))
    vantage: Mapped[str] = mapped_column(String(16))
    subject: Mapped[str] = mapped_column(String(16))
    sequence: Mapped[int]
    captured_at: Mapped[str]
    node: Mapped[str | None]
    rank: Mapped[int | None]
    pid: Mapped[int | None]
    world_size: Mapped[int | None]
    job_key: Mapped[str | None]
    restart: Mapped[int | None]
    segment: Mapped[str | None]
    received_at: Mapped[str] = mapped_column(String(32))


class Vector(Base):
    """A distinct projection vector (``repro_env.comparability.vector``), stored once under the digest of its text."""

    __tablename__ = "vectors"
    digest: Mapped[str] = mapped_column(DIGEST, primary_key=True)
    ruleset: Mapped[str] = mapped_column(String(64))
    question: Mapped[str] = mapped_column(String(16))
    content: Mapped[bytes] = mapped_column(LargeBinary)


class Projection(Base):
    """The vector of one judged side: ``side_digest`` covers vantage, stack, program and the stacks that fill it."""

    __tablename__ = "projections"
    side_digest: Mapped[str] = mapped_column(DIGEST, primary_key=True)
    question: Mapped[str] = mapped_column(String(16), primary_key=True)
    ruleset: Mapped[str] = mapped_column(String(64), primary_key=True)
    vector_digest: Mapped[str] = mapped_column(ForeignKey("vectors.digest"))


class VectorClass(Base):
    """The class a vector belongs to at one level in one scope. ``key`` is null where it belongs to none.

    ``failing`` tells that a Condition which was read keeps it out; else unread facts do (``vector_lacks``).
    """

    __tablename__ = "vector_classes"
    __table_args__ = (Index("vector_classes_by_key", "key"),)
    vector_digest: Mapped[str] = mapped_column(ForeignKey("vectors.digest"), primary_key=True)
    level: Mapped[str] = mapped_column(String(16), primary_key=True)
    scope: Mapped[str] = mapped_column(String(16), primary_key=True)
    key: Mapped[str | None] = mapped_column(DIGEST)
    failing: Mapped[bool]


class VectorLack(Base):
    """An unread fact that keeps a vector out of every class at one level in one scope."""

    __tablename__ = "vector_lacks"
    vector_digest: Mapped[str] = mapped_column(ForeignKey("vectors.digest"), primary_key=True)
    level: Mapped[str] = mapped_column(String(16), primary_key=True)
    scope: Mapped[str] = mapped_column(String(16), primary_key=True)
    path: Mapped[str] = mapped_column(primary_key=True)


class Run(Base):
    """A run as far as it was seen. ``number`` is the order of first arrival and the cursor of lists.

    ``example_side`` is a JSON list: the observation that stands for the run in ignored differences, then those that
    fill it.
    """

    __tablename__ = "runs"
    __table_args__ = (Index("runs_by_project", "project", "number"), Index("runs_by_compare_vector", "compare_vector"),
                      {"sqlite_autoincrement": True})
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    id: Mapped[str] = mapped_column(String(128), unique=True)
    project: Mapped[str | None] = mapped_column(String(128))
    group: Mapped[str | None] = mapped_column("run_group", String(128))
    scope: Mapped[str] = mapped_column(String(16))
    vantage: Mapped[str] = mapped_column(String(16))
    observations: Mapped[int]
    ranks_seen: Mapped[int]
    world_size: Mapped[int | None]
    partial: Mapped[bool]
    stacks: Mapped[int]
    stack_digest: Mapped[str] = mapped_column(DIGEST)
    example_side: Mapped[str]
    ruleset: Mapped[str] = mapped_column(String(64))
    compare_vector: Mapped[str] = mapped_column(ForeignKey("vectors.digest"))
    repeat_vector: Mapped[str] = mapped_column(ForeignKey("vectors.digest"))
    first_received_at: Mapped[str] = mapped_column(String(32))
    last_received_at: Mapped[str] = mapped_column(String(32))


class Manifest(Base):
    """What the inside of an image must look like: a document of vantage ``image`` under a name and version."""

    __tablename__ = "manifests"
    __table_args__ = (Index("manifests_by_image_digest", "image_digest"), Index("manifests_by_image_key", "image_key"))
    name: Mapped[str] = mapped_column(String(128), primary_key=True)
    version: Mapped[str] = mapped_column(String(128), primary_key=True)
    document_digest: Mapped[str] = mapped_column(DIGEST)
    stack_digest: Mapped[str] = mapped_column(ForeignKey("parts.digest"))
    program_digest: Mapped[str] = mapped_column(ForeignKey("parts.digest"))
    rest: Mapped[bytes] = mapped_column(LargeBinary)
    image_digest: Mapped[str | None]
    image_key: Mapped[str | None]
    received_at: Mapped[str] = mapped_column(String(32))


class Project(Base):
    """A project and its baseline: a run id, or a manifest as ``name/version``; level and question it is held to.

    ``level`` is null where none was named: what the policy requires, else the default of the question.
    """

    __tablename__ = "projects"
    name: Mapped[str] = mapped_column(String(128), primary_key=True)
    baseline_kind: Mapped[str] = mapped_column(String(16))
    baseline: Mapped[str] = mapped_column(String(260))
    level: Mapped[str | None] = mapped_column(String(16))
    question: Mapped[str] = mapped_column(String(16))
    updated_at: Mapped[str] = mapped_column(String(32))


class PolicyVersion(Base):
    """One version of a project's policy: versions count from 1 and the highest is in force.

    ``content`` is what was sent, compressed canonical bytes, and ``content_digest`` is over those; ``digest`` is over
    what acts alone (``repro_env.comparability.policy``), as it was when the version was stored.
    """

    __tablename__ = "policies"
    project: Mapped[str] = mapped_column(String(128), primary_key=True)
    version: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(String(128))
    digest: Mapped[str] = mapped_column(DIGEST)
    content_digest: Mapped[str] = mapped_column(DIGEST)
    content: Mapped[bytes] = mapped_column(LargeBinary)
    received_at: Mapped[str] = mapped_column(String(32))
