"""The schema and the statements: applied twice and by two at once, every statement fits, every statement is used."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from cos.core.errors import DatabaseError
from cos.core.postgres.database import Connection, Database
from cos.core.postgres.schema import (
    add_profiles,
    apply_core_schema,
    apply_plugin_schemas,
    apply_schema,
    create_database,
)
from cos.core.postgres.statements import Schema, core_statements, read_statements
from cos.core.shipped import shipped

ROOT = Path(__file__).parents[2]
FILES = sorted((shipped("sql") / "core" / "queries").glob("*.sql"))
NAMES = [(file.stem, name) for file in FILES for name in read_statements(file)]
TABLES = {
    "applied_schemas",
    "profiles",
    "sessions",
    "turns",
    "messages",
    "tool_calls",
    "approval_grants",
    "drafts",
    "approvals",
    "queued_messages",
    "reply_pieces",
    "blobs",
}
WAITS_FOR_TURNS = b"SELECT 1 FROM pg_locks WHERE NOT granted AND relation = 'turns'::regclass"
APPLY = """
import asyncio, sys
from cos.core.postgres.database import Database
from cos.core.postgres.schema import add_profiles, apply_core_schema

async def main():
    database = await Database(sys.argv[1]).open()
    await apply_core_schema(database)
    await add_profiles(database, ["home"])
    await database.close()

asyncio.run(main())
"""


def tables(url: str) -> set[str]:
    with psycopg.connect(url) as connection:
        query = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        return {str(row[0]) for row in connection.execute(query).fetchall()}


def test_two_processes_may_start_on_an_empty_database_at_once(database_url: str) -> None:
    started = [subprocess.Popen([sys.executable, "-c", APPLY, database_url], cwd=ROOT) for _ in range(2)]
    assert [process.wait(60) for process in started] == [0, 0]
    assert tables(database_url) == TABLES


async def test_the_schema_may_be_applied_again_and_keeps_what_is_there(database: Database, core_url: str) -> None:
    await add_profiles(database, ["third", "home"])
    await asyncio.gather(*(apply_core_schema(database) for _ in range(3)))
    rows = await database.fetch(b"SELECT id FROM profiles ORDER BY id")
    assert [row["id"] for row in rows] == ["home", "third", "work"]
    assert tables(core_url) == TABLES


async def test_a_start_waits_for_no_table_when_the_schema_was_applied_before(database: Database) -> None:
    async def while_a_turn_writes(connection: Connection) -> None:
        await connection.execute(b"LOCK TABLE sessions, turns IN ROW EXCLUSIVE MODE")
        await asyncio.wait_for(apply_core_schema(database), 5)

    await database.transaction(while_a_turn_writes)


async def test_a_new_schema_gives_way_to_a_turn_in_a_knot_of_locks(database: Database) -> None:
    """The turn holds `turns` and wants `sessions`; the schema takes them the other way round."""
    text: LiteralString = "LOCK TABLE sessions; ALTER TABLE turns ADD COLUMN IF NOT EXISTS knot integer"
    schema = Schema(name="knot", number=1, text=text)

    async def turn(connection: Connection) -> asyncio.Task[None]:
        await connection.execute(b"LOCK TABLE turns IN ROW EXCLUSIVE MODE")
        applying = asyncio.create_task(apply_schema(database, schema))
        while not await database.fetch(WAITS_FOR_TURNS):
            await asyncio.sleep(0.01)
        await connection.execute(b"LOCK TABLE sessions IN ROW EXCLUSIVE MODE")
        return applying

    applying = await database.transaction(turn)
    await applying
    await database.fetch(b"SELECT knot FROM turns")


async def test_a_plugins_tables_join_the_cores(database: Database, core_url: str) -> None:
    for _ in range(2):
        text: LiteralString = "CREATE TABLE IF NOT EXISTS notes (id integer)"
        await apply_schema(database, Schema(name="notes", number=1, text=text))
    assert tables(core_url) == {*TABLES, "notes"}


async def test_a_database_is_created_once_by_whoever_is_first(database_url: str) -> None:
    await asyncio.gather(*(create_database(database_url, "made_by_three") for _ in range(3)))
    await create_database(database_url, "made_by_three")
    assert tables(make_conninfo(database_url, dbname="made_by_three")) == set()


async def test_every_statement_fits_the_schema(database: Database) -> None:
    for topic, name in NAMES:
        places: dict[str, int] = {}

        def numbered(match: re.Match[str], places: dict[str, int] = places) -> str:
            return f"${places.setdefault(match.group(1), len(places) + 1)}"

        statement = re.sub(r"%\((\w+)\)[sb]", numbered, core_statements(topic)[name].rstrip(";"))
        # A table that is made from what is selected can be explained, but not prepared.
        check = "EXPLAIN" if "CREATE TEMPORARY TABLE" in statement else f"PREPARE {topic}_{name} AS"
        await database.fetch(f"{check} {statement}".encode())


def test_every_statement_is_used_by_name() -> None:
    code = "\n".join(path.read_text() for path in ROOT.glob("cos/**/*.py"))
    unused = [f"{topic}.{name}" for topic, name in NAMES if f'["{name}"]' not in code]
    assert unused == []


async def test_a_database_that_does_not_answer_is_said_in_a_sentence(core_url: str) -> None:
    with pytest.raises(DatabaseError, match=r"cannot connect to the database: .*no_such_core.*Check database\.url"):
        await Database(make_conninfo(core_url, dbname="no_such_core")).open()


async def test_several_may_complete_the_tables_at_once(database_url: str) -> None:
    """The first start of several, or the first one after an update: `applied_schemas` is there, this schema is not.

    Each looks into `applied_schemas` before it asks for the lock of schemas, and keeps the table locked for reading
    meanwhile; whoever has that lock wants the table for itself.
    """
    databases = [await Database(database_url, size=2).open() for _ in range(4)]
    try:
        await apply_core_schema(databases[0])
        await asyncio.gather(*(apply_plugin_schemas(database, ["bill", "memory"]) for database in databases))
    finally:
        for database in databases:
            await database.close()
