"""What is on screen of the replies that are being streamed, kept as it grows: one statement for all that wait."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cos.core.errors import DatabaseError
from cos.core.postgres.statements import core_statements

if TYPE_CHECKING:
    from uuid import UUID

    from cos.core.postgres.database import Database


@dataclass(slots=True)
class _Batch:
    """What is written next; each who waits for it is told how that went."""

    replies: dict[UUID, tuple[UUID, str]] = field(default_factory=dict)
    """By turn: the message's id and its JSON."""
    error: DatabaseError | None = None


class OpenReplies:
    """While one statement is under way the next ones gather: with many turns at once it is few statements, not many."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = core_statements("journal")["keep_replies"]
        self._next = _Batch()
        self._one_at_a_time = asyncio.Lock()

    async def keep(self, turn_id: UUID, reply_id: UUID, body: str) -> None:
        """Return when it is stored. A turn that has ended, or is another process' now, keeps nothing any more.

        Raises:
            DatabaseError: it is not stored.
        """
        batch = self._next
        batch.replies[turn_id] = (reply_id, body)
        async with self._one_at_a_time:
            if batch is self._next:
                self._next = _Batch()
                await self._write(batch)
        if batch.error is not None:
            raise DatabaseError(str(batch.error)) from batch.error

    async def _write(self, batch: _Batch) -> None:
        reply_ids, bodies = zip(*batch.replies.values(), strict=True)
        try:
            await self._database.fetch(
                self._sql,
                {
                    "owner_boot_id": self._database.boot_id,
                    "turn_ids": list(batch.replies),
                    "reply_ids": list(reply_ids),
                    "bodies": list(bodies),
                },
            )
        except DatabaseError as error:
            batch.error = error
