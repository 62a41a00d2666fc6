"""What comes on screen of the replies that are being streamed, kept piece by piece: one statement for all that wait.

With many streams a statement waits for more of them first: each has a price of its own, which is paid less often then.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from cos.agent.cancellation import uninterrupted
from cos.agent.messages import partial_reply
from cos.agent.text import storable
from cos.core.errors import DatabaseError
from cos.core.postgres.statements import core_statements
from cos.core.sessions import OpenReply

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from cos.agent.records import ReplyPiece
    from cos.core.postgres.database import Database, Row

GATHER_SECONDS: Final = 0.001
"""For each reply beyond the first that the statement before has kept."""
LONGEST_GATHER_SECONDS: Final = 0.03


def open_reply_of(row: Row) -> OpenReply:
    """A row of the statement `open_reply`."""
    message = partial_reply(row["text"] or "", row["thinking"] or "")
    return OpenReply(turn_id=row["turn_id"], message_id=row["message_id"], message=message)


@dataclass(slots=True)
class _Batch:
    """What is written next; each who waits for it is told how that went."""

    is_written: asyncio.Event = field(default_factory=asyncio.Event)
    replies: int = 0
    rows: list[tuple[UUID, UUID, ReplyPiece]] = field(default_factory=list)
    """Turn, message and piece."""
    error: DatabaseError | None = field(default_factory=lambda: DatabaseError("the write was cut short"))
    """None when it is stored."""


class OpenReplies:
    """While one statement is under way the next ones gather: with many turns at once it is few statements, not many."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = core_statements("journal")["keep_pieces"]
        self._next = _Batch()
        self._one_at_a_time = asyncio.Lock()
        self._others = 0
        """Replies beside the first in the statement before."""

    async def keep(self, turn_id: UUID, message_id: UUID, pieces: Sequence[ReplyPiece]) -> None:
        """Return when they are stored. A turn that has ended, or is another process' now, keeps nothing any more.

        Raises:
            DatabaseError: they are not stored.
        """
        batch = self._next
        batch.replies += 1
        batch.rows += [(turn_id, message_id, piece) for piece in pieces]
        if batch.replies == 1:
            await uninterrupted(self._gather_and_write(batch))
        else:
            await batch.is_written.wait()
        if batch.error is not None:
            raise DatabaseError(str(batch.error)) from batch.error

    async def _gather_and_write(self, batch: _Batch) -> None:
        async with self._one_at_a_time:
            if self._others:
                await asyncio.sleep(min(self._others * GATHER_SECONDS, LONGEST_GATHER_SECONDS))
            self._next, self._others = _Batch(), batch.replies - 1
            try:
                await self._write(batch)
            finally:
                batch.is_written.set()

    async def _write(self, batch: _Batch) -> None:
        turn_ids, message_ids, pieces = zip(*batch.rows, strict=True)
        parameters = {
            "owner_boot_id": self._database.boot_id,
            "turn_ids": list(turn_ids),
            "message_ids": list(message_ids),
            "numbers": [piece.number for piece in pieces],
            "thinking": [piece.is_thinking for piece in pieces],
            "texts": [storable(piece.text) for piece in pieces],
        }
        try:
            await self._database.fetch(self._sql, parameters)
            batch.error = None
        except DatabaseError as error:
            batch.error = error
