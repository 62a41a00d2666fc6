"""Requests for approval of every session. Letters decide only here, only when the card is armed, and only whole cards.

A card arms when it has been on screen for 400 ms with a quiet keyboard: again after it changes, after a resize and when
the window regains the focus. Enter decides nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, ClassVar
from uuid import UUID

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.message import Message
from textual.reactive import reactive
from textual.widgets import Static

from cos.agent.text import visible
from cos.tui import wording

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.app import ComposeResult
    from textual.timer import Timer

ARM_SECONDS = 0.4


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One request as the pane draws it."""

    id: UUID
    session_id: UUID
    session_title: str
    profile_id: str
    tool: str
    detail: str
    """The exact and whole text of what would run."""
    reason: str
    risk: str
    cwd: str | None
    requested_at: datetime
    expires_at: datetime


class ApprovalsPane(VerticalScroll, can_focus=True):
    """The pending requests, oldest first, and the selected one in full."""

    DEFAULT_CSS = """
    ApprovalsPane {
        border: round $border-blurred;
        padding: 0 1;
        scrollbar-size-vertical: 1;
        &:focus { border: round $border; }
        &.-waiting { border: round $warning; }
        & > Static { height: auto; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "decide('allowed')", "Allow once"),
        Binding("n", "decide('denied')", "Deny"),
        Binding("v", "view", "Whole text"),
        Binding("right_square_bracket,right", "select(1)", "Next", key_display="→"),
        Binding("left_square_bracket,left", "select(-1)", "Previous", key_display="←", show=False),
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

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.border_title = "Approvals"
        self._cards: dict[UUID, Card] = {}
        self._selected: UUID | None = None
        self._seen: set[UUID] = set()
        """Requests whose whole text has been on screen."""
        self._arming: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Static(id="approval-card", markup=False)

    def on_mount(self) -> None:
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
        self._cards = {card.id: card for card in cards}
        if self._selected not in self._cards:
            self._selected = cards[0].id if cards else None
        self._seen &= set(self._cards)
        self.set_class(bool(cards), "-waiting")
        if before is not None and not cards:
            self.post_message(self.Emptied())
        if self.selected != before:
            self.scroll_home(animate=False)
            self.disarm()
        self._draw()

    def tick(self) -> None:
        """Bring the ages up to date."""
        if self._cards:
            self._draw()

    def mark_seen(self, approval_id: UUID) -> None:
        """The whole text of this request was shown elsewhere."""
        self._seen.add(approval_id)
        self.disarm()
        self._draw()

    def disarm(self) -> None:
        """Take no decision until the card has been on screen, unchanged and with a quiet keyboard, for a moment."""
        self.is_armed = False
        if self._arming is not None:
            self._arming.stop()
        self._arming = self.set_timer(ARM_SECONDS, self._arm) if self.is_running else None

    def _arm(self) -> None:
        if self.selected is not None and self.has_focus and self.app.app_focus:
            self.is_armed = True

    def watch_is_armed(self) -> None:
        self._draw()

    def on_focus(self) -> None:
        self.disarm()

    def on_resize(self) -> None:
        self.disarm()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._note_seen()

    async def on_key(self, event: events.Key) -> None:
        if event.key not in {"y", "n", "v"}:
            self.disarm()

    def action_select(self, step: int) -> None:
        order = list(self._cards)
        if self._selected in self._cards:
            self._selected = order[(order.index(self._selected) + step) % len(order)]
            self.scroll_home(animate=False)
            self.disarm()
            self._draw()

    def action_view(self) -> None:
        if self.selected is not None:
            self.post_message(self.ViewWanted(self, self.selected))

    def action_decide(self, decision: str) -> None:
        card = self.selected
        if card is None:
            return
        self._note_seen()
        if not self.is_armed:
            self.disarm()
        elif decision == "allowed" and card.id not in self._seen:
            self.notify("Read it to its end first: PgDn, or v for the full screen.", severity="warning", markup=False)
        else:
            self.is_armed = False
            self.post_message(self.Decided(self, card.id, decision))

    def _note_seen(self) -> None:
        if self._selected is not None and self.display and self.size.height > 3 and self.is_vertical_scroll_end:
            self._seen.add(self._selected)

    def _draw(self) -> None:
        if not self.is_mounted:
            return
        self.border_title = f"Approvals ({self.count})" if self.count else "Approvals"
        self.query_one("#approval-card", Static).update(self._text())
        self.call_after_refresh(self._note_seen)

    def _text(self) -> Text:
        card = self.selected
        if card is None:
            return Text("Nothing waits for you.", style="dim")
        position = list(self._cards).index(card.id) + 1
        age = wording.duration(wording.now() - card.requested_at)
        left = wording.duration(card.expires_at - wording.now())
        text = Text()
        text.append(f"{position} of {self.count} · waits {age}, {left} left\n", style="dim")
        text.append(f"{visible(card.tool)}", style="bold")
        text.append(f" · {card.risk}: {visible(card.reason)}\n")
        text.append(f"{visible(card.session_title)} · {visible(card.profile_id)}\n", style="dim")
        if card.cwd:
            text.append(f"in {visible(card.cwd)}\n", style="dim")
        text.append(f"\n{visible(card.detail)}\n\n")
        text.append(self._hint())
        return text

    def _hint(self) -> Text:
        if not self.has_focus:
            return Text("F4 to answer", style="bold")
        if not self.is_armed:
            return Text("one moment …", style="dim")
        return Text("y allow once · n deny · v whole text", style="bold")
