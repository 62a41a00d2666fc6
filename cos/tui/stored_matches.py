"""What a search finds in the part of the open session that is not loaded yet, and the loading of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cos.tui.history import entries_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from cos.core.postgres.session_text import SessionText
    from cos.core.postgres.sessions import Sessions
    from cos.tui.conversation import Conversation

LOADED_AT_ONCE = 250
"""Messages: more would hold up keys while they become entries."""


class StoredMatches:
    """Of the session that is open at the time of the call."""

    def __init__(self, text: SessionText, sessions: Sessions, current: Callable[[], Conversation | None]) -> None:
        self._text = text
        self._sessions = sessions
        self._current = current

    @property
    def first_loaded(self) -> int | None:
        """Ordinal of the oldest loaded message; None when all are loaded."""
        conversation = self._current()
        return None if conversation is None else conversation.oldest_ordinal

    async def find(self, text: str) -> list[int]:
        """Ordinals of messages that are not loaded and hold the text, newest first."""
        conversation = self._current()
        if conversation is None or conversation.oldest_ordinal is None:
            return []
        return await self._text.find(conversation.session_id, text, before=conversation.oldest_ordinal)

    async def load_until(self, ordinal: int) -> None:
        """Load older messages until the one with this ordinal is among them."""
        conversation = self._current()
        while conversation is not None and (first := conversation.oldest_ordinal) is not None and first > ordinal:
            page = await self._sessions.transcript(conversation.session_id, before=first, limit=LOADED_AT_ONCE)
            conversation.load_older(entries_of(page), page.messages[0].ordinal if page.has_older else None)
