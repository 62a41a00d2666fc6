"""Requests for approval of every session. Letters decide only here, only when the card is armed, and only whole cards.

A card arms when it has been on screen for 400 ms with a quiet keyboard: again after it changes, after a resize and when
the window regains the focus. Enter decides nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar
from uuid import UUID

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import Static

from cos.tui.widgets.approval_card import Card, detail_text, head_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.app import ComposeResult
    from textual.timer import Timer

ARM_SECONDS = 0.4


class ApprovalsPane(VerticalScroll, can_focus=True):
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

    is_armed: reactive[bool] = reactive(False)

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
        self._arm_seconds = arm_seconds
        self._cards: dict[UUID, Card] = {}
        self._selected: UUID | None = None
        self._laid_out: Card | None = None
        """The card whose text the screen has: only then does the end of the scroll say what was in view."""
        self._seen: set[UUID] = set()
        """Requests whose end was in view."""
        self._arming: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Static(id="approval-head", markup=False)
        yield Static(id="approval-detail", markup=False)

    def on_mount(self) -> None:
        self.watch(self.app, "app_focus", self.disarm, init=False)
        self._draw()

    @property
    def count(self) -> int:
        return len(self._cards)

    @property
    def selected(self) -> Card | None:
        return self._cards.get(self._selected) if self._selected else None

    def show(self, cards: Sequence[Card]) -> None:
        """Set the requests. What is selected stays selected; new ones never move the selection."""
        before = self.selected
        self._seen = {card.id for card in cards if card.id in self._seen and self._cards.get(card.id) == card}
        self._cards = {card.id: card for card in cards}
        if self._selected not in self._cards:
            self._selected = cards[0].id if cards else None
        self.set_class(bool(cards), "-waiting")
        if before is not None and not cards:
            self.post_message(self.Emptied())
        if self.selected != before:
            self._begin_card()
        self._draw()

    def tick(self) -> None:
        """Bring the ages up to date."""
        if self._cards:
            self._draw()

    def mark_seen(self, card: Card) -> None:
        """The whole text of this request was shown elsewhere."""
        if self._cards.get(card.id) == card:
            self._seen.add(card.id)
        self.disarm()

    def disarm(self) -> None:
        """Take no decision until the card has been on screen, unchanged and with a quiet keyboard, for a moment."""
        self.is_armed = False
        if self._arming is not None:
            self._arming.stop()
        self._arming = self.set_timer(self._arm_seconds, self._arm) if self.is_running else None

    def _arm(self) -> None:
        self.is_armed = self.selected is not None and self.has_focus and self.app.app_focus and self.is_on_screen

    def watch_is_armed(self) -> None:
        self._draw()

    def on_focus(self) -> None:
        self.disarm()

    def on_resize(self) -> None:
        self._begin_card(scroll=False)
        self._draw()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._note_seen()

    def on_key(self, event: events.Key) -> None:
        if event.key not in {"y", "n", "v"}:
            self.disarm()

    def action_move(self, step: int) -> None:
        order = list(self._cards)
        if self._selected in self._cards:
            self._selected = order[(order.index(self._selected) + step) % len(order)]
            self._begin_card()
            self._draw()

    def action_view(self) -> None:
        if self.selected is not None:
            self.post_message(self.ViewWanted(self, self.selected))

    def action_decide(self, decision: str) -> None:
        card = self.selected
        if card is None:
            return
        if not self.is_armed or not self.is_on_screen:
            self.disarm()
        elif decision == "allowed" and card.id not in self._seen:
            self.notify("Read it to its end first: PgDn, or v for the full screen.", severity="warning", markup=False)
        else:
            self.is_armed = False
            self.post_message(self.Decided(self, card.id, decision))

    def _begin_card(self, *, scroll: bool = True) -> None:
        """Another text, or another width, is to be laid out."""
        self._laid_out = None
        if scroll:
            self.scroll_home(animate=False)
        self.disarm()

    def _note_laid_out(self, card: Card | None) -> None:
        if card is not None and card == self.selected:
            self._laid_out = card
            self._note_seen()

    def _note_seen(self) -> None:
        card = self.selected
        is_shown = card is not None and card == self._laid_out and self.is_on_screen and self.size.height > 3
        if card is not None and is_shown and self.is_vertical_scroll_end and card.id not in self._seen:
            self._seen.add(card.id)
            self._draw_keys()

    def _draw(self) -> None:
        if not self.is_mounted:
            return
        card = self.selected
        self.border_title = f"Approvals ({self.count})" if self.count else "Approvals"
        head, detail = self.query_one("#approval-head", Static), self.query_one("#approval-detail", Static)
        if card is None:
            head.update(Text("Nothing waits for you.", style="dim"))
        else:
            head.update(head_text(card, list(self._cards).index(card.id) + 1, self.count))
        if card != self._laid_out or card is None:
            detail.update(detail_text(card) if card else "")
            self.call_after_refresh(self._note_laid_out, card)
        self._draw_keys()

    def _draw_keys(self) -> None:
        self.border_subtitle = self._keys()

    def _keys(self) -> str:
        if self.selected is None:
            return ""
        if not self.has_focus:
            return "F4 to answer"
        if self.selected.id not in self._seen:
            return "n deny · PgDn, v: read on"
        return "y allow once · n deny · v view" if self.is_armed else "one moment …"
