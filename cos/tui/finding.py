"""Searching in all conversations, and going to what was found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cos.agent.errors import CosError
from cos.core.searching import SearchWish
from cos.tui.widgets.conversation_pane import ConversationPane

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cos.core.postgres.session_search import SessionSearch
    from cos.core.searching import SearchHit, SearchResult
    from cos.tui.session_control import SessionControl

MOST_SHOWN: Final = 50


class Finding:
    """Of all profiles, in what users and models said."""

    def __init__(self, control: SessionControl, search: SessionSearch, profiles: Iterable[str]) -> None:
        self._control = control
        self._search = search
        self._wish = SearchWish(profiles=tuple(profiles), limit=MOST_SHOWN)

    async def find(self, text: str) -> SearchResult:
        """
        Raises:
            CosError: the database does not answer, or not in time.
        """
        return await self._search.find(text, self._wish)

    async def go(self, hit: SearchHit) -> None:
        """Open the session at the hit; what cannot be opened is said."""
        control, screen = self._control, self._control.screen
        screen.close_panes()
        try:
            await control.open(hit.session_id)
            await control.stored_matches.load_until(hit.ordinal)
        except CosError as error:
            screen.notify(str(error), severity="warning", markup=False)
            return
        if control.current == hit.session_id:
            start, end = hit.snippet.spans[0] if hit.snippet.spans else (0, 0)
            screen.query_one(ConversationPane).show_hit(f"msg:{hit.message_id}", hit.snippet.text[start:end])
