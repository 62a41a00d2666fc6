"""Whether all that must hold in the database does, found by comparing whole tables; and the repairs that are safe."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from cos.agent.records import TurnStatus
from cos.core.postgres.statements import core_statements
from cos.core.postgres.sweep import RETURN_SECONDS, sweep_orphans, turn_of

if TYPE_CHECKING:
    from cos.core.postgres.database import Connection, Database
    from cos.core.postgres.journal import PostgresJournal


ORPHANED = "open turn whose process is gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is not as it must be."""

    kind: str
    session_id: UUID
    turn_id: UUID | None
    """None when it is no matter of one turn."""
    id: str
    """What is wrong there: a call id, a message, a request, a hash."""


async def check_journal(database: Database) -> list[Finding]:
    """Everything that is wrong. Running turns of living processes are not looked into."""
    sql = core_statements("check")

    async def work(connection: Connection) -> list[Finding]:
        await connection.execute(sql["room_to_compare"])
        found: list[Finding] = []
        for statement in (
            sql["calls_and_results"],
            sql["unknown_calls"],
            sql["strayed_messages"],
            sql["holes"],
            sql["open_turns"],
            sql["orphaned_open_turns"],
            sql["dead_approvals"],
            sql["lost_in_queue"],
            sql["missing_blobs"],
        ):
            found += [Finding(**row) for row in await (await connection.execute(statement)).fetchall()]
        return found

    found = await database.transaction(work)
    if any(it.kind == ORPHANED for it in found):
        await _let_all_return(database)
    # A turn may have ended and its process gone between the look at the one and at the other.
    still = {row["id"] for row in await database.fetch(sql["orphaned_open_turns"])}
    return [it for it in found if it.kind != ORPHANED or it.id in still]


async def repair_journal(database: Database, journal: PostgresJournal) -> list[str]:
    """Do what is safe, and say what was done: nothing that was said is changed or lost."""
    sql = core_statements("check")
    if await database.fetch(sql["orphaned_open_turns"]):
        await _let_all_return(database)
    done = [
        f"closed turn {turn.turn_id} of session {turn.session_id}, whose process is gone"
        for turn in await sweep_orphans(database, journal)
    ]
    for row in await database.fetch(sql["expire_dead_approvals"]):
        done.append(f"request {row['id']} of session {row['session_id']} is expired: its turn had ended")
    unanswered = await database.fetch(sql["turns_to_answer"], {"session_id": None})
    for session_id in dict.fromkeys(row["session_id"] for row in unanswered):
        done += await database.transaction(partial(_answer, journal=journal, session_id=session_id))
    return done


async def _let_all_return(database: Database) -> None:
    """Wait until nobody's turn can be taken for an orphan only because the server has just begun."""
    wanted = {"seconds": RETURN_SECONDS}
    (row,) = await database.fetch(core_statements("check")["seconds_to_return"], wanted)
    await asyncio.sleep(row["seconds"])


async def _answer(connection: Connection, *, journal: PostgresJournal, session_id: UUID) -> list[str]:
    """Give results to the calls of a session that have none, as its only writer."""
    key = {"session_id": session_id}
    await connection.execute(core_statements("journal")["lock_session"], key)
    done = []
    for row in await (await connection.execute(core_statements("check")["turns_to_answer"], key)).fetchall():
        turn = turn_of(row)
        for call_id in await journal.settle_in(connection, turn, TurnStatus.INTERRUPTED):
            done.append(f"call {call_id} of turn {turn.turn_id} had no result and has one now: it was interrupted")
    return done
