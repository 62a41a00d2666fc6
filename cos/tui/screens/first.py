"""The first picture: the composer where it will be, before the other panes have even been imported."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on
from textual.containers import Horizontal, Vertical
from textual.widgets import Static

from cos.tui.screens.pane_widths import ResizableScreen
from cos.tui.widgets.composer import Composer
from cos.tui.widgets.status_line import StatusLine

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from cos.tui.outgoing import Outgoing
    from cos.tui.preferences import Preferences
    from cos.tui.timing import Timing


class FirstScreen(ResizableScreen):
    """Takes typing; the main screen goes on with what was written and sent here."""

    DEFAULT_CSS = """
    FirstScreen > #hints { height: 1; background: $footer-background; }
    """
    AUTO_FOCUS = "Composer"

    def __init__(self, timing: Timing, preferences: Preferences) -> None:
        super().__init__(preferences)
        self._timing = timing
        self.sent: list[Outgoing] = []

    def compose(self) -> ComposeResult:
        yield Static(id="title")
        with Horizontal(id="panes"):
            yield Static(id="left")
            with Vertical(id="middle"):
                yield Static(id="conversation", markup=False)
                yield Composer(id="composer", burst_seconds=self._timing.burst_seconds)
            yield Static(id="right")
        yield StatusLine(id="status")
        yield Static(id="hints")

    @property
    def composer(self) -> Composer:
        return self.query_one(Composer)

    @property
    def status_line(self) -> StatusLine:
        return self.query_one(StatusLine)

    def not_stored(self) -> list[str]:
        """What would be lost if the app ended now."""
        return [*(outgoing.text for outgoing in self.sent), *filter(None, [self.composer.full_text])]

    @on(Composer.Submitted)
    def _submitted(self, event: Composer.Submitted) -> None:
        self.sent.append(event.outgoing)
        self.query_one("#conversation", Static).update("\n".join(f"» {outgoing.text}" for outgoing in self.sent))
