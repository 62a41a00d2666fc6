"""`cos db check`: a sound journal has no findings, each kind of damage has its own, and repairs lose nothing."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import psycopg
import pytest

from cos.agent.messages import ToolResultMessage
from cos.core.postgres.check import check_journal, repair_journal
from cos.core.postgres.database import Database
from cos.core.postgres.journal import PostgresJournal
from tests.fix_home import CoreHome, asked
from tests.postgres.test_sweep import open_turn

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from uuid import UUID

DAMAGE = {
    "call without result": "DELETE FROM messages WHERE call_id = 'waits'",
    "result without call": "DELETE FROM tool_calls WHERE call_id = 'ran'",
    "call that nobody recorded": "DELETE FROM tool_calls WHERE call_id = 'ran'",
    "call parted from its result": "UPDATE messages SET active = false WHERE call_id = 'ran'",
    "result not directly after its call": "UPDATE messages SET ordinal = ordinal + 7 WHERE role = 'tool_result'",
    "messages missing from the order": "UPDATE messages SET ordinal = 0 WHERE ordinal = 1",
    "turns missing from the order": "UPDATE turns SET ordinal = 5",
    "message of a turn of another session": (
        "INSERT INTO sessions (id, profile_id, source, root_session_id)"
        " VALUES ('00000000-0000-7000-8000-000000000001', 'home', 'cli', '00000000-0000-7000-8000-000000000001');"
        " UPDATE messages SET session_id = '00000000-0000-7000-8000-000000000001' WHERE role = 'user'"
    ),
    "more than one open turn": (
        "DROP INDEX turns_one_active; INSERT INTO turns (id, session_id, profile_id, ordinal, owner_boot_id)"
        " SELECT gen_random_uuid(), session_id, profile_id, ordinal + n, owner_boot_id"
        " FROM turns, generate_series(1, 2) n"
    ),
    "open turn whose process is gone": "UPDATE turns SET status = 'running', completed_at = NULL",
    "request that waits in a closed turn": "UPDATE approvals SET status = 'pending', answered_at = NULL",
    "waiting message without its session": (
        "INSERT INTO queued_messages (id, session_id, profile_id, body, source)"
        " SELECT gen_random_uuid(), id, 'work', '{}', 'cli' FROM sessions"
    ),
    "picture that is missing": (
        """UPDATE messages SET body = '{"role": "user", "text": "x", "parts": [{"type": "image", "blob": "feed"}]}'"""
        " WHERE role = 'user'"
    ),
}  # fmt: skip


@pytest.fixture
async def closed(core_url: str, database: Database) -> AsyncIterator[UUID]:
    """A session whose only turn, with two calls, was closed when its process had gone."""
    gone = await Database(core_url).open()
    turn = await open_turn(gone)
    await gone.close()
    await repair_journal(database, PostgresJournal(database))
    yield turn.session_id


@pytest.mark.parametrize("kind", DAMAGE)
async def test_each_damage_is_found_and_named(database: Database, core_url: str, closed: UUID, kind: str) -> None:
    assert await check_journal(database) == []
    with psycopg.connect(core_url, autocommit=True) as connection:
        connection.execute(DAMAGE[kind].encode())
    found = await check_journal(database)
    assert kind in {finding.kind for finding in found}
    assert all(finding.id for finding in found)
    assert {finding.session_id for finding in found if finding.kind == kind} <= {
        row["id"] for row in await database.fetch(b"SELECT id FROM sessions")
    }


async def test_a_running_turn_of_a_living_process_is_in_order(core_url: str, database: Database) -> None:
    living = await Database(core_url).open()
    turn = await open_turn(living)
    assert await check_journal(database) == []
    await living.close()
    while not (found := await check_journal(database)):  # The server lets go of the lock a moment later.
        await asyncio.sleep(0)
    assert [(it.kind, it.turn_id) for it in found] == [("open turn whose process is gone", turn.turn_id)]


async def test_repair_closes_answers_and_expires_and_changes_nothing_else(database: Database, closed: UUID) -> None:
    journal = PostgresJournal(database)
    whole = await journal.load_history(closed)
    await database.fetch(b"DELETE FROM messages WHERE call_id = 'waits'")
    await database.fetch(b"UPDATE tool_calls SET status = 'running', finished_at = NULL WHERE call_id = 'waits'")
    await database.fetch(b"UPDATE approvals SET status = 'pending', answered_at = NULL")
    done = await repair_journal(database, journal)
    assert [words.split()[0] for words in done] == ["request", "call"]
    assert await check_journal(database) == []
    history = await journal.load_history(closed)
    assert history[:-1] == whole[:-1]
    assert isinstance(history[-1], ToolResultMessage)
    assert (history[-1].call_id, "it may have had its effect" in history[-1].content) == ("waits", True)
    assert await repair_journal(database, journal) == []


async def test_a_result_that_would_come_too_late_is_not_made_up(database: Database, closed: UUID) -> None:
    await database.fetch(b"DELETE FROM messages WHERE call_id = 'ran'")
    await database.fetch(
        b"INSERT INTO messages (id, session_id, turn_id, profile_id, ordinal, role, body)"
        b" SELECT gen_random_uuid(), session_id, turn_id, profile_id, 9, 'assistant',"
        b""" '{"role": "assistant", "text": "later"}' FROM messages WHERE role = 'user'"""
    )
    assert await repair_journal(database, PostgresJournal(database)) == []
    assert "call without result" in {finding.kind for finding in await check_journal(database)}


async def test_what_the_whole_program_writes_is_in_order(core_home: CoreHome) -> None:
    core_home.write_profile("work", 'provider = "mock"\n', rules='[approvals]\nmode = "auto"\n')
    core = await core_home.open()
    for text in ("run a command", "think", "run a command"):
        ended = await asked(core, text, profile="work")
        await asked(core, "think", ended.turn.session_id, profile="work")
    await core.edits.undo(ended.turn.session_id, 1)
    await core.edits.fork(ended.turn.session_id)
    assert await check_journal(core.database) == []
    assert await core.plugins.database_findings() == []
    await core.database.fetch(b"UPDATE bill_sums SET calls = calls + 1 WHERE kind = 'all'")
    (sentence,) = await core.plugins.database_findings()
    assert "The calls are right" in sentence
