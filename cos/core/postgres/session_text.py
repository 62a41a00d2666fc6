"""Finds a text in one session, exactly as it is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cos.agent.text import storable
from cos.core.postgres.statements import core_statements

if TYPE_CHECKING:
    from uuid import UUID

    from cos.core.postgres.database import Database

_MEANING = str.maketrans({"\\": r"\\", "%": r"\%", "_": r"\_"})


class SessionText:
    """Reads messages, thinking, and calls with their arguments and results."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = core_statements("session_text")

    async def find(self, session_id: UUID, text: str, *, before: int) -> list[int]:
        """Ordinals of messages before ordinal `before` that hold `text` in either case of letters, newest first.

        A message stands there once for each of its parts that holds it.
        """
        pattern = f"%{storable(text).translate(_MEANING)}%"
        parameters = {"session_id": session_id, "before": before, "pattern": pattern}
        return [row["ordinal"] for row in await self._database.fetch(self._sql["find_in_session"], parameters)]
