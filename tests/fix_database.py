"""Fixtures for tests on a real Postgres: one embedded server for the whole run, a fresh database for each test.

Workers of pytest-xdist share the server as several cos processes do; the run's main process removes its folder.
"""

from __future__ import annotations

import itertools
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import make_conninfo

from cos.core.embedded import ConnectionTarget, EmbeddedPostgres
from cos.core.postgres.sweep import RETURN_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator

STATE_VARIABLE = "COS_TEST_POSTGRES"


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        os.environ[STATE_VARIABLE] = str(shared_folder())


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput") and (folder := os.environ.pop(STATE_VARIABLE, None)):
        shutil.rmtree(folder, ignore_errors=True)


def shared_folder() -> Path:
    """A new folder that root's database account can pass, unlike `tmp_path`."""
    folder = Path(tempfile.mkdtemp(prefix="cos-test-", dir="/tmp"))
    folder.chmod(0o711)
    return folder


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[ConnectionTarget]:
    """The running server, old enough for turns of processes that are gone to be closed at once."""
    server = EmbeddedPostgres(Path(os.environ[STATE_VARIABLE]) / "pg")
    try:
        target = server.attach()
        with psycopg.connect(make_conninfo(**target.conninfo_parameters("postgres"))) as connection:
            old_enough = "SELECT pg_sleep_until(pg_postmaster_start_time() + make_interval(secs => %s))"
            connection.execute(old_enough, [RETURN_SECONDS])
        yield target
    finally:
        server.leave()


@pytest.fixture(scope="session")
def postgres_admin(postgres_server: ConnectionTarget) -> Iterator[psycopg.Connection]:
    """A connection that makes and drops the databases of the tests."""
    conninfo = make_conninfo(**postgres_server.conninfo_parameters("postgres"))
    with psycopg.connect(conninfo, autocommit=True) as connection:
        yield connection


@pytest.fixture(scope="session")
def database_numbers() -> Iterator[int]:
    return itertools.count(1)


@pytest.fixture(scope="session")
def database_template() -> str:
    """The database that each test's is a copy of. Override it to start from a schema; nobody may be connected to it."""
    return "template1"


@pytest.fixture
def database_url(
    postgres_server: ConnectionTarget,
    postgres_admin: psycopg.Connection,
    database_numbers: Iterator[int],
    database_template: str,
) -> Iterator[str]:
    """The connection string of a fresh database, dropped after the test."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
    dbname = f"test_{worker}_{next(database_numbers)}"
    name, template = sql.Identifier(dbname), sql.Identifier(database_template)
    postgres_admin.execute(sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(name, template))
    yield make_conninfo(**postgres_server.conninfo_parameters(dbname))
    postgres_admin.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(name))
