"""Requests of every session. Letters decide only here, only when the card is armed, and only whole cards.

A card arms when it has been on screen for 400 ms with a quiet keyboard: again after it changes, after a resize and when
the window regains the focus. Enter allows nothing; it sends only the answer that was picked to a question.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal
from uuid import UUID

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Static

from cos.tui.widgets.approval_card import Card, detail_text, head_text
from cos.tui.widgets.arming import ARM_SECONDS, Arming
from cos.tui.widgets.question_keys import ANSWERING, QuestionKeys, question_hint
from cos.tui.widgets.requests import Requests

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.app import ComposeResult

Decision = Literal["allowed", "denied"]
PanelName = Literal["view", "session", "always", "reason", "edit", "text"]
HINT = "y allow once · n deny"
LETTERS = frozenset("ysanrev")
"""Keys that decide or open a panel; every other one means that the keyboard is not quiet."""


class ApprovalsPane(QuestionKeys, can_focus=False):
    """The pending requests, oldest first, and the selected one in full. Takes the focus only while there is one."""

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
        &.-waiting { border: round $warning; border-title-color: $text-warning; }
        &.-waiting > #approval-detail { display: block; }
        &:focus { border: round $primary; border-title-color: $primary; }
        &.-waiting:focus { border: dashed $warning; border-title-color: $text-warning; }
        &.-armed:focus { border: heavy $warning; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "decide('allowed')", "Once"),
        Binding("enter,y", "answer", "Send"),
        Binding("s", "panel('session')", "Session"),
        Binding("a", "panel('always')", "Always"),
        Binding("n", "decide('denied')", "Deny"),
        Binding("r", "panel('reason')", "Reason"),
        Binding("e", "panel('edit')", "Edit"),
        Binding("v", "panel('view')", "View"),
        Binding("space", "mark", "Mark"),
        Binding("right_square_bracket,right", "move(1)", "Next", show=False),
        Binding("left_square_bracket,left", "move(-1)", "Previous", show=False),
    ]
    """
    | Key | |
    | :- | :- |
    | y | Allow this call, once. |
    | enter, y | Send the picked choice of a question. |
    | s | Allow it and more for this session: shows the rule first. |
    | a | Allow it and more always: shows the rule first. |
    | n | Deny this call. |
    | r | Deny it and tell the model why. |
    | e | Edit the arguments, then allow the call once with them. |
    | v | Show the whole text on the full screen. |
    | space | Mark this call among those of one step: y and n then answer the marked ones. |
    | left, right | The request before or after. |
    """

    class Decided(Message):
        """The user decided on the request that the card shows, or on the marked ones of its step.

        Denying a question is declining to answer it.
        """

        def __init__(self, pane: ApprovalsPane, approval_ids: tuple[UUID, ...], decision: Decision) -> None:
            super().__init__()
            self.pane = pane
            self.approval_ids = approval_ids
            self.decision = decision

        @property
        def control(self) -> ApprovalsPane:
            return self.pane

    class PanelWanted(Message):
        """The user wants to do more with a request than to say yes or no."""

        def __init__(self, pane: ApprovalsPane, panel: PanelName, card: Card) -> None:
            super().__init__()
            self.pane = pane
            self.panel = panel
            self.card = card

        @property
        def control(self) -> ApprovalsPane:
            return self.pane

    class Emptied(Message):
        """The last request was answered or has ended."""

    def __init__(self, *, id: str | None = None, arm_seconds: float = ARM_SECONDS) -> None:
        super().__init__(id=id)
        self.border_title = "Approvals"
        self.arming = Arming(
            self,
            arm_seconds,
            may_arm=lambda: self.selected is not None and self.has_focus and self.is_on_screen,
            changed=self._draw_keys,
        )
        self.requests = Requests()
        self._is_cut = False
        """The card does not show all of its text, so its end is not the text's end."""
        self.needed_key = ""
        """What the user was just told to press: the line of keys keeps it."""

    def compose(self) -> ComposeResult:
        yield Static(id="approval-head", markup=False)
        yield Static(id="approval-detail", markup=False)

    def on_mount(self) -> None:
        self.arming.watch_window()
        self.draw()
        self._draw_text()

    @property
    def count(self) -> int:
        return len(self.requests)

    @property
    def selected(self) -> Card | None:
        return self.requests.selected

    def show(self, cards: Sequence[Card]) -> None:
        """Set the requests. What is selected stays selected; new ones never move the selection."""
        before, could_mark = self.selected, self.requests.can_mark
        self.requests.show(cards)
        self.set_class(bool(cards), "-waiting")
        self.can_focus = bool(cards)
        if before is not None and not cards:
            self.post_message(self.Emptied())
        if self.selected != before:
            self._draw_text()
        elif self.requests.can_mark != could_mark:
            self.refresh_bindings()
        self.draw()

    def mark_seen(self, card: Card) -> None:
        """The whole text of this request was shown elsewhere."""
        self.requests.note_seen(card)
        self.disarm()

    def end_seen(self) -> None:
        card = self.selected
        if card is not None and not self._is_cut and not self.requests.was_seen(card):
            self.requests.note_seen(card)
            self._draw_keys()

    def disarm(self) -> None:
        """Take no decision until the card has been on screen, unchanged and with a quiet keyboard, for a moment."""
        self.arming.disarm()

    def watch_has_focus(self, has_focus: bool) -> None:
        super().watch_has_focus(has_focus)
        self.disarm()
        self._draw_keys()

    def on_resize(self) -> None:
        """The scroll under it lays the text out again: Textual calls the handlers of every class in turn."""
        self.disarm()

    def on_key(self, event: events.Key) -> None:
        card = self.selected
        if event.key not in (ANSWERING if card is not None and card.is_question else LETTERS):
            self.disarm()

    def action_move(self, step: int) -> None:
        self.requests.move(step)
        self._draw_text()
        self.draw()

    def action_mark(self) -> None:
        self.requests.toggle_mark()
        self.draw()

    def action_panel(self, panel: PanelName) -> None:
        card = self.selected
        if card is not None and (panel == "view" or self.takes([] if panel == "reason" else [card])):
            self.disarm()
            self.post_message(self.PanelWanted(self, panel, card))

    def action_decide(self, decision: Decision) -> None:
        cards = self.requests.chosen()
        if cards and self.takes(cards if decision == "allowed" else []):
            self.disarm()
            self.post_message(self.Decided(self, tuple(card.id for card in cards), decision))

    def takes(self, to_read: Sequence[Card]) -> bool:
        """Whether a letter counts now; what is to be allowed must have been read to its end."""
        if not self.arming.is_armed or not self.is_on_screen:
            self.arming.refuse()
            return False
        unread = sum(not self.requests.was_seen(card) for card in to_read)
        if unread:
            self.needed_key = "v"
            self.refresh_bindings()
            which = f"{unread} of the {len(to_read)} marked ones: read them" if len(to_read) > 1 else "Read it"
            self.notify(f"{which} to its end first: PgDn, or v for the full screen.", severity="warning", markup=False)
        return not unread

    def draw(self) -> None:
        """Bring up to date what changes with time and with the other requests."""
        if not self.is_mounted:
            return
        card = self.selected
        self.border_title = f"Approvals ({self.count})" if self.count else "Approvals"
        head = self.query_one("#approval-head", Static)
        text = head_text(card, self.requests.place()) if card else Text("Nothing waits for you.", style="dim")
        # Each change lays the whole screen out anew.
        if text != head.content:
            head.update(text)
        self._draw_keys()

    def _draw_text(self) -> None:
        """Another request is selected."""
        self.disarm()
        self.needed_key = ""
        if self.is_mounted:
            card, picked = self.selected, self.requests.picked
            text, self._is_cut = detail_text(card, picked) if card else (Text(), False)
            self.query_one("#approval-detail", Static).update(text)
            self.begin()
            self.refresh_bindings()

    picked_changed = _draw_text

    def _draw_keys(self) -> None:
        card = self.selected
        self.set_class(self.arming.is_armed, "-armed")
        if card is None:
            self.border_subtitle = ""
        elif not self.has_focus:
            self.border_subtitle = "F4 to answer"
        elif not self.requests.was_seen(card):
            self.border_subtitle = f"n {'decline' if card.is_question else 'deny'} · PgDn, v: read on"
        elif not self.arming.is_armed:
            self.border_subtitle = "too early · one moment …" if self.arming.was_early else "one moment …"
        else:
            self.border_subtitle = question_hint(card, self.requests.picked) if card.is_question else HINT
