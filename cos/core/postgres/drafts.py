"""Drafts in Postgres: what is written and not sent, one text a session and one a profile for its next new session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cos.agent.text import storable
from cos.core.postgres.statements import core_statements

if TYPE_CHECKING:
    from uuid import UUID

    from cos.core.postgres.database import Database


class Drafts:
    """One query a method; session None = the profile's next new session."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = core_statements("drafts")

    async def save(self, profile_id: str, session_id: UUID | None, body: str) -> None:
        """Keep the text; an empty one is removed.

        Raises:
            DatabaseError: it could not be kept.
        """
        row = {"profile_id": profile_id, "session_id": session_id, "body": storable(body)}
        await self._database.fetch(self._sql["save_draft"] if body else self._sql["remove_draft"], row)

    async def of_session(self, profile_id: str, session_id: UUID) -> str:
        """The session's draft, empty when there is none.

        Raises:
            DatabaseError: it cannot be read.
        """
        rows = await self._database.fetch(self._sql["draft"], {"profile_id": profile_id, "session_id": session_id})
        return str(rows[0]["body"]) if rows else ""

    async def of_new_sessions(self) -> dict[str, str]:
        """The drafts of next new sessions, by profile.

        Raises:
            DatabaseError: they cannot be read.
        """
        rows = await self._database.fetch(self._sql["drafts_of_new_sessions"])
        return {row["profile_id"]: row["body"] for row in rows}
