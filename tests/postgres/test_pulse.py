"""Whether the database answers: seen at once when something fails, and again when it is back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg
import pytest

from cos.core.errors import DatabaseError
from cos.core.postgres.database import Database
from cos.core.postgres.listener import Listener
from cos.core.postgres.pulse import Pulse
from tests.outage import Outage, cut_connections


@asynccontextmanager
async def running(pulse: Pulse) -> AsyncIterator[asyncio.Queue[str]]:
    """What is said while it runs, after its first look."""
    said: asyncio.Queue[str] = asyncio.Queue()
    pulse.watchers.append(lambda: said.put_nowait(pulse.trouble))
    task = asyncio.ensure_future(pulse.run())
    await pulse.ask()
    yield said
    task.cancel()
    await asyncio.wait({task})


async def test_an_outage_is_seen_at_the_first_failed_statement_and_its_end_without_one(
    database: Database, core_url: str, postgres_admin: psycopg.Connection
) -> None:
    outage = Outage(postgres_admin, core_url)
    async with running(database.pulse) as said:
        outage.begin()
        failing = asyncio.ensure_future(database.fetch(b"SELECT 1"))
        assert "the database does not answer" in await said.get()
        # Long before the statement itself has given up.
        assert not failing.done()
        outage.end()
        assert await said.get() == ""
        assert await failing
        await database.pulse.answers()


async def test_an_outage_is_heard_by_who_listens_before_any_statement_fails(
    database: Database, core_url: str, postgres_admin: psycopg.Connection
) -> None:
    outage, ready = Outage(postgres_admin, core_url), asyncio.Event()
    listener = Listener(core_url, lost=database.pulse.doubt)

    async def look() -> None:
        ready.set()

    async def hear(payload: str) -> None:
        raise AssertionError(payload)

    listener.on("c", hear, look=look)
    listening = asyncio.ensure_future(listener.listen())
    async with running(database.pulse) as said:
        await ready.wait()
        outage.begin()
        assert "the database does not answer" in await said.get()
        outage.end()
        assert await said.get() == ""
    with pytest.raises(psycopg.Error):
        await listening


async def test_one_lost_connection_is_no_outage(
    database: Database, core_url: str, postgres_admin: psycopg.Connection
) -> None:
    async with running(database.pulse) as said:
        for _ in range(2):
            cut_connections(postgres_admin, str(psycopg.conninfo.conninfo_to_dict(core_url)["dbname"]))
            assert await database.fetch(b"SELECT 1")
            assert await database.pulse.ask() == ""
        assert said.empty()


async def test_a_look_that_hangs_counts_as_no_answer_until_it_has_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cos.core.postgres.pulse.LATE_SECONDS", 0.01)
    may_answer = asyncio.Event()

    async def hangs() -> None:
        await may_answer.wait()

    pulse = Pulse(hangs)
    changed = asyncio.Event()
    pulse.watchers.append(changed.set)
    task = asyncio.ensure_future(pulse.run())
    await changed.wait()
    assert pulse.trouble == "the database does not answer"
    may_answer.set()
    await pulse.answers()
    assert pulse.trouble == ""
    task.cancel()
    await asyncio.wait({task})


async def test_a_failed_look_says_its_sentence() -> None:
    async def fails() -> None:
        raise DatabaseError("gone fishing")

    pulse = Pulse(fails)
    async with running(pulse) as said:
        assert await said.get() == "gone fishing"
        assert await pulse.ask() == "gone fishing"
