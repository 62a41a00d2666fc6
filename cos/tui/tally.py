"""Tokens and context of the sessions that this app has met. What nobody reported is None, never zero."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cos.agent.events import ContextUpdated, TurnCompleted, TurnStarted, Usage

if TYPE_CHECKING:
    from uuid import UUID

    from cos.agent.events import AgentEvent
    from cos.core.postgres.sessions import Sessions


@dataclass(slots=True)
class _Figures:
    ended: Usage = field(default_factory=Usage)
    """Of all ended turns, as stored."""
    running: Usage = field(default_factory=Usage)
    """Of the running turn so far."""
    newest_call: ContextUpdated | None = None


class Tally:
    """By session id. A turn counts by its model calls while it runs, by its stored total once it has ended."""

    def __init__(self, sessions: Sessions) -> None:
        self._sessions = sessions
        self._figures: dict[UUID, _Figures] = {}

    async def read(self, session_id: UUID) -> None:
        """Take the stored total of a session.

        Raises:
            DatabaseError: it cannot be read.
        """
        ended = await self._sessions.usage(session_id)
        self._of(session_id).ended = ended

    async def take(self, event: AgentEvent) -> None:
        """Raises: DatabaseError."""
        figures = self._of(event.turn.session_id)
        if isinstance(event, ContextUpdated):
            figures.running += event.usage
            figures.newest_call = event
        elif isinstance(event, TurnStarted):
            figures.running = Usage()
        elif isinstance(event, TurnCompleted):
            figures.running = Usage()
            await self.read(event.turn.session_id)

    def forget_context(self, session_id: UUID) -> None:
        """The newest model call was made elsewhere: the stored figure counts until one is seen here again."""
        self._of(session_id).newest_call = None

    def usage(self, session_id: UUID | None) -> Usage:
        figures = self._figures.get(session_id) if session_id else None
        return figures.ended + figures.running if figures else Usage()

    def newest_call(self, session_id: UUID | None) -> ContextUpdated | None:
        """The newest model call that was seen in a session: how full its context is."""
        figures = self._figures.get(session_id) if session_id else None
        return figures.newest_call if figures else None

    def _of(self, session_id: UUID) -> _Figures:
        return self._figures.setdefault(session_id, _Figures())
