"""Closes the turns of processes that are gone: their calls get results, their approvals expire, the session goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cos.agent.identity import TurnInfo
from cos.agent.records import TurnStatus
from cos.agent.tags import Tag
from cos.core.postgres.database import Connection, Database, Row, boot_key
from cos.core.postgres.statements import core_statements

if TYPE_CHECKING:
    from cos.core.postgres.journal import PostgresJournal


async def sweep_orphans(database: Database, journal: PostgresJournal) -> list[TurnInfo]:
    """Close every open turn whose owner no longer holds the lock named by its boot id; return the closed ones."""
    sql = core_statements("journal")
    closed: list[TurnInfo] = []
    for row in await database.fetch(sql["orphaned_turns"], {"boot_id": database.boot_id}):
        turn = _turn(row)

        async def work(connection: Connection, turn: TurnInfo = turn, row: Row = row) -> bool:
            key = {"key": boot_key(row["owner_boot_id"])}
            owner = await (await connection.execute(sql["try_lock_owner"], key)).fetchone()
            if owner is None or not owner["is_gone"]:
                return False
            await connection.execute(sql["lock_session"], {"session_id": turn.session_id})
            ending = {
                "turn_id": turn.turn_id, "status": TurnStatus.INTERRUPTED.value, "stop_reason": None,
                "error": "the program ended while this turn ran", "usage": None, "context": None,
            }  # fmt: skip
            return await journal.close_in(connection, turn, ending)

        if await database.transaction(work):
            closed.append(turn)
    return closed


def _turn(row: Row) -> TurnInfo:
    return TurnInfo(
        profile_id=row["profile_id"],
        session_id=row["session_id"],
        turn_id=row["id"],
        parent_turn_id=row["parent_turn_id"],
        tags=tuple(Tag(tag) for tag in row["tags"]),
        depth=row["depth"],
    )
