"""The main screen: sessions, conversation, composer, approvals. Below 100 columns the side panes are overlays."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import Footer, Static

from cos.tui.transcript.view import Transcript
from cos.tui.widgets.approvals_pane import ApprovalsPane
from cos.tui.widgets.composer import Composer
from cos.tui.widgets.sessions_pane import SessionsPane
from cos.tui.widgets.status_line import StatusLine

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult

NARROW_COLUMNS = 100
SMALLEST = (40, 10)


class MainScreen(Screen[None]):
    """Arranges the panes; what they show comes from the app."""

    AUTO_FOCUS = "Composer"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f2", "pane('sessions')", "Sessions"),
        Binding("f3", "focus_conversation", "Conversation", show=False),
        Binding("f4", "pane('approvals')", "Approvals"),
        Binding("escape", "back", "Stop", show=True),
    ]
    """
    | Key | |
    | :- | :- |
    | f2 | The sessions. |
    | f3 | The conversation: move with the arrows, fold with Space. |
    | f4 | The approvals, where letters decide. |
    | escape | Close what lies on top, back to the composer; there: stop the running turn. |
    """

    def compose(self) -> ComposeResult:
        yield Static(id="title", markup=False)
        with Horizontal(id="panes"):
            yield SessionsPane(id="sessions")
            with Vertical(id="middle"):
                yield Transcript(id="conversation")
                yield Composer(id="composer")
            yield ApprovalsPane(id="approvals")
        yield Static(
            f"The terminal is too small: cos needs {SMALLEST[0]} columns and {SMALLEST[1]} rows.",
            id="too-small",
            markup=False,
        )
        yield StatusLine(id="status")
        yield Footer(show_command_palette=False)

    @property
    def sessions(self) -> SessionsPane:
        return self.query_one(SessionsPane)

    @property
    def conversation(self) -> Transcript:
        return self.query_one(Transcript)

    @property
    def composer(self) -> Composer:
        return self.query_one(Composer)

    @property
    def approvals(self) -> ApprovalsPane:
        return self.query_one(ApprovalsPane)

    @property
    def status_line(self) -> StatusLine:
        return self.query_one(StatusLine)

    @property
    def is_too_small(self) -> bool:
        return self.has_class("-too-small")

    def set_title(self, text: str, waiting: int) -> None:
        """The line on top: the conversation's title, and how many requests wait for the user."""
        line = Text(no_wrap=True, overflow="ellipsis")
        if waiting:
            line.append(f"! {waiting} waiting (F4)  ", style="bold")
        line.append(text)
        self.query_one("#title", Static).update(line)

    def on_resize(self, event: events.Resize) -> None:
        self.set_class(event.size.width < NARROW_COLUMNS, "-narrow")
        self.set_class(event.size.width < SMALLEST[0] or event.size.height < SMALLEST[1], "-too-small")
        self.approvals.disarm()
        if not self.is_too_small:
            self.call_after_refresh(self._focus_something)

    def _focus_something(self) -> None:
        """A pane that is not displayed loses the focus, and what is typed then goes nowhere."""
        if self.focused is None:
            self.composer.focus()

    def on_approvals_pane_emptied(self) -> None:
        """Nothing is left to answer: what is typed next belongs into the composer."""
        if self.approvals.has_focus:
            self.close_panes()

    def on_key(self) -> None:
        """Any key anywhere means that the keyboard is not quiet."""
        if not self.approvals.has_focus:
            self.approvals.disarm()

    def action_pane(self, name: str) -> None:
        """Go to a side pane; from there, back to the composer."""
        pane = self.query_one(f"#{name}")
        if pane.has_focus:
            self.close_panes()
            return
        if self.is_too_small:
            return
        self.close_panes()
        pane.add_class("-open")
        pane.focus()

    def action_focus_conversation(self) -> None:
        self.close_panes()
        self.conversation.focus()

    def close_panes(self) -> None:
        for name in ("sessions", "approvals"):
            self.query_one(f"#{name}").remove_class("-open")
        self.composer.focus()

    def action_back(self) -> None:
        """One layer at a time."""
        if self.composer.has_focus:
            self.app.action_interrupt()  # type: ignore[attr-defined]  # the app that shows this screen has it
        else:
            self.close_panes()
