"""A text area whose cursor stands still when nobody writes: its blinking draws twice a second, all day long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.widgets import TextArea

if TYPE_CHECKING:
    from textual.timer import Timer

STILL_SECONDS: Final = 10.0
"""After the last key; terminals do the same."""


class RestingCursor(TextArea):
    _until_still: Timer | None = None

    def on_mount(self) -> None:
        self._until_still = self.set_interval(STILL_SECONDS, self.stand_still)

    def stand_still(self) -> None:
        """Until the next key or focus."""
        self._pause_blink(visible=self.has_focus)

    def _restart_blink(self) -> None:
        """Textual calls it for whatever the user does here."""
        super()._restart_blink()
        if self._until_still is not None:
            self._until_still.reset()
