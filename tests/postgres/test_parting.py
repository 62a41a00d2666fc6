"""A process that ends does not wait for ever for a server that hangs."""

from __future__ import annotations

import asyncio

import psycopg
import pytest

from cos.core.errors import DatabaseError
from cos.core.postgres import parting
from cos.core.postgres.database import Database
from cos.core.postgres.parting import Parting
from cos.core.postgres.pulse import Pulse

SLEEPING = b"SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_sleep(600)%%' AND state = 'active'"


async def nothing() -> None:
    pass


async def test_what_hangs_fails_soon_after_the_end_has_begun(
    database: Database, postgres_admin: psycopg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parting, "LONGEST_SECONDS", 0.2)
    hanging = asyncio.ensure_future(database.fetch(b"SELECT pg_sleep(600)"))
    while postgres_admin.execute(SLEEPING).fetchone() == (0,):
        await asyncio.sleep(0)
    assert not hanging.done()
    database.hurry()
    with pytest.raises(DatabaseError, match="cos is ending"):
        await hanging
    with pytest.raises(DatabaseError, match="cos is ending"):
        await database.fetch(b"SELECT 1")
    with pytest.raises(DatabaseError, match="cos is ending"):
        await database.hold_boot_lock()
    async with asyncio.timeout(10):
        await database.close()


async def test_a_server_that_answers_in_time_is_not_cut(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parting, "LONGEST_SECONDS", 0.2)
    database.hurry()
    database.hurry()
    assert await database.fetch(b"SELECT 1 AS one") == [{"one": 1}]
    await database.close()
    await asyncio.sleep(0.3)
    assert not database.is_cut


async def test_it_has_less_time_from_when_it_is_seen_not_to_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parting, "TROUBLED_SECONDS", 0.1)
    pulse, was_cut = Pulse(nothing), asyncio.Event()

    async def cut() -> None:
        was_cut.set()

    made = Parting(pulse, cut)
    made.begin()
    await asyncio.sleep(0.3)
    assert not was_cut.is_set()
    pulse.trouble = "the database does not answer"
    for watcher in pulse.watchers:
        watcher()
    async with asyncio.timeout(10):
        await was_cut.wait()
    await made.end()
    assert pulse.watchers == []
