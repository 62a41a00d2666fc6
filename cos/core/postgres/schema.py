"""Brings a database up to this program: the database itself, the core's tables, then each plugin's, under one lock."""

from __future__ import annotations

import hashlib
import logging
from typing import LiteralString

import psycopg
from psycopg import sql

from cos.core.errors import DatabaseError
from cos.core.postgres.database import Connection, Database
from cos.core.postgres.statements import before_schema, core_schema, core_statements

log = logging.getLogger("cos.database")

OLDEST_VERSION = 15
TRIES = 40
"""Times that the tables are asked for, each for half a second: less than what PostgreSQL takes to see a deadlock, so
that in a knot of locks with a running turn it is the start of this program that gives way, never the turn."""


async def create_database(conninfo: str, name: str) -> None:
    """Create database `name` on the server of `conninfo` unless it exists. Safe when two processes do so at once."""
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        cursor = await connection.execute(core_statements("start")["database_exists"], {"name": name})
        if await cursor.fetchone() is None:
            try:
                await connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
            except (psycopg.errors.DuplicateDatabase, psycopg.errors.UniqueViolation):
                return  # Another process was first; the database is there.


async def apply_core_schema(database: Database) -> None:
    """Create or complete the core's tables; nothing is locked or changed when that was done before.

    Raises:
        DatabaseError: the server is older than PostgreSQL 15, the account may not create tables, or others hold them.
    """
    for row in await database.fetch(core_statements("start")["server_version"]):
        if row["version"] < OLDEST_VERSION * 10000:
            raise DatabaseError(
                f"the server is PostgreSQL {row['version'] // 10000}; cos needs {OLDEST_VERSION} or newer"
            )
    await apply_schema(database, core_schema())


async def apply_schema(database: Database, schema: LiteralString) -> None:
    """Create or complete the tables of the core or of a plugin, once for each version of its schema.

    Raises:
        DatabaseError: the account may not create tables, or others hold them.
    """
    digest = schema_digest(schema)
    for attempt in range(1, TRIES + 1):
        try:
            await database.transaction(lambda connection: _apply(connection, schema, digest))
            break
        except DatabaseError as error:
            if attempt == TRIES or not isinstance(error.__cause__, psycopg.errors.LockNotAvailable):
                raise
            log.info("the tables are in use; waiting to complete them")


async def _apply(connection: Connection, schema: LiteralString, digest: str) -> None:
    start = core_statements("start")
    if await _was_applied(connection, digest):
        return
    await connection.execute(start["lock_schema"])
    await connection.execute(before_schema())
    if not await _was_applied(connection, digest):
        await connection.execute(schema)
        await connection.execute(start["note_applied"], {"digest": digest})


def schema_digest(schema: str) -> str:
    """What `applied_schemas` knows a schema by."""
    return hashlib.sha256(schema.encode()).hexdigest()


async def _was_applied(connection: Connection, digest: str) -> bool:
    start = core_statements("start")
    there = await (await connection.execute(start["applied_schemas_exist"])).fetchone()
    if there is None or not there["exists"]:
        return False
    cursor = await connection.execute(start["was_applied"], {"digest": digest})
    return await cursor.fetchone() is not None


async def add_profiles(database: Database, ids: list[str]) -> None:
    """Make every profile known to the database, so that rows can refer to it."""

    async def work(connection: Connection) -> None:
        for profile_id in ids:
            await connection.execute(core_statements("start")["add_profile"], {"id": profile_id})

    await database.transaction(work)
