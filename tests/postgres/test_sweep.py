"""Turns of processes that are gone are closed once; those of living ones are left alone."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest

from cos.agent.approver import ApprovalRequest
from cos.agent.events import Usage
from cos.agent.identity import NewSession, TurnInfo
from cos.agent.ids import new_id
from cos.agent.messages import AssistantMessage, ToolCall, ToolResultMessage, UserMessage
from cos.agent.providers.scripted import said
from cos.agent.records import ToolCallRecord, ToolCallStatus, TurnStatus
from cos.agent.tags import merge_tags
from cos.agent.tools import CallDescription
from cos.core.errors import DatabaseError, LostTurnError
from cos.core.live import CoreEvent, SessionTouched
from cos.core.postgres.approvals import Approvals
from cos.core.postgres.database import Connection, Database
from cos.core.postgres.journal import PostgresJournal
from cos.core.postgres.sessions import Sessions
from cos.core.postgres.sweep import Sweeper, sweep_orphans
from tests.core_bench import core_bench


async def open_turn(database: Database) -> TurnInfo:
    """A turn with a running call, a proposed one and an unanswered request."""
    journal = PostgresJournal(database)
    session = await journal.create_session(NewSession(profile_id="home", source="cli"))
    turn = TurnInfo(profile_id="home", session_id=session, turn_id=new_id(), tags=merge_tags(["client:acme"]), depth=0)
    await journal.start_turn(turn, UserMessage(text="go"))
    calls = [ToolCall(id=id_, name="terminal", args={"command": "sleep 60"}) for id_ in ("ran", "waits")]
    await journal.append_message(turn, AssistantMessage(tool_calls=calls))
    record = ToolCallRecord(call_id="ran", name="terminal", args=calls[0].args, status=ToolCallStatus.RUNNING)
    await journal.record_tool_call(turn, record)
    await journal.record_tool_call(turn, replace(record, call_id="waits", status=ToolCallStatus.WAITING))
    request = ApprovalRequest(
        turn=turn, call_id="waits", name="terminal", args=calls[1].args, risk="execute",
        description=CallDescription(title="sleep"), reasons=("it runs a program",),
    )  # fmt: skip
    await Approvals(database).request(new_id(), request, "hash", 60)
    return turn


async def swept(database: Database) -> list[TurnInfo]:
    """What is closed as soon as the server has seen that its owner is gone."""
    async with asyncio.timeout(20):
        while not (closed := await sweep_orphans(database, PostgresJournal(database))):
            await asyncio.sleep(0.002)
    return closed


async def test_a_turn_whose_process_is_gone_is_closed_once(core_url: str, database: Database) -> None:
    gone = await Database(core_url).open()
    turn = await open_turn(gone)
    last_activity = (await gone.fetch(b"SELECT last_activity_at FROM turns"))[0]["last_activity_at"]
    journal = PostgresJournal(database)
    assert await sweep_orphans(database, journal) == [], "its owner lives"
    await gone.close()

    assert await swept(database) == [turn]
    history = await journal.load_history(turn.session_id)
    ran, waits = history[2:]
    assert isinstance(ran, ToolResultMessage)
    assert isinstance(waits, ToolResultMessage)
    assert (ran.call_id, ran.is_error, "outcome unknown" in ran.content) == ("ran", True, True)
    assert (waits.call_id, waits.content) == ("waits", "Not run: the turn was interrupted before this call started.")
    transcript = await Sessions(database).transcript(turn.session_id)
    assert [call.status for call in transcript.calls.values()] == [ToolCallStatus.UNKNOWN, ToolCallStatus.CANCELLED]
    row = transcript.turns[turn.turn_id]
    assert (row.status, row.completed_at) == ("interrupted", last_activity)
    assert [row["status"] for row in await database.fetch(b"SELECT status FROM approvals")] == ["expired"]

    assert await sweep_orphans(database, journal) == []
    assert await journal.load_history(turn.session_id) == history


async def test_an_interrupted_turn_keeps_what_it_had_used(core_url: str, database: Database) -> None:
    gone = await Database(core_url).open()
    turn = await open_turn(gone)
    used = Usage(input_tokens=7, output_tokens=3, is_partial=True)
    await PostgresJournal(gone).append_message(turn, UserMessage(text="and then"), usage=used)
    sessions = Sessions(database)
    assert (await sessions.transcript(turn.session_id)).turns[turn.turn_id].usage is None, "it still runs"
    assert await sessions.usage(turn.session_id) == Usage()
    await gone.close()
    await swept(database)
    assert (await sessions.transcript(turn.session_id)).turns[turn.turn_id].usage == used
    assert await sessions.usage(turn.session_id) == used


async def test_the_session_of_an_interrupted_turn_goes_on(core_url: str, tmp_path: Path) -> None:
    """H-001: one result directly after the call, then the new text; nothing is run again."""
    gone = await Database(core_url).open()
    turn = await open_turn(gone)
    await gone.close()
    async with core_bench(core_url, tmp_path, [said("fine"), said("still")]) as core:
        await swept(core.database)
        assert (await core.ask("go on", turn.session_id)).text == "fine"
        roles = [message.role for message in core.provider.requests[0].messages]
        assert roles == ["user", "assistant", "tool_result", "tool_result", "user"]
        await core.ask("again", turn.session_id)
        assert core.provider.requests[1].messages[:5] == core.provider.requests[0].messages


async def test_what_waited_behind_the_turn_of_a_gone_process_pauses(core_url: str, database: Database) -> None:
    gone = await Database(core_url).open()
    turns = [await open_turn(gone), await open_turn(gone)]
    sessions = Sessions(database)
    waits = await sessions.get(turns[0].session_id)
    await sessions.enqueue(waits, new_id(), UserMessage(text="later"), "cli", None, "queue")
    await gone.close()
    async with asyncio.timeout(20):
        closed = list[TurnInfo]()
        while len(closed) < 2:
            closed += await sweep_orphans(database, PostgresJournal(database))
    assert [(await sessions.get(turn.session_id)).queue_paused for turn in turns] == [True, False]


async def test_what_a_process_left_between_two_turns_pauses_until_one_begins(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was killed after one turn, before the next: nothing is open that anybody could find."""
    journal, sessions, told = PostgresJournal(database), Sessions(database), list[CoreEvent]()
    turn = await open_turn(database)
    session = await sessions.get(turn.session_id)
    await sessions.enqueue(session, new_id(), UserMessage(text="later"), "cli", None, "queue")
    sweeper = Sweeper(database, journal, told.append)

    async def is_paused_after(seconds: float) -> bool:
        monkeypatch.setattr("cos.core.postgres.sweep.LEFT_SECONDS", seconds)
        await sweeper.sweep()
        return (await sessions.get(session.id)).queue_paused

    assert not await is_paused_after(0), "its turn runs"
    await journal.finish_turn(turn, TurnStatus.COMPLETED)
    assert not await is_paused_after(60), "whoever ran the turn is about to go on"
    assert await is_paused_after(0)
    assert [event.session_id for event in told if isinstance(event, SessionTouched)] == [session.id]
    await journal.start_turn(replace(turn, turn_id=new_id()), UserMessage(text="go on"))
    assert not (await sessions.get(session.id)).queue_paused


async def cut(admin: psycopg.Connection, database: Database, *, all_of_it: bool) -> None:
    """Cut a living process' connections, or only the one that holds its lock, and wait until the server knows."""
    assert database._lock_holder is not None
    which = "pid = %s" if not all_of_it else "starts_with(application_name, %s)"
    key = f"cos {database.boot_id}" if all_of_it else database._lock_holder.info.backend_pid
    statement = f"FROM pg_stat_activity WHERE {which}".encode()
    admin.execute(b"SELECT pg_terminate_backend(pid) " + statement, [key])
    while admin.execute(b"SELECT pid " + statement, [key]).fetchall():
        await asyncio.sleep(0.002)


async def test_a_process_that_lost_only_the_connection_with_its_lock_lives(
    core_url: str, database: Database, postgres_admin: psycopg.Connection
) -> None:
    owner = await Database(core_url).open()
    turn, journal = await open_turn(owner), PostgresJournal(owner)
    await cut(postgres_admin, owner, all_of_it=False)
    assert await sweep_orphans(database, PostgresJournal(database)) == []
    await journal.append_message(turn, AssistantMessage(text="goes on"))
    await owner.close()


async def test_a_process_that_lost_its_turn_stops_writing(
    core_url: str, database: Database, postgres_admin: psycopg.Connection
) -> None:
    owner = await Database(core_url).open()
    turn, journal = await open_turn(owner), PostgresJournal(owner)
    await cut(postgres_admin, owner, all_of_it=True)
    assert await sweep_orphans(database, PostgresJournal(database)) == [turn]
    with pytest.raises(LostTurnError, match="nothing more is written"):
        await journal.append_message(turn, AssistantMessage(text="late"))
    second = await open_turn(owner)
    assert await sweep_orphans(database, PostgresJournal(database)) == []
    with pytest.raises(DatabaseError):
        await PostgresJournal(database).append_message(second, AssistantMessage(text="not the owner"))
    await owner.close()


async def test_a_process_takes_its_lock_again_before_it_writes(
    core_url: str, database: Database, postgres_admin: psycopg.Connection
) -> None:
    """Whoever finds it cut off and writing would find its lock free."""
    owner = await Database(core_url).open()
    turn = await open_turn(owner)
    await cut(postgres_admin, owner, all_of_it=True)

    async def work(connection: Connection) -> bool:
        key = {"key": owner.owner_key}
        tried = "SELECT NOT pg_try_advisory_xact_lock(%(key)s) AS held"
        row = await (await connection.execute(tried, key)).fetchone()
        assert row is not None
        return bool(row["held"])

    assert await owner.transaction(work)
    assert await sweep_orphans(database, PostgresJournal(database)) == []
    await PostgresJournal(owner).append_message(turn, AssistantMessage(text="back"))
    await owner.close()


@pytest.mark.parametrize("who", ["a young server", "a sweeper that was cut off, too"])
async def test_nobody_sweeps_while_others_may_still_come_back(
    core_url: str, database: Database, postgres_admin: psycopg.Connection, monkeypatch: pytest.MonkeyPatch, who: str
) -> None:
    owner = await Database(core_url).open()
    turn = await open_turn(owner)
    await cut(postgres_admin, owner, all_of_it=True)
    if who == "a young server":
        monkeypatch.setattr("cos.core.postgres.sweep.RETURN_SECONDS", 1e6)
    else:
        await cut(postgres_admin, database, all_of_it=True)
    sweeper = Sweeper(database, PostgresJournal(database), list[CoreEvent]().append)
    assert await sweeper.sweep() == []
    with pytest.raises(DatabaseError, match="may be coming back"):
        await sweeper.close_left(turn.turn_id)
    await owner.hold_boot_lock()
    assert not await sweeper.close_left(turn.turn_id)
    await PostgresJournal(owner).append_message(turn, AssistantMessage(text="here I am"))
    await owner.close()
