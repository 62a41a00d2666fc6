"""The main screen: sessions, conversation, composer, approvals. Below 100 columns the side panes are overlays."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message
from textual.widgets import Static

from cos.tui.screens.panes import PanesScreen
from cos.tui.screens.sizing import SMALLEST, is_too_small
from cos.tui.widgets.approvals_pane import ApprovalsPane
from cos.tui.widgets.conversation_pane import ConversationPane
from cos.tui.widgets.cost_pane import CostPane
from cos.tui.widgets.history_search import HistorySearch
from cos.tui.widgets.key_hints import KeyHints
from cos.tui.widgets.sessions_pane import SessionsPane
from cos.tui.widgets.status_line import StatusLine
from cos.tui.widgets.writing import Writing

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult

    from cos.tui.preferences import Preferences
    from cos.tui.timing import Timing

COLUMNS = {"sessions": "left", "approvals": "right"}
"""Pane -> the column that holds it."""


STOP_AGAIN_SECONDS = 1.0
"""For so long after a pane, a search or what lay on top was left, Esc stops only when pressed twice."""


class MainScreen(PanesScreen):
    """Arranges the panes; what they show comes from the app."""

    AUTO_FOCUS = "Composer"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f2", "pane('sessions')", "Sessions"),
        Binding("f3", "focus_conversation", "Conversation", show=False),
        Binding("f4", "pane('approvals')", "Approvals"),
        Binding("escape", "stop", "Stop"),
        Binding("escape", "back", "Back"),
    ]
    """
    | Key | |
    | :- | :- |
    | f2 | The sessions. |
    | f3 | The conversation: move with the arrows, fold with Space. |
    | f4 | The approvals, where letters decide. |
    | escape | Close what lies on top, back to the composer; there: stop the running turn. |
    """

    class StopWanted(Message):
        """The user wants the open session's turn to stop."""

    def __init__(self, timing: Timing, preferences: Preferences) -> None:
        super().__init__(preferences)
        self._timing = timing
        self._title = ""
        self._left_at = 0.0
        self._is_covered = False

    def compose(self) -> ComposeResult:
        yield Static(id="title", markup=False)
        with Horizontal(id="panes"):
            with Vertical(id="left"):
                yield SessionsPane(id="sessions")
            with Vertical(id="middle"):
                yield ConversationPane(id="conversation-pane")
                yield Writing(id="writing", burst_seconds=self._timing.burst_seconds)
            with Vertical(id="right"):
                yield ApprovalsPane(id="approvals", arm_seconds=self._timing.arm_seconds)
                yield CostPane(id="cost")
        yield Static(
            f"The terminal is too small: cos needs {SMALLEST[0]} columns and {SMALLEST[1]} rows.",
            id="too-small",
            markup=False,
        )
        yield StatusLine(id="status")
        yield KeyHints()

    def show_title(self, text: str) -> None:
        """The line on top: the conversation's title, before it how many requests wait for the user."""
        self._title = text
        line = Text()
        waiting = self.approvals.count
        if waiting:
            line.append(f" {waiting} waiting · F4 ", style="bold reverse")
            line.append("  ")
        line.append(text, style="bold")
        self.query_one("#title", Static).update(line)

    def on_resize(self, event: events.Resize) -> None:
        if is_too_small(event.size):
            self.close_panes()
        self._disarm()

    def on_screen_resume(self) -> None:
        """What lay above is gone: the card has just come into view."""
        self._disarm()
        if self._is_covered:
            self._is_covered = False
            self._left()

    def _disarm(self) -> None:
        """An app that ends while it starts has no card yet."""
        for pane in self.query(ApprovalsPane):
            pane.disarm()

    def on_screen_suspend(self) -> None:
        self._is_covered = True

    def on_approvals_pane_emptied(self) -> None:
        """Nothing is left to answer: what is typed next belongs into the composer."""
        if self.approvals.has_focus:
            self._left()
            self.close_panes()

    @on(HistorySearch.Closed)
    def _left(self) -> None:
        """The next Esc may still be meant for what has just been left."""
        self._left_at = time.monotonic()

    def on_key(self) -> None:
        """Any key anywhere means that the keyboard is not quiet."""
        if not self.approvals.has_focus:
            self.approvals.disarm()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Esc stops only from the composer; elsewhere it goes back there."""
        if action == "stop":
            return self.composer.has_focus
        return not self.composer.has_focus if action == "back" else True

    def action_pane(self, name: str) -> None:
        """Go to a side pane; from there, back to the composer."""
        pane = self.query_one(f"#{name}")
        if pane.has_focus_within or self.has_class("-too-small"):
            self.close_panes()
        else:
            self.open_pane(name)

    def open_pane(self, name: str) -> None:
        """Go to a side pane; but to that of approvals only when something waits there."""
        if name == "approvals" and not self.approvals.count:
            self.notify("Nothing waits for you.", timeout=3, markup=False)
            return
        self.close_panes()
        self.query_one(f"#{COLUMNS[name]}").add_class("-open")
        self.query_one(f"#{name}").focus()

    def action_focus_conversation(self) -> None:
        self.close_panes()
        self.conversation.focus()

    def close_panes(self) -> None:
        for side in COLUMNS.values():
            self.query_one(f"#{side}").remove_class("-open")
        self.composer.focus()

    def action_back(self) -> None:
        """One layer at a time."""
        if not self.conversation.has_focus:
            self._left()
        self.close_panes()

    def action_stop(self) -> None:
        """Not right after something else was left: then Esc was meant for that."""
        if time.monotonic() - self._left_at > STOP_AGAIN_SECONDS:
            self.post_message(self.StopWanted())
        else:
            self._left_at = 0.0
            self.notify("Esc once more stops the turn.", timeout=3, markup=False)
