"""Closes the turns of processes that are gone: their calls get results, their approvals expire, the session goes on.
The queues that such a process left between two turns pause.

A process is gone when nobody holds the lock named by its boot id and no connection bears that id. All its connections
may have been cut at once, as when the server is started again: then it takes its lock again before it writes anything,
and for a few seconds (`RETURN_SECONDS`, since the server began, or since the sweeping process had to come back itself)
nobody closes turns. What is left of a gap: a process that begins just then, on a server that was not started again.
A turn that is closed under a living owner nevertheless is fenced: nothing more is written to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from cos.agent.identity import TurnInfo
from cos.agent.records import TurnStatus
from cos.agent.tags import Tag
from cos.core.errors import DatabaseError
from cos.core.live import SessionTouched
from cos.core.postgres.database import Connection, Database, Row, boot_key
from cos.core.postgres.statements import core_statements
from cos.core.postgres.teller import tell_session

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from cos.core.live import CoreEvent
    from cos.core.postgres.journal import PostgresJournal


SWEEP_SECONDS: Final = 60.0
RETURN_SECONDS: Final = 5.0
"""How long a living process may take to come back to a server that was started again; see `Pulse`."""
FIRST_SWEEP_SECONDS: Final = RETURN_SECONDS + 1
"""After the start: then the server is old enough for it, and a process that died just before is gone."""
LEFT_SECONDS: Final = 5.0
"""A queue that could go on and does not for so long was left."""
OwnerState = Literal["lives", "away", "gone"]
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
            return await _close(connection, self._journal, turn_of(rows[0]), _LOST)

        if not rows or not await self._database.transaction(work):
            return False
        self._say([turn_of(rows[0])])
        return True

    async def sweep(self, turn_id: UUID | None = None) -> list[TurnInfo]:
        """Close the open turns (only `turn_id` unless None) whose owner is gone; return the closed ones.

        Without `turn_id` the queues pause, too, that a process has left between two turns.
        """
        found = await look_for_owners(self._database, self._journal, turn_id)
        closed = [turn for turn, state in found if state == "gone"]
        self._say(closed)
        if turn_id is None:
            for session_id, profile_id in await pause_left(self._database):
                self._publish(SessionTouched(session_id=session_id, profile_id=profile_id))
        return closed

    async def close_left(self, turn_id: UUID) -> bool:
        """Close another process' turn if its owner is gone, for a caller who goes on; False while the owner lives.

        Raises:
            DatabaseError: that is not certain yet; it will be in a moment.
        """
        for turn, state in await look_for_owners(self._database, self._journal, turn_id, goes_on=True):
            if state == "gone":
                self._say([turn])
            elif state == "away":
                raise DatabaseError(f"the process of turn {turn.turn_id} may be coming back to the database")
            else:
                return False
        return True

    def _say(self, closed: list[TurnInfo]) -> None:
        for turn in closed:
            self._publish(SessionTouched(session_id=turn.session_id, profile_id=turn.profile_id))


async def sweep_orphans(database: Database, journal: PostgresJournal) -> list[TurnInfo]:
    """Close every open turn whose owner is gone, and let the queues pause that were left between two turns."""
    closed = [turn for turn, state in await look_for_owners(database, journal) if state == "gone"]
    await pause_left(database)
    return closed


async def pause_left(database: Database) -> list[tuple[UUID, str]]:
    """Let the queues pause with which nobody goes on; their sessions, each with its profile.

    A living process begins the next turn at once or, as after an outage, when it can: that ends the pause.
    """
    sql, paused = core_statements("journal"), []
    for row in await database.fetch(sql["left_queues"], {"id": None, "seconds": LEFT_SECONDS}):

        async def work(connection: Connection, row: Row = row) -> bool:
            await connection.execute(sql["lock_session"], {"session_id": row["id"]})
            key = {"id": row["id"], "seconds": LEFT_SECONDS}
            if await (await connection.execute(sql["left_queues"], key)).fetchone() is None:
                return False
            await connection.execute(sql["pause_left_queue"], {"session_id": row["id"]})
            await tell_session(connection, database, row["id"], row["profile_id"])
            return True

        if await database.transaction(work):
            paused.append((row["id"], row["profile_id"]))
    return paused


async def look_for_owners(
    database: Database, journal: PostgresJournal, turn_id: UUID | None = None, *, goes_on: bool = False
) -> list[tuple[TurnInfo, OwnerState]]:
    """The open turns of other processes (only `turn_id` unless None); those whose owner is gone are closed now.

    What waited behind such a turn pauses, unless the caller goes on with it.
    """
    sql = core_statements("journal")
    found: list[tuple[TurnInfo, OwnerState]] = []
    for row in await database.fetch(sql["orphaned_turns"], {"boot_id": database.boot_id, "turn_id": turn_id}):
        turn, boot_id = turn_of(row), row["owner_boot_id"]

        async def work(connection: Connection, turn: TurnInfo = turn, boot_id: UUID = boot_id) -> OwnerState:
            key = {"key": boot_key(boot_id), "owner_boot_id": boot_id, "seconds": RETURN_SECONDS}
            owner = await (await connection.execute(sql["look_for_owner"], key)).fetchone()
            if owner is None or owner["lives"]:
                return "lives"
            if owner["may_come_back"] or database.seconds_since_return < RETURN_SECONDS:
                return "away"
            await _close(connection, journal, turn, _ENDED)
            if not goes_on:
                await connection.execute(sql["pause_left_queue"], {"session_id": turn.session_id})
            return "gone"

        found.append((turn, await database.transaction(work)))
    return found


async def _close(connection: Connection, journal: PostgresJournal, turn: TurnInfo, error: str) -> bool:
    await connection.execute(core_statements("journal")["lock_session"], {"session_id": turn.session_id})
    ending = {
        "turn_id": turn.turn_id, "status": TurnStatus.INTERRUPTED.value, "stop_reason": None, "error": error,
        "usage": None, "context": None,
    }  # fmt: skip
    return await journal.close_in(connection, turn, ending)


def turn_of(row: Row) -> TurnInfo:
    """The turn that a row of `turns` tells of."""
    return TurnInfo(
        profile_id=row["profile_id"],
        session_id=row["session_id"],
        turn_id=row["id"],
        parent_turn_id=row["parent_turn_id"],
        tags=tuple(Tag(tag) for tag in row["tags"]),
        depth=row["depth"],
    )
