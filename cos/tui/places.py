"""Where the user writes: each session, and the one that the next message begins, with what is written there so far."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from uuid import UUID


@dataclass(slots=True, eq=False)
class Place:
    """One place to write to."""

    profile_id: str
    session_id: UUID | None = None
    """None until the first message has made the session."""
    draft: str = ""
    """What was left in the composer; kept in memory only."""
    sending: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Messages arrive in the order they were sent, and a new place becomes one session, not two."""


class Places:
    """All places of this run, and which one is open."""

    def __init__(self, profile_id: str) -> None:
        self._sessions: dict[UUID, Place] = {}
        self.open = Place(profile_id)

    def go_new(self, profile_id: str) -> Place:
        """Open a place for a new session; one that is open already stays, with its draft."""
        if self.open.session_id is None:
            self.open.profile_id = profile_id
        else:
            self.open = Place(profile_id)
        return self.open

    def at(self, session_id: UUID, profile_id: str) -> Place:
        """A session's place, whether it is open or not."""
        return self._sessions.setdefault(session_id, Place(profile_id, session_id))

    def go_to(self, session_id: UUID, profile_id: str) -> Place:
        self.open = self.at(session_id, profile_id)
        return self.open

    def born(self, place: Place, session_id: UUID) -> None:
        """The first message of a place has made its session."""
        place.session_id = session_id
        self._sessions[session_id] = place
