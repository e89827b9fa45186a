"""Bring the database to the schema of this service, and refuse one that a newer service wrote."""

from __future__ import annotations

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from . import __version__
from .errors import SchemaTooNew
from .storage import Storage


def upgrade(storage: Storage) -> tuple[str | None, str]:
    """Run the migrations that are missing; return the revision before and after. Nothing to do is no error."""
    config = configuration()
    script = ScriptDirectory.from_config(config)
    head = script.get_current_head() or ""
    with storage.opening(), storage.writer.begin() as connection:
        before = MigrationContext.configure(connection).get_current_revision()
        if before is not None and before not in {revision.revision for revision in script.walk_revisions()}:
            raise SchemaTooNew(f"the database in {storage.folder} has schema {before}, which repro-env-service "
                               f"{__version__} (schema {head}) does not know; start the newer service that wrote it, "
                               "or name another folder with --data")
        if before != head:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    return before, head


def configuration() -> Config:
    """Return Alembic's configuration for the migrations inside this package; no file on disk is needed."""
    config = Config()
    config.set_main_option("script_location", f"{__package__}:migrations")
    return config
