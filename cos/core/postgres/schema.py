"""Brings a database up to this program: the database itself, the core's tables, then each plugin's, under one lock."""

from __future__ import annotations

from typing import LiteralString

import psycopg
from psycopg import sql

from cos.core.errors import DatabaseError
from cos.core.postgres.database import Connection, Database
from cos.core.postgres.statements import core_schema, core_statements

OLDEST_VERSION = 15


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
    """Create or complete the core's tables.

    Raises:
        DatabaseError: the server is older than PostgreSQL 15, or the account may not create tables.
    """
    start = core_statements("start")

    async def work(connection: Connection) -> None:
        version = await (await connection.execute(start["server_version"])).fetchone()
        if version and version["version"] < OLDEST_VERSION * 10000:
            raise DatabaseError(
                f"the server is PostgreSQL {version['version'] // 10000}; cos needs {OLDEST_VERSION} or newer"
            )
        await _apply(connection, core_schema())

    await database.transaction(work)


async def apply_plugin_schema(database: Database, schema: LiteralString) -> None:
    """Create or complete a plugin's own tables, under the same lock."""
    await database.transaction(lambda connection: _apply(connection, schema))


async def _apply(connection: Connection, schema: LiteralString) -> None:
    await connection.execute(core_statements("start")["lock_schema"])
    await connection.execute(schema)


async def add_profiles(database: Database, ids: list[str]) -> None:
    """Make every profile known to the database, so that rows can refer to it."""

    async def work(connection: Connection) -> None:
        for profile_id in ids:
            await connection.execute(core_statements("start")["add_profile"], {"id": profile_id})

    await database.transaction(work)
