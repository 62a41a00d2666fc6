"""The messages that wait, one by one: changing and removing them while a turn may take them in the same instant.

Whoever locks the row first wins: a turn that read the message before finds it changed and reads again.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from cos.agent.errors import NotWaitingError
from cos.agent.messages import UserMessage, message_from_json, message_json
from cos.core.pictures import Picture, kept_parts
from cos.core.postgres.blobs import PostgresBlobs
from cos.core.postgres.statements import core_statements
from cos.core.postgres.teller import tell_session

if TYPE_CHECKING:
    from cos.agent.steering import DeliveryMode
    from cos.core.postgres.database import Connection, Database, Row


class WaitingMessages:
    """What changes a message raises NotWaitingError, with a sentence that says why, when it does not wait any more."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._blobs = PostgresBlobs(database)
        self._sql = core_statements("turns")

    async def session_of(self, message_id: UUID) -> UUID:
        """The session in which the message waits."""
        rows = await self._database.fetch(self._sql["waiting"], {"id": message_id})
        if not rows:
            raise await self._gone(message_id)
        return rows[0]["session_id"]  # type: ignore[no-any-return]  # rows are untyped by nature

    async def has(self, message_id: UUID) -> bool:
        """Whether the message waits, or waited and was taken: False when it was removed."""
        key = {"id": message_id}
        waits = await self._database.fetch(self._sql["waiting"], key)
        return bool(waits or await self._database.fetch(self._sql["turn_that_took"], key))

    async def set_content(self, message_id: UUID, text: str, pictures: Sequence[Picture] | None = None) -> UUID:
        """The session in which the message waits. Its pictures stay when none are given."""
        kept = None
        if pictures is not None:
            rows = await self._database.fetch(self._sql["waiting"], {"id": message_id})
            kept = await kept_parts(pictures if rows else (), rows[0]["profile_id"] if rows else "", self._blobs)

        async def work(connection: Connection, row: Row) -> None:
            message = message_from_json(row["body"])
            assert isinstance(message, UserMessage)
            others = [part for part in message.parts if part.type != "image"]
            # The instructions of a skill stand behind a text only as long as it begins with the skill's name.
            is_same = text.split(maxsplit=1)[:1] == message.text.split(maxsplit=1)[:1]
            new = {
                "text": text,
                "context": message.context if is_same else None,
                "parts": message.parts if kept is None else [*others, *kept],
            }
            changed = {"id": message_id, "body": message_json(message.model_copy(update=new))}
            await connection.execute(self._sql["set_waiting_body"], changed)

        return await self._change(message_id, work)

    async def set_mode(self, message_id: UUID, mode: DeliveryMode) -> UUID:
        """As `set_content`."""

        async def work(connection: Connection, row: Row) -> None:
            await connection.execute(self._sql["set_waiting_mode"], {"id": message_id, "mode": mode})

        return await self._change(message_id, work)

    async def remove(self, message_id: UUID) -> UUID:
        """As `set_content`."""

        async def work(connection: Connection, row: Row) -> None:
            await connection.execute(self._sql["remove_waiting"], {"id": message_id})

        return await self._change(message_id, work)

    async def _change(self, message_id: UUID, work: Callable[[Connection, Row], Awaitable[None]]) -> UUID:
        async def locked(connection: Connection) -> UUID | None:
            cursor = await connection.execute(self._sql["waiting_for_change"], {"id": message_id})
            row = await cursor.fetchone()
            if row is None:
                return None
            await work(connection, row)
            await tell_session(connection, self._database, row["session_id"], row["profile_id"])
            return row["session_id"]  # type: ignore[no-any-return]  # rows are untyped by nature

        session_id = await self._database.transaction(locked)
        if session_id is None:
            raise await self._gone(message_id)
        return session_id

    async def _gone(self, message_id: UUID) -> NotWaitingError:
        taken = await self._database.fetch(self._sql["turn_that_took"], {"id": message_id})
        why = "has been sent to the model already" if taken else "was removed from the queue"
        return NotWaitingError(f"this message {why}, so it can no longer be changed")
