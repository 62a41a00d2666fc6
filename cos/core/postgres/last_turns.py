"""The newest turn of a session: what it was asked, and taking it back so that it can be asked again."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from cos.agent.messages import UserMessage, message_from_json
from cos.core.errors import SessionError
from cos.core.postgres.journal import tell_session
from cos.core.postgres.statements import core_statements

if TYPE_CHECKING:
    from cos.core.postgres.database import Connection, Database, Row


class LastTurns:
    """Both methods raise SessionError when there is no turn, or when it runs."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = core_statements("turns")

    async def prompt(self, session_id: UUID) -> UserMessage:
        """What the newest turn that was not taken back began with."""
        return _prompt_of(await self._database.fetch(self._sql["last_turn"], {"session_id": session_id}))

    async def undo(self, session_id: UUID) -> None:
        """Take that turn back: it is kept, and no model sees it again."""

        async def work(connection: Connection) -> None:
            key = {"session_id": session_id}
            await connection.execute(core_statements("journal")["lock_session"], key)
            rows = await (await connection.execute(self._sql["last_turn"], key)).fetchall()
            _prompt_of(rows)
            turn = {"turn_id": rows[0]["id"]}
            await connection.execute(self._sql["undo_turn"], turn)
            await connection.execute(self._sql["hide_messages"], turn)
            await tell_session(connection, self._database, session_id, rows[0]["profile_id"])

        await self._database.transaction(work)


def _prompt_of(rows: list[Row]) -> UserMessage:
    message = message_from_json(rows[0]["body"]) if rows and rows[0]["body"] else None
    if not isinstance(message, UserMessage):
        raise SessionError("there is no turn in this session yet; send a message first")
    if rows[0]["completed_at"] is None:
        raise SessionError("a turn runs in this session; stop it, or wait for its end")
    return message
