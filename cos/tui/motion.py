"""Reduced motion: nothing blinks or glides, and streaming text is drawn four times a second."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cos.tui.widgets.search_bar import SearchBar

if TYPE_CHECKING:
    from cos.tui.screens.main import MainScreen

CALM_FRAME_SECONDS = 1 / 4


def calm(screen: MainScreen) -> None:
    """From now on until the app ends."""
    screen.app.animation_level = "none"
    screen.conversation.least_frame_seconds = CALM_FRAME_SECONDS
    screen.composer.cursor_blink = False
    screen.query_one(SearchBar).box.cursor_blink = False
