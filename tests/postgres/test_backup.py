"""Backups: whole or not there, readable by one person, and brought back whole or not at all."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from psycopg.conninfo import make_conninfo

from cos.core.errors import NewerSchemaError
from cos.core.postgres.backup import BackupError, back_up
from cos.core.postgres.database import Database
from cos.core.postgres.journal import PostgresJournal
from cos.core.postgres.programs import ProgramsError, Server, find_programs, service_environment
from cos.core.postgres.restore import prepare_restore, restore
from cos.core.whole_file import FileIsThereError
from tests.postgres.test_sweep import open_turn

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    import psycopg


@pytest.fixture
async def named(core_url: str) -> AsyncIterator[Database]:
    """A database with one session, and nobody else on it."""
    opened = await Database(core_url, size=2).open()
    await open_turn(opened)
    yield opened
    await opened.close()


@pytest.fixture
async def empty(database_url: str) -> AsyncIterator[Database]:
    opened = await Database(database_url, size=2).open()
    yield opened
    await opened.close()


async def counts(database: Database) -> dict[str, int]:
    tables = ("sessions", "turns", "messages", "tool_calls", "approvals")
    return {
        table: (await database.fetch(f"SELECT count(*) AS count FROM {table}".encode()))[0]["count"] for table in tables
    }


async def test_a_backup_of_a_running_turn_is_brought_back_into_an_empty_database(
    named: Database, empty: Database, tmp_path: Path
) -> None:
    file = tmp_path / "all.dump"
    assert await back_up(named, file) == file.stat().st_size
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [file]
    restoring = await prepare_restore(empty, file)
    assert restoring.is_empty
    await restore(empty, restoring)
    assert await counts(empty) == await counts(named)
    (session,) = await named.fetch(b"SELECT id FROM sessions")
    before, after = [await PostgresJournal(one).load_history(session["id"]) for one in (named, empty)]
    assert after == before


async def test_a_backup_takes_no_other_files_place_unasked(named: Database, tmp_path: Path) -> None:
    file = tmp_path / "all.dump"
    file.write_text("mine")
    with pytest.raises(FileIsThereError, match=r"all\.dump exists"):
        await back_up(named, file)
    assert file.read_text() == "mine"
    await back_up(named, file, force=True)
    assert file.read_bytes().startswith(b"PGDMP")
    assert list(tmp_path.iterdir()) == [file]


async def test_a_fresh_database_takes_the_place_of_the_one_that_is_replaced(
    named: Database, core_url: str, tmp_path: Path
) -> None:
    file = tmp_path / "all.dump"
    await back_up(named, file)
    before = await counts(named)
    await named.fetch(b"CREATE TABLE left_over (of_session uuid REFERENCES sessions (id))")
    await named.fetch(b"UPDATE sessions SET title = 'changed since'")
    restoring = await prepare_restore(named, file)
    assert not restoring.is_empty
    await restore(named, restoring)
    again = await Database(core_url, size=2).open()
    assert await counts(again) == before
    assert await again.fetch(b"SELECT 1 FROM sessions WHERE title = 'changed since'") == []
    assert await again.fetch(b"SELECT 1 FROM pg_class WHERE relname = 'left_over'") == []
    name = again.conninfo.partition("dbname=")[2].partition(" ")[0]
    databases = [str(row["datname"]) for row in await again.fetch(b"SELECT datname FROM pg_database")]
    assert [it for it in databases if it.startswith(f"{name}_cos_")] == []
    await again.close()


def cut(data: bytes) -> bytes:
    return data[:-200]


def half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def flipped(data: bytes) -> bytes:
    middle = len(data) // 3
    return data[:middle] + bytes([data[middle] ^ 0x55]) + data[middle + 1 :]


def nothing(data: bytes) -> bytes:
    return b""


@pytest.mark.parametrize("damage", [cut, half, flipped, nothing])
async def test_a_damaged_backup_changes_nothing(
    named: Database, tmp_path: Path, damage: Callable[[bytes], bytes]
) -> None:
    file = tmp_path / "all.dump"
    await back_up(named, file)
    file.write_bytes(damage(file.read_bytes()))
    before = await counts(named)
    with pytest.raises(BackupError, match=r"all\.dump (is damaged|cannot be read as a backup)"):
        await prepare_restore(named, file)
    assert await counts(named) == before


async def test_a_statement_that_fails_at_the_end_leaves_nothing_behind(
    named: Database, empty: Database, tmp_path: Path
) -> None:
    """The last statements of a backup are foreign keys: one that does not hold comes after all of the data."""
    await named.fetch(b"ALTER TABLE messages DROP CONSTRAINT messages_turn_id_fkey")
    await named.fetch(b"UPDATE messages SET turn_id = gen_random_uuid() WHERE role = 'user'")
    await named.fetch(b"ALTER TABLE messages ADD CONSTRAINT zz FOREIGN KEY (turn_id) REFERENCES turns (id) NOT VALID")
    await named.fetch(b"UPDATE pg_constraint SET convalidated = true, conenforced = true WHERE conname = 'zz'")
    file = tmp_path / "all.dump"
    await back_up(named, file)
    with pytest.raises(BackupError, match=r"was not brought back: .*violates foreign key"):
        await restore(empty, await prepare_restore(empty, file))
    assert (await prepare_restore(empty, file)).is_empty
    with pytest.raises(BackupError, match="was not brought back"):
        await restore(named, await prepare_restore(named, file))
    assert (await counts(named))["sessions"] == 1


async def test_a_backup_of_a_newer_cos_is_refused(named: Database, empty: Database, tmp_path: Path) -> None:
    await named.fetch(b"INSERT INTO applied_schemas (digest, name, number) VALUES (repeat('f', 64), 'core', 99)")
    file = tmp_path / "all.dump"
    await back_up(named, file)
    with pytest.raises(NewerSchemaError, match=r"all\.dump was made by a newer cos \(schema 99, this one knows 3\)"):
        await prepare_restore(empty, file)


async def test_a_backup_of_something_else_is_refused(empty: Database, named: Database, tmp_path: Path) -> None:
    file = tmp_path / "other.dump"
    await empty.fetch(b"CREATE TABLE other (id integer)")
    await back_up(empty, file)
    with pytest.raises(BackupError, match="is no backup of a cos database"):
        await prepare_restore(named, file)


@pytest.mark.parametrize(
    ("name", "problem"),
    [(b"pg_xxxx", "this server does not have"), (b"amcheck", "this account may not create")],
)
async def test_an_extension_that_cannot_be_made_is_named_before_anything_is_changed(
    named: Database, database_url: str, postgres_admin: psycopg.Connection, tmp_path: Path, name: bytes, problem: str
) -> None:
    file = tmp_path / "all.dump"
    await back_up(named, file)
    content = file.read_bytes()
    assert b"pg_trgm" in content
    file.write_bytes(content[: content.rindex(b"\ncos sha256 ")].replace(b"pg_trgm", name))
    postgres_admin.execute("DROP ROLE IF EXISTS plain")
    postgres_admin.execute("CREATE ROLE plain LOGIN CREATEDB")
    plain = await Database(make_conninfo(database_url, user="plain"), size=2).open()
    try:
        with pytest.raises(BackupError, match=f"{name.decode()}, which {problem}.*Nothing was changed"):
            await prepare_restore(plain, file)
    finally:
        await plain.close()
        postgres_admin.execute("DROP ROLE plain")


async def test_a_command_for_the_shell_in_a_crafted_backup_does_not_run(
    named: Database, empty: Database, tmp_path: Path
) -> None:
    """psql, which brings a backup back, could run programs by itself; pg_restore tells it not to."""
    file, ran = tmp_path / "all.dump", tmp_path / "ran"
    await back_up(named, file)
    content = file.read_bytes()
    statement = content.index(b"CREATE FUNCTION public.searched_text")
    trap = f"\n\\! touch {ran}\n".encode()
    file.write_bytes(content[:statement] + trap + content[statement + len(trap) : content.rindex(b"\ncos sha256 ")])
    with pytest.raises(BackupError, match=r"was not brought back: .*restrict"):
        await restore(empty, await prepare_restore(empty, file))
    assert not ran.exists()


async def test_nobody_may_be_connected_to_what_is_replaced(named: Database, core_url: str, tmp_path: Path) -> None:
    file = tmp_path / "all.dump"
    await back_up(named, file)
    other = await Database(core_url, name="tui 4711", size=1).open()
    with pytest.raises(BackupError, match=r"others use the database: cos \(tui, process 4711\)\. Close them"):
        await prepare_restore(named, file)
    await other.close()


def test_programs_that_are_too_old_or_cannot_encrypt_are_named_with_what_is_needed() -> None:
    with pytest.raises(ProgramsError, match=r"needs pg_dump of PostgreSQL 99 or newer.*found: \d+.*client-99"):
        find_programs(("pg_dump",), Server(major=99, has_tls=False), None)
    with pytest.raises(ProgramsError, match=r"99 or newer that can encrypt"):
        find_programs(("pg_dump",), Server(major=99, has_tls=True), None)
    found = find_programs(("pg_dump", "psql"), Server(major=15, has_tls=False), None)
    assert found.major >= 15


def test_the_password_is_in_no_argument_and_no_variable_and_the_file_is_private() -> None:
    url = "postgresql://me:hunter22@db.example/cos?application_name=x"
    with service_environment(url, Server(major=18, has_tls=True)) as environment:
        assert "hunter22" not in str(environment)
        file = Path(environment["PGSERVICEFILE"])
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        lines = file.read_text().splitlines()
        assert lines[0] == "[cos]"
        assert {"password=hunter22", "host=db.example", "sslmode=require"} <= set(lines)
    assert not file.exists()
