"""The newest turn of a session: what it was asked, so that it can be asked again."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from cos.agent.messages import UserMessage, message_from_json
from cos.core.errors import SessionError
from cos.core.postgres.statements import core_statements

if TYPE_CHECKING:
    from cos.core.postgres.database import Database, Row


class LastTurns:
    """Raises SessionError when there is no turn, or when it runs."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = core_statements("turns")

    async def prompt(self, session_id: UUID) -> UserMessage:
        """What the newest turn that was not taken back began with."""
        return _prompt_of(await self._database.fetch(self._sql["last_turn"], {"session_id": session_id}))


def _prompt_of(rows: list[Row]) -> UserMessage:
    message = message_from_json(rows[0]["body"]) if rows and rows[0]["body"] else None
    if not isinstance(message, UserMessage):
        raise SessionError("there is no turn in this session yet; send a message first")
    if message.compaction is not None:
        raise SessionError("the last turn was a compaction, which holds nothing to run again")
    if rows[0]["completed_at"] is None:
        raise SessionError("a turn runs in this session; stop it, or wait for its end")
    return message
