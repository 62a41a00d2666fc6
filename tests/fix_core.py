"""Fixtures for tests of the core on a real Postgres: databases that hold the core's schema, copied from a template."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

import psycopg
import pytest
import pytest_asyncio
from psycopg import sql
from psycopg.conninfo import make_conninfo

from cos.core.postgres.database import Database
from cos.core.postgres.statements import before_schema, core_schema, core_statements

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from cos.core.embedded import ConnectionTarget

PROFILES = ("home", "work")


@pytest.fixture(scope="session")
def core_template(postgres_server: ConnectionTarget, postgres_admin: psycopg.Connection) -> str:
    """A database with the core's tables and two profiles. Nobody stays connected to it."""
    # Nothing here has to survive a power cut, and copying and dropping wait for the disk.
    postgres_admin.execute("ALTER SYSTEM SET fsync = off")
    postgres_admin.execute("SELECT pg_reload_conf()")
    name = f"core_{os.environ.get('PYTEST_XDIST_WORKER', 'main')}"
    postgres_admin.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    with psycopg.connect(make_conninfo(**postgres_server.conninfo_parameters(name)), autocommit=True) as connection:
        connection.execute(before_schema())
        schema = core_schema()
        connection.execute(schema.text)
        note = {"digest": schema.digest, "name": schema.name, "number": schema.number}
        connection.execute(core_statements("start")["note_applied"], note)
        for profile in PROFILES:
            connection.execute(core_statements("start")["add_profile"], {"id": profile})
    return name


@contextmanager
def copied(server: ConnectionTarget, admin: psycopg.Connection, template: str, dbname: str) -> Iterator[str]:
    """The connection string of a copy of `template`, dropped afterwards."""
    name = sql.Identifier(dbname)
    admin.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(name, sql.Identifier(template)))
    yield make_conninfo(**server.conninfo_parameters(dbname))
    admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))


@pytest.fixture
def core_url(
    postgres_server: ConnectionTarget,
    postgres_admin: psycopg.Connection,
    database_numbers: Iterator[int],
    core_template: str,
) -> Iterator[str]:
    """The connection string of a fresh database with the core's schema."""
    dbname = f"{core_template}_{next(database_numbers)}"
    with copied(postgres_server, postgres_admin, core_template, dbname) as url:
        yield url


@pytest.fixture(scope="session")
def shared_core_url(
    postgres_server: ConnectionTarget, postgres_admin: psycopg.Connection, core_template: str
) -> Iterator[str]:
    """The connection string of one database for all tests that look only at sessions of their own."""
    with copied(postgres_server, postgres_admin, core_template, f"{core_template}_shared") as url:
        yield url


@pytest_asyncio.fixture
async def database(core_url: str) -> AsyncIterator[Database]:
    """An open pool on a fresh database with the core's schema."""
    opened = await Database(core_url, size=4).open()
    try:
        yield opened
    finally:
        await opened.close()
