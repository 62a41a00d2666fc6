"""Word of what other processes on the database do: their sessions' rows change here too, within a moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final
from uuid import UUID

from cos.core.live import SessionDeleted, SessionTouched, SessionUpdated

if TYPE_CHECKING:
    from cos.core.live import CoreEvent

CHANNEL: Final = "cos_sessions"
_CHANGES: Final = {kind.type: kind for kind in (SessionUpdated, SessionDeleted)}


class Neighbours:
    """Publishes what is heard. The words of this process itself are known here already and passed over."""

    def __init__(self, boot_id: UUID, publish: Callable[[CoreEvent], None]) -> None:
        self._boot_id = str(boot_id)
        self._publish = publish

    async def hear(self, payload: str) -> None:
        """`payload` is boot id, session id and profile id, as `tell_session` writes them, and perhaps what changed."""
        boot_id, session_id, profile_id, *change = payload.split(" ")
        if boot_id != self._boot_id:
            kind = _CHANGES.get(change[0], SessionTouched) if change else SessionTouched
            self._publish(kind(session_id=UUID(session_id), profile_id=profile_id))

    async def look(self) -> None:
        """Lists are read again anyway whenever something changes."""
