"""The line of keys at the bottom: as many as fit whole, those that nobody may miss first."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from textual.widgets import Footer
from textual.widgets._footer import FooterKey

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.app import ComposeResult

FIRST: Final = ("escape", "f1")
"""The way out and the help stay longest; then a key is the more important the nearer its owner is to the focus."""
_CHARACTER: Final = re.compile(r"slash|shift\+.")
_BLANKS: Final = 3
"""Around a key and behind its words."""


class KeyHints(Footer):
    """A key that has no room is left out, never cut; help names all of them."""

    def __init__(self) -> None:
        super().__init__(show_command_palette=False)
        self._hints: list[FooterKey] = []
        self._needed = ""

    def compose(self) -> ComposeResult:
        focused = self.screen.focused
        # Textual leaves out what a text box takes for itself, but does not know all names of characters.
        is_text = focused is not None and focused.check_consume_key("slash", "/")
        keys = [key for key in super().compose() if isinstance(key, FooterKey)]
        self._hints = [_unbound(key) for key in keys if not (is_text and _CHARACTER.fullmatch(key.key))]
        self._needed = getattr(focused, "needed_key", "")
        self._fit(self.app.size.width)
        yield from self._hints

    def on_resize(self, event: events.Resize) -> None:
        self._fit(event.size.width)

    def _fit(self, width: int) -> None:
        fitting = whole(self._hints, width, self._needed)
        for key in self._hints:
            key.display = key in fitting


def _unbound(key: FooterKey) -> FooterKey:
    """The same key. Textual binds its own to the footer, which holds them for ever: thousands in a day."""
    same = FooterKey(
        key.key, key.key_display, key.description, key.action, disabled=key.disabled, tooltip=str(key.tooltip or "")
    )
    same.set_reactive(FooterKey.compact, False)
    return same


def whole(keys: Sequence[FooterKey], width: int, needed: str = "") -> list[FooterKey]:
    """Those that fit into `width` cells beside each other, the most important ones first.

    `needed`: a key that the focused pane has just asked for.
    """
    fitting: list[FooterKey] = []
    first = (*FIRST, needed)
    for key in sorted(keys, key=lambda key: first.index(key.key) if key.key in first else len(first)):
        cells = cell_len(key.key_display) + cell_len(key.description) + _BLANKS
        if cells > width:
            break
        fitting.append(key)
        width -= cells
    return fitting
