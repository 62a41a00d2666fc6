"""Closes the turns of processes that are gone: their calls get results, their approvals expire, the session goes on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cos.agent.identity import TurnInfo
from cos.agent.records import TurnStatus
from cos.agent.tags import Tag
from cos.core.live import SessionTouched
from cos.core.postgres.database import Connection, Database, Row, boot_key
from cos.core.postgres.statements import core_statements

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from cos.core.live import CoreEvent
    from cos.core.postgres.journal import PostgresJournal


_ENDED: Final = "the program ended while this turn ran"
_LOST: Final = "the program lost this turn when it began"


class Sweeper:
    """Of one process, whose own surfaces are told what it closes."""

    def __init__(self, database: Database, journal: PostgresJournal, publish: Callable[[CoreEvent], None]) -> None:
        self._database = database
        self._journal = journal
        self._publish = publish

    async def close_mine(self, turn_id: UUID) -> bool:
        """Close a turn of this process that it does not run; False when it was closed before."""
        rows = await self._database.fetch(core_statements("journal")["open_turn_info"], {"turn_id": turn_id})

        async def work(connection: Connection) -> bool:
            return await _close(connection, self._journal, _turn(rows[0]), _LOST)

        if not rows or not await self._database.transaction(work):
            return False
        self._say([_turn(rows[0])])
        return True

    async def sweep(self, turn_id: UUID | None = None) -> list[TurnInfo]:
        """Close the open turns (only `turn_id` unless None) whose owner is gone; return the closed ones."""
        closed = await sweep_orphans(self._database, self._journal, turn_id)
        self._say(closed)
        return closed

    def _say(self, closed: list[TurnInfo]) -> None:
        for turn in closed:
            self._publish(SessionTouched(session_id=turn.session_id, profile_id=turn.profile_id))


async def sweep_orphans(database: Database, journal: PostgresJournal, turn_id: UUID | None = None) -> list[TurnInfo]:
    """Close every open turn (only `turn_id` unless None) whose owner no longer holds the lock named by its boot id."""
    sql = core_statements("journal")
    closed: list[TurnInfo] = []
    for row in await database.fetch(sql["orphaned_turns"], {"boot_id": database.boot_id, "turn_id": turn_id}):
        turn = _turn(row)

        async def work(connection: Connection, turn: TurnInfo = turn, row: Row = row) -> bool:
            key = {"key": boot_key(row["owner_boot_id"])}
            owner = await (await connection.execute(sql["try_lock_owner"], key)).fetchone()
            return owner is not None and owner["is_gone"] and await _close(connection, journal, turn, _ENDED)

        if await database.transaction(work):
            closed.append(turn)
    return closed


async def _close(connection: Connection, journal: PostgresJournal, turn: TurnInfo, error: str) -> bool:
    await connection.execute(core_statements("journal")["lock_session"], {"session_id": turn.session_id})
    ending = {
        "turn_id": turn.turn_id, "status": TurnStatus.INTERRUPTED.value, "stop_reason": None, "error": error,
        "usage": None, "context": None,
    }  # fmt: skip
    return await journal.close_in(connection, turn, ending)


def _turn(row: Row) -> TurnInfo:
    return TurnInfo(
        profile_id=row["profile_id"],
        session_id=row["session_id"],
        turn_id=row["id"],
        parent_turn_id=row["parent_turn_id"],
        tags=tuple(Tag(tag) for tag in row["tags"]),
        depth=row["depth"],
    )
