"""Rename a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.widgets import Input

from cos.agent.errors import CosError
from cos.agent.text import title_of
from cos.tui.screens.session_dialog import SessionDialog

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


class SessionTitle(SessionDialog):
    """One line that becomes the title."""

    NAME = "Rename"

    def __init__(self, title: str, rename: Callable[[str], Awaitable[object]]) -> None:
        super().__init__("A new title:", "Enter keeps it. A title is one line; it is cut after 60 characters.", title)
        self._rename = rename

    def on_mount(self) -> None:
        self.query_one(Input).select_all()

    async def change(self, value: str) -> None:
        title = title_of(value)
        if title is None:
            raise CosError("a title needs at least one visible character; write some, or press Esc to keep the old one")
        await self._rename(title)
