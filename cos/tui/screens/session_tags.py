"""Edit a session's tags."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cos.agent.tags import Tag, merge_tags
from cos.tui.screens.session_dialog import SessionDialog

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence


class SessionTags(SessionDialog):
    """All tags of the session on one line."""

    NAME = "Tags"

    def __init__(self, title: str, tags: Sequence[str], set_tags: Callable[[Sequence[Tag]], Awaitable[object]]) -> None:
        hint = "Enter keeps them. Tags are key:value with spaces between; they hold from the next turn on."
        super().__init__(f"Tags of {title}:", hint, " ".join(tags))
        self._set_tags = set_tags

    async def change(self, value: str) -> None:
        await self._set_tags(merge_tags(piece.removeprefix("#") for piece in value.replace(",", " ").split()))
