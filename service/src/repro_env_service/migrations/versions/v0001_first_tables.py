"""The first tables: parts, observations, manifests, projects, and the index of runs and vectors.

Revision ID: 0001
Revises: nothing
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

DIGEST = sa.String(71)
WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create every table, those that others point to first."""
    create_parts()
    create_projects()
    create_vectors()
    create_manifests()
    create_observations()
    create_projections()
    create_runs()
    create_vector_classes()
    create_vector_lacks()


def create_parts() -> None:
    """Create ``parts``."""
    op.create_table(
        "parts",
        sa.Column("digest", DIGEST, nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("first_received_at", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("digest")
    )


def create_projects() -> None:
    """Create ``projects``."""
    op.create_table(
        "projects",
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("baseline_kind", sa.String(length=16), nullable=False),
        sa.Column("baseline", sa.String(length=260), nullable=False),
        sa.Column("level", sa.String(length=16), nullable=False),
        sa.Column("question", sa.String(length=16), nullable=False),
        sa.Column("updated_at", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("name")
    )


def create_vectors() -> None:
    """Create ``vectors``."""
    op.create_table(
        "vectors",
        sa.Column("digest", DIGEST, nullable=False),
        sa.Column("ruleset", sa.String(length=64), nullable=False),
        sa.Column("question", sa.String(length=16), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("digest")
    )


def create_manifests() -> None:
    """Create ``manifests``."""
    op.create_table(
        "manifests",
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("version", sa.String(length=128), nullable=False),
        sa.Column("document_digest", DIGEST, nullable=False),
        sa.Column("stack_digest", DIGEST, nullable=False),
        sa.Column("program_digest", DIGEST, nullable=False),
        sa.Column("rest", sa.LargeBinary(), nullable=False),
        sa.Column("image_digest", sa.String(), nullable=True),
        sa.Column("image_key", sa.String(), nullable=True),
        sa.Column("received_at", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(["program_digest"], ["parts.digest"]),
        sa.ForeignKeyConstraint(["stack_digest"], ["parts.digest"]),
        sa.PrimaryKeyConstraint("name", "version")
    )
    op.create_index("manifests_by_image_digest", "manifests", ["image_digest"], unique=False)
    op.create_index("manifests_by_image_key", "manifests", ["image_key"], unique=False)


def create_observations() -> None:
    """Create ``observations``."""
    op.create_table(
        "observations",
        sa.Column("id", sa.String(length=128), nullable=False),
        sa.Column("run_id", sa.String(length=128), nullable=False),
        sa.Column("project", sa.String(length=128), nullable=True),
        sa.Column("run_group", sa.String(length=128), nullable=True),
        sa.Column("document_digest", DIGEST, nullable=False),
        sa.Column("stack_digest", DIGEST, nullable=False),
        sa.Column("program_digest", DIGEST, nullable=False),
        sa.Column("rest", sa.LargeBinary(), nullable=False),
        sa.Column("schema_version", sa.String(length=16), nullable=False),
        sa.Column("vantage", sa.String(length=16), nullable=False),
        sa.Column("subject", sa.String(length=16), nullable=False),
        sa.Column("sequence", WHOLE, nullable=False),
        sa.Column("captured_at", sa.String(), nullable=False),
        sa.Column("node", sa.String(), nullable=True),
        sa.Column("rank", WHOLE, nullable=True),
        sa.Column("pid", WHOLE, nullable=True),
        sa.Column("world_size", WHOLE, nullable=True),
        sa.Column("job_key", sa.String(), nullable=True),
        sa.Column("received_at", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(["program_digest"], ["parts.digest"]),
        sa.ForeignKeyConstraint(["stack_digest"], ["parts.digest"]),
        sa.PrimaryKeyConstraint("id")
    )
    op.create_index("observations_by_job", "observations", ["job_key", "node"], unique=False)
    op.create_index("observations_by_run", "observations", ["run_id"], unique=False)
    op.create_index("observations_by_stack", "observations", ["stack_digest"], unique=False)


def create_projections() -> None:
    """Create ``projections``."""
    op.create_table(
        "projections",
        sa.Column("side_digest", DIGEST, nullable=False),
        sa.Column("question", sa.String(length=16), nullable=False),
        sa.Column("ruleset", sa.String(length=64), nullable=False),
        sa.Column("vector_digest", DIGEST, nullable=False),
        sa.ForeignKeyConstraint(["vector_digest"], ["vectors.digest"]),
        sa.PrimaryKeyConstraint("side_digest", "question", "ruleset")
    )


def create_runs() -> None:
    """Create ``runs``."""
    op.create_table(
        "runs",
        sa.Column("number", WHOLE, autoincrement=True, nullable=False),
        sa.Column("id", sa.String(length=128), nullable=False),
        sa.Column("project", sa.String(length=128), nullable=True),
        sa.Column("run_group", sa.String(length=128), nullable=True),
        sa.Column("scope", sa.String(length=16), nullable=False),
        sa.Column("vantage", sa.String(length=16), nullable=False),
        sa.Column("observations", WHOLE, nullable=False),
        sa.Column("ranks_seen", WHOLE, nullable=False),
        sa.Column("world_size", WHOLE, nullable=True),
        sa.Column("partial", sa.Boolean(), nullable=False),
        sa.Column("stacks", WHOLE, nullable=False),
        sa.Column("stack_digest", DIGEST, nullable=False),
        sa.Column("example_side", sa.String(), nullable=False),
        sa.Column("ruleset", sa.String(length=64), nullable=False),
        sa.Column("compare_vector", DIGEST, nullable=False),
        sa.Column("repeat_vector", DIGEST, nullable=False),
        sa.Column("first_received_at", sa.String(length=32), nullable=False),
        sa.Column("last_received_at", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(["compare_vector"], ["vectors.digest"]),
        sa.ForeignKeyConstraint(["repeat_vector"], ["vectors.digest"]),
        sa.PrimaryKeyConstraint("number"),
        sa.UniqueConstraint("id"),
        sqlite_autoincrement=True
    )
    op.create_index("runs_by_compare_vector", "runs", ["compare_vector"], unique=False)
    op.create_index("runs_by_project", "runs", ["project", "number"], unique=False)


def create_vector_classes() -> None:
    """Create ``vector_classes``."""
    op.create_table(
        "vector_classes",
        sa.Column("vector_digest", DIGEST, nullable=False),
        sa.Column("level", sa.String(length=16), nullable=False),
        sa.Column("scope", sa.String(length=16), nullable=False),
        sa.Column("key", DIGEST, nullable=True),
        sa.Column("failing", sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(["vector_digest"], ["vectors.digest"]),
        sa.PrimaryKeyConstraint("vector_digest", "level", "scope")
    )
    op.create_index("vector_classes_by_key", "vector_classes", ["key"], unique=False)


def create_vector_lacks() -> None:
    """Create ``vector_lacks``."""
    op.create_table(
        "vector_lacks",
        sa.Column("vector_digest", DIGEST, nullable=False),
        sa.Column("level", sa.String(length=16), nullable=False),
        sa.Column("scope", sa.String(length=16), nullable=False),
        sa.Column("path", sa.String(), nullable=False),
        sa.ForeignKeyConstraint(["vector_digest"], ["vectors.digest"]),
        sa.PrimaryKeyConstraint("vector_digest", "level", "scope", "path")
    )
