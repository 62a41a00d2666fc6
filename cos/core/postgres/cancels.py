"""Wishes that a turn stop, kept with the turn: whoever runs it hears of them, or finds them when it looks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, LiteralString
from uuid import UUID

from cos.agent.text import storable
from cos.core.postgres.statements import core_statements

if TYPE_CHECKING:
    from cos.core.postgres.database import Connection, Database


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenTurn:
    """A turn that has not ended, and the process that runs it."""

    id: UUID
    owner_boot_id: UUID


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelRequest:
    """A turn of this process that is to stop."""

    turn_id: UUID
    session_id: UUID
    reason: str


class Cancels:
    """One query a method."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = core_statements("cancels")

    @property
    def boot_id(self) -> UUID:
        """This process among those on the database."""
        return self._database.boot_id

    async def request(self, session_id: UUID, turn_id: UUID | None, reason: str) -> OpenTurn | None:
        """Ask whoever runs it to stop the session's open turn; None when it has none, or another than `turn_id`."""
        return await self._ask(
            self._sql["request_cancel"], {"session_id": session_id, "turn_id": turn_id, "reason": reason}
        )

    async def make_way(self, session_id: UUID, message_id: UUID, reason: str) -> OpenTurn | None:
        """The session's open turn, which a waiting message to be sent now stops; None when it has none any more.

        When that turn is being stopped already, the queue goes on after it: the message came in later.
        """
        await self._ask(self._sql["make_way"], {"session_id": session_id, "message_id": message_id, "reason": reason})
        return await self.open_turn(session_id)

    async def open_turn(self, session_id: UUID) -> OpenTurn | None:
        """The one that runs in the session, here or elsewhere."""
        rows = await self._database.fetch(self._sql["open_turn_of"], {"session_id": session_id})
        return OpenTurn(**rows[0]) if rows else None

    async def of_mine(self, turn_id: UUID | None = None) -> list[CancelRequest]:
        """Turns of this process that are to stop (None = all of them)."""
        key = {"boot_id": self.boot_id, "turn_id": turn_id}
        rows = await self._database.fetch(self._sql["cancels_of_owner"], key)
        return [
            CancelRequest(turn_id=row["id"], session_id=row["session_id"], reason=row["cancel_reason"]) for row in rows
        ]

    async def mine(self) -> list[tuple[UUID, UUID]]:
        """The open turns of this process, each with its session."""
        rows = await self._database.fetch(self._sql["open_turns_of_owner"], {"boot_id": self.boot_id})
        return [(row["id"], row["session_id"]) for row in rows]

    async def goes_on(self, turn_id: UUID) -> bool:
        """Whether a message came in after another process had asked the turn to stop."""
        rows = await self._database.fetch(self._sql["goes_on"], {"turn_id": turn_id})
        return bool(rows and rows[0]["cancel_goes_on"])

    async def _ask(self, statement: LiteralString, request: dict[str, Any]) -> OpenTurn | None:
        row = request | {"boot_id": self.boot_id, "reason": storable(request["reason"])}

        async def work(connection: Connection) -> OpenTurn | None:
            asked = await (await connection.execute(statement, row)).fetchone()
            if asked is None:
                return None
            turn = OpenTurn(id=asked["id"], owner_boot_id=asked["owner_boot_id"])
            if asked["is_first"] and turn.owner_boot_id != self.boot_id:
                told = {"owner_boot_id": turn.owner_boot_id, "turn_id": turn.id}
                await connection.execute(self._sql["tell_cancel"], told)
            return turn

        return await self._database.transaction(work)
