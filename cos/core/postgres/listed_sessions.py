"""Sessions as `cos sessions list` prints them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from cos.core.postgres.statements import core_statements

if TYPE_CHECKING:
    from cos.core.postgres.database import Database


@dataclass(frozen=True, slots=True, kw_only=True)
class ListedSession:
    """One session of the list."""

    id: UUID
    profile_id: str
    source: str
    title: str | None
    tags: tuple[str, ...]
    parent_session_id: UUID | None
    forked_from_session_id: UUID | None
    created_at: datetime
    last_activity_at: datetime
    archived_at: datetime | None
    turn_status: str | None
    """Of the newest turn; None when there is none."""
    waiting: int
    """Pending approvals."""
    queued: int
    """Messages that wait for their turn."""
    queue_paused: bool

    @property
    def state(self) -> str:
        """In words, what needs the user first."""
        if self.waiting:
            return "waiting for you"
        if self.turn_status == "running":
            return "running"
        if self.queued and self.turn_status == "interrupted":
            return f"interrupted, {self.queued} wait{'s' if self.queued == 1 else ''}, paused"
        if self.queued:
            return f"queue paused {self.queued}" if self.queue_paused else f"queued {self.queued}"
        return self.turn_status if self.turn_status in {"failed", "interrupted", "cancelled"} else "idle"


async def listed_sessions(
    database: Database, *, profile_id: str | None, archived: bool, limit: int
) -> list[ListedSession]:
    """Sessions of one profile or (None) of all, by newest activity; the archived ones or the others."""
    parameters = {"profile_id": profile_id, "archived": archived, "limit": limit}
    rows = await database.fetch(core_statements("listed_sessions")["listed_sessions"], parameters)
    return [ListedSession(**row | {"tags": tuple(row["tags"])}) for row in rows]
