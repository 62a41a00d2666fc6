"""How long turns waited for the user, read from their requests."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING
from uuid import UUID

from cos.core.postgres.statements import core_statements

if TYPE_CHECKING:
    from collections.abc import Collection

    from cos.core.postgres.database import Connection


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Of one turn."""

    seconds: float = 0.0
    """Of spans that are over."""
    open_since: datetime | None = None
    """The turn waits now, since then."""
    open_requests: tuple[UUID, ...] = ()


async def waiting_of(connection: Connection, turn_ids: Collection[UUID]) -> dict[UUID, Waiting]:
    """By turn id; a turn that never asked anything is left out."""
    cursor = await connection.execute(core_statements("turn_waiting")["turn_waiting"], {"ids": list(turn_ids)})
    return {
        row["turn_id"]: Waiting(
            seconds=row["seconds"], open_since=row["open_since"], open_requests=tuple(row["open_requests"])
        )
        for row in await cursor.fetchall()
    }
