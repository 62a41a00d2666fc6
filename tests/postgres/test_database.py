"""The pool: cancelling loses no connection and leaves none in the middle of something; a lost server is said."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from cos.agent.identity import NewSession, TurnInfo
from cos.agent.ids import new_id
from cos.agent.providers.scripted import said
from cos.agent.records import ReplyPiece, TurnStatus
from cos.core.errors import DatabaseError
from cos.core.postgres.database import Database, Row
from cos.core.postgres.journal import PostgresJournal
from cos.core.postgres.open_replies import OpenReplies
from tests.core_bench import core_bench
from tests.outage import cut_connections


async def test_fifty_turns_cancelled_at_random_moments_lose_no_connection(core_url: str, tmp_path: Path) -> None:
    """H-062: a pool of four, slowed by a trigger; then one normal turn."""
    chance = random.Random(62)
    async with core_bench(core_url, tmp_path, [said("hi") for _ in range(60)]) as core:
        await core.rows(
            "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql"
            " AS 'BEGIN PERFORM pg_sleep(0.003); RETURN NEW; END'"
        )
        await core.rows("CREATE TRIGGER slow BEFORE INSERT ON messages FOR EACH ROW EXECUTE FUNCTION slow()")

        async def one() -> None:
            sending = asyncio.ensure_future(core.send("go"))
            await asyncio.sleep(chance.random() * 0.15)
            sending.cancel()
            await asyncio.wait({sending})
            for running in list(core.dispatcher.turns.all):
                kind = chance.randrange(3)
                if kind == 1:
                    running.cancel.cancel()
                elif kind == 2:
                    running.task.cancel()

        await asyncio.gather(*(one() for _ in range(50)))
        await _until(lambda: not core.dispatcher.turns.all, "the turns end")
        assert (await core.ask("a normal turn")).status is TurnStatus.COMPLETED
        state = "SELECT state FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        pool = core.database._pool
        # What the last turns still do ends by itself; what was lost would stay as it is.
        await _until(lambda: pool.get_stats()["pool_available"] == pool.get_stats()["pool_size"], "connections return")
        while {row["state"] for row in await core.rows(state)} != {"idle"}:
            await asyncio.sleep(0.01)
        assert await asyncio.gather(*(core.rows("SELECT 1 AS one") for _ in range(8))) == [[{"one": 1}]] * 8
        assert await core.rows("SELECT id FROM turns WHERE completed_at IS NULL") == []


async def _until(holds: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 60
    while not holds() and time.monotonic() < deadline:
        await asyncio.sleep(0.01)
    assert holds(), what


async def test_a_connection_that_the_server_dropped_is_replaced(
    database: Database, postgres_admin: psycopg.Connection
) -> None:
    rows = await database.fetch(b"SELECT current_database() AS name")
    cut_connections(postgres_admin, str(rows[0]["name"]))
    await database.hold_boot_lock()
    assert await database.fetch(b"SELECT 1 AS one") == [{"one": 1}]


async def test_a_refused_statement_is_one_sentence_and_keeps_nothing(database: Database) -> None:
    async def work(connection: psycopg.AsyncConnection[dict[str, object]]) -> None:
        await connection.execute("INSERT INTO profiles (id) VALUES ('half')")
        await connection.execute("SELECT broken")

    with pytest.raises(DatabaseError, match=r'^the database refused: column "broken" does not exist$'):
        await database.transaction(work)
    with pytest.raises(DatabaseError, match="the database refused"):
        await database.fetch(b"SELECT %(text)s::text", {"text": "\ud800"})
    assert [row["id"] for row in await database.fetch(b"SELECT id FROM profiles ORDER BY id")] == ["home", "work"]


async def test_replies_that_grow_at_once_are_kept_in_few_statements(database: Database) -> None:
    journal = PostgresJournal(database)
    turns = []
    for _ in range(20):
        session_id = await journal.create_session(NewSession(profile_id="home", source="cli"))
        turns.append(TurnInfo(profile_id="home", session_id=session_id, turn_id=new_id()))
        await journal.start_turn(turns[-1])
    statements: list[object] = []
    fetch = database.fetch

    async def counted(statement: Any, parameters: Row | None = None) -> list[Row]:
        statements.append(statement)
        return await fetch(statement, parameters)

    database.fetch = counted  # type: ignore[method-assign]
    for number in range(2):
        pieces = [ReplyPiece(number, "half of ", False)]
        await asyncio.gather(*(journal.keep_reply(turn, pieces, message_id=turn.turn_id) for turn in turns))
    assert len(statements) <= 4
    rows = await fetch(b"SELECT turn_id, count(*) FROM reply_pieces GROUP BY 1")
    assert {row["turn_id"]: row["count"] for row in rows} == {turn.turn_id: 2 for turn in turns}


async def test_a_reply_that_could_not_be_kept_says_so_to_each_who_waits(database: Database) -> None:
    replies = OpenReplies(database)
    await database.close()
    piece = ReplyPiece(0, "x", False)
    keeping = [replies.keep(new_id(), new_id(), [piece]) for _ in range(3)]
    outcomes = await asyncio.gather(*keeping, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [DatabaseError] * 3
