"""Where the user writes: each session, and the one that the next message begins, with what is written there so far."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID


@dataclass(slots=True, eq=False)
class Place:
    """One place to write to."""

    profile_id: str
    session_id: UUID | None = None
    """None until the first message has made the session."""
    tags: tuple[str, ...] = ()
    """Of the session that the first message makes."""
    draft: str = ""
    """What was left in the composer, in the form in which it is stored."""
    is_read: bool = False
    """The stored draft was read."""
    sending: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Messages arrive in the order they were sent, and a new place becomes one session, not two."""


class Places:
    """All places of this run, and which one is open: for each session one, and for each profile's next session one."""

    def __init__(self, profile_id: str) -> None:
        self._sessions: dict[UUID, Place] = {}
        self._new: dict[str, Place] = {}
        self.open = self._next(profile_id)

    def fill(self, drafts: Mapping[str, str]) -> None:
        """The stored drafts of next new sessions, by profile."""
        for profile_id, draft in drafts.items():
            place = self._next(profile_id)
            place.draft = place.draft or draft

    def go_new(self, profile_id: str) -> Place:
        """Open the profile's place for a new session; one that is open already stays, with its draft.

        A draft and tags for the new session of one profile go along to another one that has none.
        """
        before, self.open = self.open, self._next(profile_id)
        if before.session_id is None and before is not self.open:
            if not self.open.draft:
                self.open.draft, before.draft = before.draft, ""
            if not self.open.tags:
                self.open.tags, before.tags = before.tags, ()
        return self.open

    def of(self, session_id: UUID, profile_id: str) -> Place:
        return self._sessions.setdefault(session_id, Place(profile_id, session_id))

    def go_to(self, place: Place) -> Place:
        self.open = place
        return place

    def born(self, place: Place, session_id: UUID) -> None:
        """The first message of a place has made its session."""
        place.session_id = session_id
        place.is_read = True
        self._sessions[session_id] = place
        if self._new.get(place.profile_id) is place:
            del self._new[place.profile_id]

    def _next(self, profile_id: str) -> Place:
        return self._new.setdefault(profile_id, Place(profile_id))
