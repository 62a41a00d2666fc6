"""What people sent in a profile, over all of its sessions and earlier runs, newest first."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from cos.agent.text import storable
from cos.core.postgres.statements import core_statements
from cos.core.prompts import Prompt

if TYPE_CHECKING:
    from collections.abc import Iterable
    from uuid import UUID

    from cos.core.postgres.database import Database, Row

_WILD = re.compile(r"([\\%_])")


class Prompts:
    """One query a method."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._sql = core_statements("prompt_history")

    async def page(self, profile_id: str, *, before: UUID | None = None, limit: int = 50) -> list[Prompt]:
        """Prompts older than the message `before` (None = the newest).

        Raises:
            DatabaseError: they cannot be read.
        """
        parameters = {"profile_id": profile_id, "before": before, "limit": limit}
        return [_prompt(row) for row in await self._database.fetch(self._sql["prompts"], parameters)]

    async def search(self, profile_id: str, words: Iterable[str], *, limit: int = 50) -> list[Prompt]:
        """The newest prompts that contain every one of `words`, in any case of letters.

        Raises:
            DatabaseError: they cannot be read.
        """
        patterns = ["%" + _WILD.sub(r"\\\1", storable(word)) + "%" for word in words]
        parameters = {"profile_id": profile_id, "patterns": patterns or ["%"], "limit": limit}
        return [_prompt(row) for row in await self._database.fetch(self._sql["search_prompts"], parameters)]


def _prompt(row: Row) -> Prompt:
    return Prompt(id=row["id"], text=row["text"])
