"""The database fails in each of its ways while cos runs: a sentence, nothing lost, and it goes on without a restart."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import psycopg
import pytest
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from cos.agent.events import MessageDelta, TurnCompleted
from cos.agent.provider import StreamStarted, TextChunk
from cos.agent.providers.scripted import said
from cos.agent.records import TurnStatus
from cos.cli.running_core import Core
from cos.core.errors import DatabaseError
from cos.core.inbound import Accepted, Inbound
from cos.core.postgres import database as database_module
from cos.core.postgres.database import Database
from cos.core.postgres.journal import PostgresJournal
from tests.agent_bench import assert_answered
from tests.fix_home import CoreHome, asked
from tests.outage import cut_connections, filled, small_disk

__all__ = ["small_disk"]

FAULTS = {
    "cut": ("PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(1);", "connection"),
    "disk full": (
        "RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full';",
        "No space left on device",
    ),
    "statement_timeout": ("PERFORM pg_sleep(30);", "canceling statement due to statement timeout"),
}


class Trouble:
    """What happens whenever a message of one role is written, while it is on.

    It waits for the transactions that use the table, so the loop that these need must not wait for it.
    """

    def __init__(self, admin: psycopg.Connection, url: str) -> None:
        self.name = str(conninfo_to_dict(url)["dbname"])
        self._admin = admin
        self._url = url

    def begin(self, fault: str, role: str) -> None:
        body, _ = FAULTS[fault]
        with self._connection() as connection:
            connection.execute(
                f"CREATE OR REPLACE FUNCTION trouble() RETURNS trigger LANGUAGE plpgsql AS"
                f" $$ BEGIN {body} RETURN NEW; END $$".encode()
            )
            connection.execute(
                f"CREATE TRIGGER trouble BEFORE INSERT ON messages FOR EACH ROW WHEN (NEW.role = '{role}')"
                " EXECUTE FUNCTION trouble()".encode()
            )

    def end(self) -> None:
        with self._connection() as connection:
            connection.execute("DROP TRIGGER trouble ON messages")

    def _connection(self) -> psycopg.Connection:
        return psycopg.connect(self._url, autocommit=True, options="-c statement_timeout=0")

    def set(self, name: str, value: str | None) -> None:
        """A setting of the database, and connections that have it."""
        database = sql.Identifier(self.name)
        change = sql.SQL("ALTER DATABASE {} RESET {}").format(database, sql.Identifier(name))
        if value is not None:
            change = sql.SQL("ALTER DATABASE {} SET {} = {}").format(database, sql.Identifier(name), sql.Literal(value))
        self._admin.execute(change)
        self.cut()

    def cut(self) -> None:
        cut_connections(self._admin, self.name)


@pytest.fixture
def trouble(database_url: str, postgres_admin: psycopg.Connection) -> Trouble:
    return Trouble(postgres_admin, database_url)


async def send(core: Core, text: str, session: UUID | None, **more: Any) -> Accepted:
    inbound = Inbound(text=text, profile_id="home", source="cli", session_id=session, **more)
    return await core.dispatcher.dispatch(inbound)


async def until(holds: Callable[[], Awaitable[object]], seconds: float = 20) -> None:
    deadline = time.monotonic() + seconds
    while not await holds():
        assert time.monotonic() < deadline, "this never happened"
        await asyncio.sleep(0.02)


async def texts(core: Core, session: UUID) -> list[str | None]:
    """What the next request would say, in order; it must be valid."""
    messages = await PostgresJournal(core.database).load_history(session)
    assert_answered(messages)
    return [message.model_dump().get("text") for message in messages]


@asynccontextmanager
async def ends(core: Core) -> AsyncIterator[asyncio.Queue[TurnCompleted]]:
    """The ends of turns, from now on."""
    found: asyncio.Queue[TurnCompleted] = asyncio.Queue()

    async def collect() -> None:
        with core.feed.subscribe() as events:
            async for live in events:
                if isinstance(live.event, TurnCompleted):
                    found.put_nowait(live.event)

    task = asyncio.ensure_future(collect())
    await asyncio.sleep(0)
    yield found
    task.cancel()
    await asyncio.wait({task})


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_message_that_comes_meanwhile_waits_and_is_answered_by_itself(
    core_home: CoreHome, trouble: Trouble, fault: str
) -> None:
    core_home.script(said("one"), said("two"))
    trouble_words = FAULTS[fault][1]
    core = await core_home.open()
    session = (await asked(core, "before")).turn.session_id
    if fault == "statement_timeout":
        trouble.set("statement_timeout", "300ms")
    await asyncio.to_thread(trouble.begin, fault, "user")
    async with ends(core) as ended:
        accepted = await send(core, "meanwhile", session, client_message_id="m1")
        assert accepted.turn_id is None
        assert accepted.trouble.startswith("The message is kept and waits")
        assert trouble_words in accepted.trouble
        assert [row["n"] for row in await core.database.fetch(b"SELECT count(*)::int AS n FROM queued_messages")] == [1]
        await asyncio.to_thread(trouble.end)
        assert (await asyncio.wait_for(ended.get(), 20)).text == "two"
    again = await send(core, "meanwhile", session, client_message_id="m1")
    assert again.turn_id is not None, "it has its turn"
    assert await texts(core, session) == ["before", "one", "meanwhile", "two"]


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_reply_that_cannot_be_stored_fails_its_turn_and_is_there_afterwards(
    core_home: CoreHome, trouble: Trouble, fault: str
) -> None:
    core_home.script([StreamStarted("m"), TextChunk("The whole "), TextChunk("answer")], said("two"))
    core = await core_home.open()
    if fault == "statement_timeout":
        trouble.set("statement_timeout", "300ms")
    await asyncio.to_thread(trouble.begin, fault, "assistant")
    end = await asked(core, "first")
    assert end.status is TurnStatus.FAILED
    assert FAULTS[fault][1] in (end.error or "")
    assert (await core.database.fetch(b"SELECT status FROM turns"))[0]["status"] == "running"
    await asyncio.to_thread(trouble.end)

    async def is_closed() -> bool:
        return (await core.database.fetch(b"SELECT status FROM turns"))[0]["status"] == "failed" and await _is_idle(
            core
        )

    await until(is_closed)
    session = end.turn.session_id
    assert await texts(core, session) == ["first", "The whole answer"]
    assert (await asked(core, "second", session)).text == "two"
    assert await texts(core, session) == ["first", "The whole answer", "second", "two"]


async def test_connections_that_are_cut_between_two_statements_are_not_even_noticed(
    core_home: CoreHome, trouble: Trouble
) -> None:
    core_home.script(*(said(f"answer {number}") for number in range(4)))
    core = await core_home.open()
    session = None
    for number in range(4):
        trouble.cut()
        end = await asked(core, f"question {number}", session)
        session = end.turn.session_id
        assert (end.status, end.text) == (TurnStatus.COMPLETED, f"answer {number}")
    assert await core.database.pulse.ask() == ""


async def test_a_database_that_takes_no_writes_is_said_to_be_read_only_until_it_does(
    core_home: CoreHome, trouble: Trouble
) -> None:
    core_home.script(said("one"), said("two"))
    core = await core_home.open()
    session = (await asked(core, "before")).turn.session_id
    trouble.set("default_transaction_read_only", "on")
    with pytest.raises(DatabaseError, match="read-only"):
        await send(core, "meanwhile", session)
    assert await core.database.pulse.ask() == "the database is read-only: nothing can be stored"
    trouble.set("default_transaction_read_only", None)
    await asyncio.wait_for(core.database.pulse.answers(), 20)
    assert (await asked(core, "meanwhile", session)).text == "two"
    assert await texts(core, session) == ["before", "one", "meanwhile", "two"]


async def test_a_pool_without_a_free_connection_is_a_sentence_and_no_loss(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    may_end, held = asyncio.Event(), list[object]()

    async def hold(connection: psycopg.AsyncConnection[Any]) -> None:
        held.append(connection)
        await may_end.wait()

    holding = [asyncio.ensure_future(database.transaction(hold)) for _ in range(4)]
    await until(lambda: _holds(held, 4))
    monkeypatch.setattr(database_module, "WAIT_SECONDS", 0.3)
    database._pool.timeout = 0.3
    with pytest.raises(DatabaseError, match=r"did not answer within 0\.3 s"):
        await database.fetch(b"SELECT 1")
    may_end.set()
    await asyncio.gather(*holding)
    assert await database.fetch(b"SELECT 1 AS one") == [{"one": 1}]


async def test_a_journal_that_is_slow_does_not_hold_up_the_screen(core_home: CoreHome, database_url: str) -> None:
    core_home.script([StreamStarted("m"), TextChunk("Shown "), TextChunk("all the same"), "hang"])
    core = await core_home.open()
    with core.feed.subscribe() as events:
        accepted = await send(core, "go", None)
        with psycopg.connect(database_url) as blocker:
            blocker.execute("SELECT 1 FROM turns FOR UPDATE")
            shown = ""
            async with asyncio.timeout(20):
                async for live in events:
                    if isinstance(live.event, MessageDelta):
                        shown += live.event.text
                    if shown == "Shown all the same":
                        break
    assert accepted.session_id is not None
    core.dispatcher.cancel(accepted.session_id)
    await until(lambda: _is_idle(core))
    assert await texts(core, accepted.session_id) == ["go", "Shown all the same"]


async def _holds(held: list[object], count: int) -> bool:
    return len(held) == count


async def _is_idle(core: Core) -> bool:
    return not core.dispatcher.turns.all


async def test_a_full_disk_is_named_and_cos_goes_on_when_there_is_room_again(
    small_disk: Path, core_home: CoreHome
) -> None:
    del core_home.env["COS_DATABASE_URL"]
    (core_home.folder / "commonos.toml").write_text(f'[database]\ndata_dir = "{small_disk / "pg"}"\n')
    core_home.script(said("one"), *(said("more") for _ in range(40)))
    core = await core_home.open()
    session = (await asked(core, "before")).turn.session_id
    ballast = filled(small_disk / "ballast")
    large = "".join(f"{number:08}" for number in range(500_000))
    accepted = list[str]()
    with pytest.raises(DatabaseError) as caught:
        for number in range(30):
            await send(core, f"{number} {large}", session, client_message_id=f"m{number}")
            accepted.append(f"{number} {large}")
    assert "No space left on device" in str(caught.value) or "database" in str(caught.value)
    ballast.unlink()

    async def answers() -> bool:
        try:
            return bool(await core.database.fetch(b"SELECT 1"))
        except DatabaseError:
            return False

    await until(answers, seconds=40)
    await until(lambda: _is_idle(core), seconds=40)
    assert (await asked(core, "after", session)).status is TurnStatus.COMPLETED
    await until(lambda: _is_idle(core), seconds=40)
    said_by_user = [text for text in await texts(core, session) if text not in {"one", "more", None}]
    assert said_by_user == ["before", *accepted, "after"]
