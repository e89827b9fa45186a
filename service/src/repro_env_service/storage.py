"""The database: one data folder, one process, one writer at a time, acknowledged only after a synced commit.

SQLite in WAL mode with full sync. Only the writer connection commits and checkpoints; readers cannot write
(``query_only``), which keeps clear of the WAL-reset fault of SQLite before 3.51.3 (two connections racing a
checkpoint). A lock file refuses a second process on the same folder.
"""

from __future__ import annotations

import fcntl
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Engine, create_engine, event, text
from sqlalchemy.exc import DatabaseError
from sqlalchemy.orm import Session
from sqlalchemy.pool import QueuePool

from .errors import DataFolderInUse, StartError
from .settings import Settings

DATABASE_NAME = "repro-env.sqlite3"
LOCK_NAME = "repro-env.lock"
READERS = 8


class Storage:
    """The open database of one data folder. ``close`` it, or the folder stays locked until the process ends."""

    def __init__(self, settings: Settings) -> None:
        self.folder = settings.data
        self.path = settings.data / DATABASE_NAME
        self._lock_file: int | None = hold_folder(settings.data)
        self._write_lock = threading.Lock()
        self.writer = _engine(self.path, settings.busy_timeout_s, begin="BEGIN IMMEDIATE", read_only=False)
        self.readers = _engine(self.path, settings.busy_timeout_s, begin="BEGIN", read_only=True)

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """Yield a session whose commit is durable when the block ends; roll back on any error."""
        with self._write_lock, Session(self.writer, expire_on_commit=False) as session, session.begin():
            yield session

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """Yield a session on one consistent state of the database; it cannot write."""
        with Session(self.readers, expire_on_commit=False) as session:
            yield session

    def ready(self) -> None:
        """Raise ``OperationalError`` where the database cannot be read."""
        with self.readers.connect() as connection:
            connection.execute(text("SELECT 1 FROM alembic_version")).one()

    @contextmanager
    def opening(self) -> Iterator[None]:
        """Turn what the database says against being opened into ``StartError``: no database, damaged, full."""
        try:
            yield
        except DatabaseError as error:
            raise StartError(f"the database {self.path} cannot be used: {error.orig}; look at free disk space and "
                             "permissions, restore the file, or name another folder with --data") from error

    def close(self) -> None:
        """Close every connection and give the folder free. Closing again changes nothing."""
        self.readers.dispose()
        self.writer.dispose()
        if self._lock_file is not None:
            os.close(self._lock_file)
            self._lock_file = None


def hold_folder(folder: Path) -> int:
    """Make and lock the data folder; return the descriptor that holds the lock. The system frees it on any death."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StartError(f"the data folder {folder} cannot be used: {error.strerror}; name another with --data"
                         ) from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        os.close(descriptor)
        raise DataFolderInUse(f"the data folder {folder} is in use by another repro-env-service; stop it, or name "
                              "another folder with --data") from error
    return descriptor


def _engine(path: Path, busy_timeout_s: float, *, begin: str, read_only: bool) -> Engine:
    """Return an engine whose transactions start with ``begin``; the driver's own transaction control is off."""
    size = READERS if read_only else 1
    engine = create_engine(f"sqlite:///{path}", poolclass=QueuePool, pool_size=size, max_overflow=0,
                           connect_args={"timeout": busy_timeout_s, "check_same_thread": False})

    @event.listens_for(engine, "connect")
    def configure(connection: Any, _record: Any) -> None:
        connection.isolation_level = None
        for statement in _pragmas(read_only=read_only):
            connection.execute(statement)

    @event.listens_for(engine, "begin")
    def start(connection: Any) -> None:
        connection.exec_driver_sql(begin)

    return engine


def _pragmas(*, read_only: bool) -> tuple[str, ...]:
    shared = ("PRAGMA foreign_keys=ON", "PRAGMA trusted_schema=OFF", "PRAGMA recursive_triggers=ON",
              "PRAGMA synchronous=FULL")
    if read_only:
        return (*shared, "PRAGMA query_only=ON", "PRAGMA wal_autocheckpoint=0")
    return ("PRAGMA journal_mode=WAL", *shared)
