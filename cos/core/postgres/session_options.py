"""What a person has set for one session, over what its profile says: the model. It holds from the next turn on."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Final
from uuid import UUID

from cos.core.errors import SessionError
from cos.core.live import SessionUpdated
from cos.core.postgres.statements import core_statements
from cos.core.postgres.teller import tell_session

if TYPE_CHECKING:
    from cos.core.live import CoreEvent
    from cos.core.postgres.database import Connection, Database

_MODEL: Final = re.compile(r"[!-~]{1,200}")


class SessionOptions:
    """Changes `sessions.options`; every change is published and told to the other processes."""

    def __init__(self, database: Database, publish: Callable[[CoreEvent], None]) -> None:
        self._database = database
        self._publish = publish
        self._sql = core_statements("turns")

    async def set_model(self, session_id: UUID, model: str | None) -> None:
        """Let the session's turns be answered by `model`; None = by the one that it began with.

        Raises:
            SessionError: there is no such session, or this cannot be the name of a model.
        """
        if model is not None and not _MODEL.fullmatch(model):
            raise SessionError(f"{model!r} is no name of a model: one word is needed, such as claude-sonnet-5-5")

        async def work(connection: Connection) -> str | None:
            option = {"session_id": session_id, "name": "model", "value": model}
            row = await (await connection.execute(self._sql["set_option"], option)).fetchone()
            if row is None:
                return None
            await tell_session(connection, self._database, session_id, row["profile_id"])
            return str(row["profile_id"])

        profile_id = await self._database.transaction(work)
        if profile_id is None:
            raise SessionError(f"there is no session {session_id}")
        self._publish(SessionUpdated(session_id=session_id, profile_id=profile_id))
