"""The migration chain makes the tables of the code, from nothing and from every revision; a newer one is refused."""

from __future__ import annotations

import sqlite3

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import text
from sqlalchemy.exc import IntegrityError, OperationalError

from repro_env.comparability.levels import Level, Question
from repro_env_service.baselines import Baseline, baseline_of
from repro_env_service.errors import DataFolderInUse, SchemaTooNew, StartError
from repro_env_service.policies import latest
from repro_env_service.settings import Settings
from repro_env_service.storage import DATABASE_NAME, Storage
from repro_env_service.tables import Base
from repro_env_service.upgrade import configuration, upgrade

REVISIONS = [revision.revision for revision in ScriptDirectory.from_config(configuration()).walk_revisions()][::-1]


@pytest.fixture
def storage(tmp_path):
    storage = Storage(Settings(data=tmp_path / "data"))
    yield storage
    storage.close()


def test_migrations_make_the_tables_of_the_code(storage):
    assert upgrade(storage) == (None, REVISIONS[-1])
    with storage.writer.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []


@pytest.mark.parametrize("revision", REVISIONS)
def test_database_of_every_revision_is_brought_up_to_date(storage, revision):
    with storage.writer.begin() as connection:
        config = configuration()
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
    assert upgrade(storage) == (revision, REVISIONS[-1])
    with storage.writer.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []


@pytest.mark.parametrize("revision", ["0001", "0002"])
def test_baselines_stored_before_policies_keep_their_level(storage, revision):
    with storage.writer.begin() as connection:
        config = configuration()
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        connection.execute(text("INSERT INTO projects VALUES ('vision', 'run', 'r1', 'curve', 'compare', 'then'), "
                                "('speech', 'manifest', 'base/1', 'bitwise', 'repeat', 'now')"))
    assert upgrade(storage) == (revision, REVISIONS[-1])
    with storage.reading() as session:
        held = [baseline_of(session, name) for name in ("vision", "speech", "none")]
        assert latest(session, "vision") is None
    assert held == [Baseline("vision", "r1", None, Level.CURVE, Question.COMPARE, "baseline", "then"),
                    Baseline("speech", None, "base/1", Level.BITWISE, Question.REPEAT, "baseline", "now"), None]


def test_chain_is_one_line_from_the_first_table():
    script = ScriptDirectory.from_config(configuration())
    assert len(script.get_heads()) == 1
    assert sorted(REVISIONS) == REVISIONS


@pytest.mark.parametrize("content", [b"no database" * 1000, b"SQLite format 3\0" + b"\xff" * 8192],
                         ids=["foreign", "damaged"])
def test_file_that_is_no_database_is_refused_in_a_sentence(tmp_path, content):
    (tmp_path / DATABASE_NAME).write_bytes(content)
    storage = Storage(Settings(data=tmp_path))
    try:
        with pytest.raises(StartError, match=r"cannot be used: .*--data"):
            upgrade(storage)
    finally:
        storage.close()
    assert (tmp_path / DATABASE_NAME).read_bytes() == content


def test_upgrading_again_does_nothing(storage):
    upgrade(storage)
    assert upgrade(storage) == (REVISIONS[-1], REVISIONS[-1])


def test_documents_survive_a_restart(make_api, observation, tmp_path):
    first = make_api(tmp_path)
    first.send(observation())
    before = first.get("/v1/runs/r1").json()
    first.storage.close()
    assert make_api(tmp_path).get("/v1/runs/r1").json() == before


def test_newer_schema_is_refused_and_left_alone(make_api, tmp_path):
    make_api(tmp_path).storage.close()
    with sqlite3.connect(tmp_path / DATABASE_NAME) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    with pytest.raises(SchemaTooNew, match=r"schema 9999.*start the newer service"):
        make_api(tmp_path)
    connection = sqlite3.connect(tmp_path / DATABASE_NAME)
    assert connection.execute("SELECT version_num FROM alembic_version").fetchall() == [("9999",)]
    connection.close()
    Storage(Settings(data=tmp_path)).close()


def test_second_service_on_one_folder_is_refused(storage):
    with pytest.raises(DataFolderInUse, match="in use by another repro-env-service"):
        Storage(Settings(data=storage.folder))


def test_folder_that_cannot_be_made_is_refused_with_the_reason(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StartError, match=r"Not a directory.*--data"):
        Storage(Settings(data=tmp_path / "file" / "data"))


def test_database_is_durable_and_strict(storage):
    for engine in (storage.writer, storage.readers):
        with engine.connect() as connection:
            told = {name: connection.execute(text(f"PRAGMA {name}")).scalar()
                    for name in ("journal_mode", "synchronous", "foreign_keys", "busy_timeout")}
        assert told == {"journal_mode": "wal", "synchronous": 2, "foreign_keys": 1, "busy_timeout": 5000}


def test_a_version_of_a_policy_is_stored_once(storage):
    upgrade(storage)
    row = text("INSERT INTO policies VALUES ('vision', 1, 'a', 'd', 'c', x'', 'now')")
    with storage.writing() as session:
        session.execute(row)
    with pytest.raises(IntegrityError), storage.writing() as session:
        session.execute(row)


def test_readers_cannot_write(storage):
    upgrade(storage)
    with pytest.raises(OperationalError, match="readonly"), storage.reading() as session:
        session.execute(text("DELETE FROM runs"))


def test_observation_without_its_parts_cannot_be_stored(storage):
    upgrade(storage)
    with pytest.raises(IntegrityError), storage.writing() as session:
        session.execute(text("INSERT INTO manifests VALUES ('a', '1', 'd', 's', 'p', x'', NULL, NULL, 'now')"))
