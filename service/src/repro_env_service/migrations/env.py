"""Alembic's entry: migrates the connection that ``upgrade`` hands over, inside its transaction."""

from __future__ import annotations

from alembic import context

from repro_env_service.tables import Base

context.configure(connection=context.config.attributes["connection"], target_metadata=Base.metadata,
                  transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()
