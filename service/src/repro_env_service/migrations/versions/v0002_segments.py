"""Observations tell which start of their run they belong to; the key of a job no longer holds its restart.

Revision ID: 0002
Revises: 0001
"""

from __future__ import annotations

import json

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

WHOLE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Add ``restart`` and ``segment``, and take the restart out of ``job_key``."""
    op.add_column("observations", sa.Column("restart", WHOLE, nullable=True))
    op.add_column("observations", sa.Column("segment", sa.String(), nullable=True))
    connection = op.get_bind()
    keys = connection.execute(sa.text("SELECT DISTINCT job_key FROM observations WHERE job_key IS NOT NULL"))
    for (key,) in keys.all():
        *job, restart = json.loads(str(key))
        changed = {"old": key, "restart": restart, "new": json.dumps(job, separators=(",", ":"), ensure_ascii=False)}
        connection.execute(sa.text("UPDATE observations SET job_key = :new, restart = :restart WHERE job_key = :old"),
                           changed)
