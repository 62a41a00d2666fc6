"""A look at a session without opening it: the end of its conversation, what it asks, and one line to answer with.

What it asks is drawn by an approvals pane of its own, so that the same keys and the same arming hold. The reply has the
focus at first: to decide takes the same deliberate step as on the main screen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.binding import Binding, BindingType
from textual.widgets import Input, Static

from cos.tui.screens.peek_requests import Peeked, PeekedRequests, PeekEnd
from cos.tui.transcript.paged import PagedView
from cos.tui.transcript.view import Transcript
from cos.tui.widgets.approvals_pane import ApprovalsPane
from cos.tui.widgets.key_hints import KeyHints

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult


class Peek(PeekedRequests):
    """Its result says what is to come of it."""

    DEFAULT_CSS = """
    Peek { background: $background; }
    Peek > .title { height: 1; padding: 0 1; background: $panel; text-style: bold; text-wrap: nowrap;
                    text-overflow: ellipsis; }
    Peek > Transcript { height: 1fr; min-height: 3; }
    Peek > ApprovalsPane { height: auto; min-height: 8; max-height: 60%; display: none; }
    Peek > ApprovalsPane.-waiting { display: block; }
    Peek > Input { height: 3; border: round $foreground 35%; }
    Peek > Input:focus { border: round $primary; }
    Peek > ToastRack { margin-bottom: 4; }
    """
    AUTO_FOCUS = "Input"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Close"),
        Binding("f4", "answer", "Approvals"),
        Binding("f3", "read", "Conversation"),
        Binding("ctrl+o", "open", "Open", priority=True),
    ]

    def __init__(self, peeked: Peeked, *, arm_seconds: float) -> None:
        super().__init__(peeked)
        self._arm_seconds = arm_seconds
        self._replies = 0
        """How many are on their way."""

    @property
    def _written(self) -> str:
        return self.query_one(Input).value

    def compose(self) -> ComposeResult:
        yield Static(self._peeked.heading, classes="title", markup=False)
        yield Transcript()
        yield ApprovalsPane(arm_seconds=self._arm_seconds)
        yield Input(placeholder="Reply without opening it; Enter sends", select_on_focus=False)
        yield KeyHints()

    def on_mount(self) -> None:
        self._load()
        self._draw_requests()
        self.set_interval(1.0, self._tick)

    def on_unmount(self) -> None:
        self._peeked.hide()

    def show_requests(self) -> None:
        """Something was asked or answered somewhere."""
        if self.is_mounted:
            self._draw_requests()

    def _tick(self) -> None:
        """Bring times up to date."""
        self.query_one(".title", Static).update(self._peeked.heading)
        self.approvals.draw()

    def _draw_requests(self) -> None:
        count = self.approvals.count
        self.approvals.show(self._peeked.cards())
        if bool(count) != bool(self.approvals.count):
            self.refresh_bindings()
        self._tick()

    def on_key(self) -> None:
        """Any key anywhere means that the keyboard is not quiet."""
        if not self.approvals.has_focus:
            self.approvals.disarm()

    def on_resize(self, event: events.Resize) -> None:
        self.approvals.disarm()

    def on_screen_resume(self) -> None:
        self.approvals.disarm()

    def on_approvals_pane_emptied(self) -> None:
        """Nothing is left to answer: what is typed next belongs into the reply."""
        self.query_one(Input).focus()

    def action_back(self) -> None:
        """One layer at a time."""
        reply = self.query_one(Input)
        if self.approvals.has_focus:
            reply.focus()
        else:
            self.dismiss(PeekEnd(is_wanted_open=False, written=self._written))

    def action_open(self) -> None:
        self.dismiss(PeekEnd(is_wanted_open=True, written=self._written))

    def action_answer(self) -> None:
        self.approvals.focus()

    def action_read(self) -> None:
        self.query_one(Transcript).focus()

    @on(PagedView.NeedOlder)
    @work(group="older", exclusive=True, exit_on_error=False)
    async def _need_older(self) -> None:
        await self._peeked.load_older()

    @work(group="load", exclusive=True, exit_on_error=False)
    async def _load(self) -> None:
        await self._peeked.load(self.query_one(Transcript))

    @on(Input.Submitted)
    @work(group="send", exit_on_error=False)
    async def _reply(self, event: Input.Submitted) -> None:
        if not event.value.strip():
            return
        event.input.clear()
        self._replies += 1
        event.input.border_title = "not stored yet …"
        try:
            await self._peeked.reply(event.value, self._back)
        finally:
            self._replies -= 1
            if not self._replies:
                event.input.border_title = ""

    def _back(self, text: str) -> bool:
        """Take a reply that could not be sent back, unless something else is being written or this has closed."""
        reply = self.query_one(Input)
        if not self.is_current or reply.value:
            return False
        reply.value = text
        reply.cursor_position = len(text)
        return True
