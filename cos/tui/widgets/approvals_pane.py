"""Requests for approval of every session. Letters decide only here, only when the card is armed, and only whole cards.

A card arms when it has been on screen for 400 ms with a quiet keyboard: again after it changes, after a resize and when
the window regains the focus. Enter decides nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar
from uuid import UUID

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Static

from cos.tui.widgets.approval_card import Card, detail_text, head_text
from cos.tui.widgets.arming import ARM_SECONDS, Arming
from cos.tui.widgets.reading import ReadToEnd
from cos.tui.widgets.requests import Requests

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.app import ComposeResult


class ApprovalsPane(ReadToEnd, can_focus=True):
    """The pending requests, oldest first, and the selected one in full."""

    DEFAULT_CSS = """
    ApprovalsPane {
        border: round $foreground 35%;
        border-title-color: $foreground 70%;
        border-subtitle-color: $foreground;
        background: $background;
        padding: 0 1;
        scrollbar-size-vertical: 1;
        & > Static { height: auto; }
        & > #approval-detail {
            display: none;
            margin: 1 0 0 0;
            padding: 0 1;
            border-left: outer $warning;
            background: $surface;
        }
        &.-waiting { border: round $warning; border-title-color: $warning; }
        &.-waiting > #approval-detail { display: block; }
        &:focus { border: round $primary; border-title-color: $primary; }
        &.-waiting:focus { border: heavy $warning; border-title-color: $warning; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "decide('allowed')", "Allow once"),
        Binding("n", "decide('denied')", "Deny"),
        Binding("v", "view", "Whole text"),
        Binding("right_square_bracket,right", "move(1)", "Next", key_display="→"),
        Binding("left_square_bracket,left", "move(-1)", "Previous", key_display="←", show=False),
    ]
    """
    | Key | |
    | :- | :- |
    | y | Allow this call, once. |
    | n | Deny this call. |
    | v | Show the whole text on the full screen. |
    | left, right | The request before or after. |
    """

    class Decided(Message):
        """The user decided on the request that the card shows."""

        def __init__(self, pane: ApprovalsPane, approval_id: UUID, decision: str) -> None:
            super().__init__()
            self.pane = pane
            self.approval_id = approval_id
            self.decision = decision

        @property
        def control(self) -> ApprovalsPane:
            return self.pane

    class ViewWanted(Message):
        """The user wants to read the whole text of a request."""

        def __init__(self, pane: ApprovalsPane, card: Card) -> None:
            super().__init__()
            self.pane = pane
            self.card = card

        @property
        def control(self) -> ApprovalsPane:
            return self.pane

    class Emptied(Message):
        """The last request was answered or has ended."""

    def __init__(self, *, id: str | None = None, arm_seconds: float = ARM_SECONDS) -> None:
        super().__init__(id=id)
        self.border_title = "Approvals"
        self.arming = Arming(self, arm_seconds, may_arm=self._may_arm, changed=self._draw_keys)
        self._requests = Requests()

    def compose(self) -> ComposeResult:
        yield Static(id="approval-head", markup=False)
        yield Static(id="approval-detail", markup=False)

    def on_mount(self) -> None:
        self.arming.watch_window()
        self.draw()
        self._draw_text()

    @property
    def count(self) -> int:
        return len(self._requests)

    @property
    def selected(self) -> Card | None:
        return self._requests.selected

    def show(self, cards: Sequence[Card]) -> None:
        """Set the requests. What is selected stays selected; new ones never move the selection."""
        before = self.selected
        self._requests.show(cards)
        self.set_class(bool(cards), "-waiting")
        if before is not None and not cards:
            self.post_message(self.Emptied())
        if self.selected != before:
            self._draw_text()
        self.draw()

    def mark_seen(self, card: Card) -> None:
        """The whole text of this request was shown elsewhere."""
        self._requests.note_seen(card)
        self.disarm()

    def end_seen(self) -> None:
        card = self.selected
        if card is not None and not self._requests.was_seen(card):
            self._requests.note_seen(card)
            self._draw_keys()

    def disarm(self) -> None:
        """Take no decision until the card has been on screen, unchanged and with a quiet keyboard, for a moment."""
        self.arming.disarm()

    def _may_arm(self) -> bool:
        return self.selected is not None and self.has_focus and self.is_on_screen

    def on_focus(self) -> None:
        self.disarm()

    def on_resize(self) -> None:
        """The scroll under it lays the text out again: Textual calls the handlers of every class in turn."""
        self.disarm()

    def on_key(self, event: events.Key) -> None:
        if event.key not in {"y", "n", "v"}:
            self.disarm()

    def action_move(self, step: int) -> None:
        self._requests.move(step)
        self._draw_text()
        self.draw()

    def action_view(self) -> None:
        if self.selected is not None:
            self.post_message(self.ViewWanted(self, self.selected))

    def action_decide(self, decision: str) -> None:
        card = self.selected
        if card is None:
            return
        if not self.arming.is_armed or not self.is_on_screen:
            self.disarm()
        elif decision == "allowed" and not self._requests.was_seen(card):
            self.notify("Read it to its end first: PgDn, or v for the full screen.", severity="warning", markup=False)
        else:
            self.arming.is_armed = False
            self.post_message(self.Decided(self, card.id, decision))

    def draw(self) -> None:
        """Bring up to date what changes with time and with the other requests."""
        if not self.is_mounted:
            return
        card = self.selected
        self.border_title = f"Approvals ({self.count})" if self.count else "Approvals"
        head = self.query_one("#approval-head", Static)
        if card is None:
            head.update(Text("Nothing waits for you.", style="dim"))
        else:
            head.update(head_text(card, self._requests.position, self.count))
        self._draw_keys()

    def _draw_text(self) -> None:
        """Another request is selected."""
        self.disarm()
        if self.is_mounted:
            card = self.selected
            self.query_one("#approval-detail", Static).update(detail_text(card) if card else "")
            self.begin()

    def _draw_keys(self) -> None:
        card = self.selected
        if card is None:
            self.border_subtitle = ""
        elif not self.has_focus:
            self.border_subtitle = "F4 to answer"
        elif not self._requests.was_seen(card):
            self.border_subtitle = "n deny · PgDn, v: read on"
        else:
            self.border_subtitle = "y allow once · n deny · v view" if self.arming.is_armed else "one moment …"
