"""Policies of projects, a row a version; a baseline need not name its level.

Revision ID: 0003
Revises: 0002
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

DIGEST = sa.String(71)
WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create ``policies``, and let ``projects.level`` be null."""
    op.create_table(
        "policies",
        sa.Column("project", sa.String(length=128), nullable=False),
        sa.Column("version", WHOLE, nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("digest", DIGEST, nullable=False),
        sa.Column("content_digest", DIGEST, nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("received_at", sa.String(length=32), nullable=False),
        sa.PrimaryKeyConstraint("project", "version")
    )
    with op.batch_alter_table("projects") as projects:
        projects.alter_column("level", existing_type=sa.String(length=16), nullable=True)
