"""The turns of a session in order, and what is known of the one that runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cos.core.postgres.sessions import call_record, message_row, turn_row
from cos.core.postgres.statements import core_statements
from cos.core.postgres.turn_waiting import Waiting, waiting_of

if TYPE_CHECKING:
    from collections.abc import Collection
    from uuid import UUID

    from cos.agent.records import ToolCallRecord
    from cos.core.postgres.database import Connection, Database
    from cos.core.sessions import MessageRow, TurnRow


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What the database holds."""

    sessions: int
    turns: dict[str, int]
    """By status."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCall:
    """A call of a turn, with what the user was shown of it."""

    turn_id: UUID
    record: ToolCallRecord
    title: str | None
    """None when nobody was asked. So is `diff`, which only edits have."""
    diff: str | None


class SessionTurns:
    """Reads only; turns that were undone are left out where nothing else is said."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = core_statements("session_turns")

    async def counts(self) -> Counts:
        sessions = await self._database.fetch(self._sql["count_sessions"])
        turns = await self._database.fetch(self._sql["count_turns"])
        return Counts(sessions=sessions[0]["count"], turns={row["status"]: row["count"] for row in turns})

    async def page(self, session_id: UUID, *, after: int | None, limit: int) -> list[TurnRow]:
        """The turns after this ordinal, or (None) the newest; oldest first."""
        parameters = {"session_id": session_id, "after": after, "limit": limit}

        async def work(connection: Connection) -> list[TurnRow]:
            rows = await (await connection.execute(self._sql["turns_page"], parameters)).fetchall()
            waited = await waiting_of(connection, [row["id"] for row in rows])
            return [turn_row(row, waited.get(row["id"], Waiting())) for row in rows]

        return await self._database.read(work)

    async def undone(self, session_id: UUID) -> list[UUID]:
        """Those that nobody sees any more, oldest first."""
        rows = await self._database.fetch(self._sql["undone_turns"], {"session_id": session_id})
        return [row["id"] for row in rows]

    async def messages_after(self, session_id: UUID, ordinal: int, limit: int) -> list[MessageRow]:
        """Oldest first, inactive ones included."""
        parameters = {"session_id": session_id, "after": ordinal, "limit": limit}
        return [message_row(row) for row in await self._database.fetch(self._sql["messages_after"], parameters)]

    async def calls(self, turn_ids: Collection[UUID]) -> list[StoredCall]:
        """The calls of some turns, those of each turn in their order."""
        rows = await self._database.fetch(self._sql["calls_of_turns"], {"ids": list(turn_ids)})
        return [
            StoredCall(turn_id=row["turn_id"], record=call_record(row), title=row["title"], diff=row["diff"])
            for row in rows
        ]

    async def running(self, session_id: UUID) -> UUID | None:
        """The turn that runs in it, in whichever process."""
        rows = await self._database.fetch(self._sql["open_turn_of"], {"session_id": session_id})
        return rows[0]["id"] if rows else None
