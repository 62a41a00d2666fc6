"""What a screen's size does to it: a class for each range of widths, and one when it is too small for anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.screen import Screen

if TYPE_CHECKING:
    from textual import events
    from textual.geometry import Size

NARROW_COLUMNS = 100
COMFORTABLE_COLUMNS = 120
WIDE_COLUMNS = 150
SMALLEST = (40, 10)


def is_too_small(size: Size) -> bool:
    return size.width < SMALLEST[0] or size.height < SMALLEST[1]


class SizedScreen(Screen[None]):
    """Sets `-narrow`, `-tight`, `-wide` and `-too-small`, and never leaves the keyboard without a widget."""

    def on_resize(self, event: events.Resize) -> None:
        width = event.size.width
        self.set_class(width < NARROW_COLUMNS, "-narrow")
        self.set_class(NARROW_COLUMNS <= width < COMFORTABLE_COLUMNS, "-tight")
        self.set_class(width >= WIDE_COLUMNS, "-wide")
        self.set_class(is_too_small(event.size), "-too-small")
        if not is_too_small(event.size):
            self.call_after_refresh(self._focus_something)

    def _focus_something(self) -> None:
        """A pane that is not displayed loses the focus, and what is typed then goes nowhere."""
        if self.focused is None and self.AUTO_FOCUS:
            self.query_one(self.AUTO_FOCUS).focus()
