"""The database that cos' own server gets its name from."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from cos.core.embedded import EmbeddedPostgres
from cos.core.postgres.schema import name_own_database


@pytest.fixture
def template(stopped: Path) -> Iterator[str]:
    """The connection string of `template1` on a new server."""
    database = EmbeddedPostgres(stopped)
    try:
        yield make_conninfo(**database.attach().conninfo_parameters("template1"))
    finally:
        database.leave()


def names(template: str) -> set[str]:
    with psycopg.connect(template) as connection:
        return {name for (name,) in connection.execute("SELECT datname FROM pg_database WHERE NOT datistemplate")}


async def test_of_several_that_name_it_at_once_one_does_and_none_fails(template: str) -> None:
    await asyncio.gather(*(name_own_database(template, "cos") for _ in range(4)))
    assert names(template) == {"cos"}


async def test_one_that_has_its_name_is_left_alone_whatever_is_beside_it(template: str) -> None:
    with psycopg.connect(template, autocommit=True) as connection:
        connection.execute("CREATE DATABASE cos TEMPLATE template0")
    await name_own_database(template, "cos")
    assert names(template) == {"cos", "postgres"}


async def test_one_that_was_dropped_is_made_again_while_others_look(template: str) -> None:
    with psycopg.connect(template, autocommit=True) as connection:
        connection.execute("DROP DATABASE postgres")
        await asyncio.gather(*(name_own_database(template, "cos") for _ in range(3)))
    assert names(template) == {"cos"}
