"""Turns of processes that are gone are closed once; those of living ones are left alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from cos.agent.approver import ApprovalRequest
from cos.agent.identity import NewSession, TurnInfo
from cos.agent.ids import new_id
from cos.agent.messages import AssistantMessage, ToolCall, ToolResultMessage, UserMessage
from cos.agent.providers.scripted import said
from cos.agent.records import ToolCallRecord, ToolCallStatus
from cos.agent.tags import merge_tags
from cos.agent.tools import CallDescription
from cos.core.errors import DatabaseError, LostTurnError
from cos.core.postgres.approvals import Approvals
from cos.core.postgres.database import Database
from cos.core.postgres.journal import PostgresJournal
from cos.core.postgres.sessions import Sessions
from cos.core.postgres.sweep import sweep_orphans
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


async def test_a_turn_whose_process_is_gone_is_closed_once(core_url: str, database: Database) -> None:
    gone = await Database(core_url).open()
    turn = await open_turn(gone)
    last_activity = (await gone.fetch(b"SELECT last_activity_at FROM turns"))[0]["last_activity_at"]
    journal = PostgresJournal(database)
    assert await sweep_orphans(database, journal) == [], "its owner lives"
    await gone.close()

    assert await sweep_orphans(database, journal) == [turn]
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


async def test_the_session_of_an_interrupted_turn_goes_on(core_url: str, tmp_path: Path) -> None:
    """H-001: one result directly after the call, then the new text; nothing is run again."""
    gone = await Database(core_url).open()
    turn = await open_turn(gone)
    await gone.close()
    async with core_bench(core_url, tmp_path, [said("fine"), said("still")]) as core:
        await sweep_orphans(core.database, core.journal)
        assert (await core.ask("go on", turn.session_id)).text == "fine"
        roles = [message.role for message in core.provider.requests[0].messages]
        assert roles == ["user", "assistant", "tool_result", "tool_result", "user"]
        await core.ask("again", turn.session_id)
        assert core.provider.requests[1].messages[:5] == core.provider.requests[0].messages


async def test_a_process_that_lost_its_turn_stops_writing(core_url: str, database: Database) -> None:
    owner = await Database(core_url).open()
    turn, journal = await open_turn(owner), PostgresJournal(owner)
    assert owner._lock_holder is not None
    await owner._lock_holder.close()
    assert await sweep_orphans(database, PostgresJournal(database)) == [turn]
    with pytest.raises(LostTurnError, match="nothing more is written"):
        await journal.append_message(turn, AssistantMessage(text="late"))
    await owner.hold_boot_lock()
    await owner.hold_boot_lock()
    second = await open_turn(owner)
    assert await sweep_orphans(database, PostgresJournal(database)) == []
    with pytest.raises(DatabaseError):
        await PostgresJournal(database).append_message(second, AssistantMessage(text="not the owner"))
    await owner.close()
