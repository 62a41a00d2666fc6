"""Brings a database up to this program: the database itself, the core's tables, then each plugin's, under one lock."""

from __future__ import annotations

import logging
from collections.abc import Iterable

import psycopg
from psycopg import sql

from cos.core.errors import DatabaseError, NewerSchemaError
from cos.core.postgres.database import Connection, Database
from cos.core.postgres.statements import Schema, before_schema, core_schema, core_statements, plugin_schema

log = logging.getLogger("cos.database")

OLDEST_VERSION = 15
TRIES = 40
"""Times that the tables are asked for, each for half a second: less than what PostgreSQL takes to see a deadlock, so
that in a knot of locks with a running turn it is the start of this program that gives way, never the turn."""
_NOT_TO_BE_RENAMED = (
    psycopg.errors.InvalidCatalogName,
    psycopg.errors.DuplicateDatabase,
    psycopg.errors.ObjectInUse,
)
"""Another process was first, or somebody is connected to it."""


async def name_own_database(conninfo: str, name: str) -> None:
    """Give database `name` to a server that is cos' own, unless it has it. `conninfo` is of `template1` there.

    A new server comes with a database `postgres` that nobody needs: to rename it takes a hundredth of the time that it
    takes to make another one. Safe when two processes do so at once.
    """
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        if await _exists(connection, name):
            return
        try:
            await connection.execute(sql.SQL("ALTER DATABASE postgres RENAME TO {}").format(sql.Identifier(name)))
        except _NOT_TO_BE_RENAMED as error:
            log.info("the database postgres is not renamed: %s", error)
    # A copy of template1 would have to wait until nobody is there, as others of these are.
    await create_database(conninfo, name, template="template0")


async def create_database(conninfo: str, name: str, *, template: str = "template1") -> None:
    """Create database `name` on the server of `conninfo` unless it exists. Safe when two processes do so at once."""
    statement = sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template))
    async with await psycopg.AsyncConnection.connect(conninfo, autocommit=True) as connection:
        if await _exists(connection, name):
            return
        try:
            await connection.execute(statement)
        except (psycopg.errors.DuplicateDatabase, psycopg.errors.UniqueViolation):
            return  # Another process was first; the database is there.


async def _exists(connection: psycopg.AsyncConnection, database: str) -> bool:
    cursor = await connection.execute(core_statements("start")["database_exists"], {"name": database})
    return await cursor.fetchone() is not None


async def apply_core_schema(database: Database) -> None:
    """Create or complete the core's tables; nothing is locked or changed when that was done before.

    Raises:
        NewerSchemaError: a newer cos made them. Nothing was changed.
        DatabaseError: the server is older than PostgreSQL 15, the account may not create tables, or others hold them.
    """
    for row in await database.fetch(core_statements("start")["server_version"]):
        if row["version"] < OLDEST_VERSION * 10000:
            raise DatabaseError(
                f"the server is PostgreSQL {row['version'] // 10000}; cos needs {OLDEST_VERSION} or newer"
            )
    await apply_schema(database, core_schema())


async def apply_plugin_schemas(database: Database, plugins: Iterable[str]) -> None:
    """As `apply_core_schema`, for the tables of those of the plugins that ship with cos and have some."""
    for name in plugins:
        schema = plugin_schema(name)
        if schema is not None:
            await apply_schema(database, schema)


async def apply_schema(database: Database, schema: Schema) -> None:
    """Create or complete the tables of the core or of a plugin, once for each version of its schema.

    Raises:
        NewerSchemaError: a newer cos made the tables. Nothing was changed.
        DatabaseError: the account may not create tables, or others hold them.
    """
    # In a transaction of its own: a look holds the table that whoever has the lock of schemas may want to change.
    if await database.transaction(lambda connection: _was_applied(connection, schema)):
        return
    for attempt in range(1, TRIES + 1):
        try:
            await database.transaction(lambda connection: _apply(connection, schema))
            break
        except DatabaseError as error:
            if attempt == TRIES or not isinstance(error.__cause__, psycopg.errors.LockNotAvailable):
                raise
            log.info("the tables are in use; waiting to complete them")


def refuse_newer(name: str, number: int, what: str = "this database") -> None:
    """Refuse schema `number` of the core or of a shipped plugin when it is newer than this program's.

    Raises:
        NewerSchemaError
    """
    schema = core_schema() if name == "core" else plugin_schema(name)
    if schema is not None and number > schema.number:
        whose = "" if name == "core" else f" of the plugin {name}"
        raise NewerSchemaError(
            f"{what} was made by a newer cos (schema {number}{whose}, this one knows {schema.number}); update cos"
        )


async def _apply(connection: Connection, schema: Schema) -> None:
    start = core_statements("start")
    await connection.execute(start["lock_schema"])
    await connection.execute(before_schema())
    if not await _was_applied(connection, schema):
        await connection.execute(schema.text)
        note = {"digest": schema.digest, "name": schema.name, "number": schema.number}
        await connection.execute(start["note_applied"], note)


async def _was_applied(connection: Connection, schema: Schema) -> bool:
    start = core_statements("start")
    numbered = await (await connection.execute(start["schemas_are_numbered"])).fetchone()
    if numbered is None or not numbered["numbered"]:
        return False
    key = {"digest": schema.digest, "name": schema.name}
    found = await (await connection.execute(start["schema_applied"], key)).fetchone()
    assert found is not None
    refuse_newer(schema.name, found["newest"])
    return bool(found["is_applied"])


async def add_profiles(database: Database, ids: list[str]) -> None:
    """Make every profile known to the database, so that rows can refer to it."""

    async def work(connection: Connection) -> None:
        for profile_id in ids:
            await connection.execute(core_statements("start")["add_profile"], {"id": profile_id})

    await database.transaction(work)
