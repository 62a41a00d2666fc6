"""The sessions pane: a filter on top, what is wrong with it, and the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Self

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.message import Message
from textual.widgets import Input, Static

from cos.agent.text import visible
from cos.core.session_query import LONGEST
from cos.tui.widgets.session_lines import SessionLines

if TYPE_CHECKING:
    from uuid import UUID

    from textual.app import ComposeResult
    from textual.timer import Timer

DEBOUNCE_SECONDS = 0.15
ARCHIVED = "state:archived"
"""The piece of a filter that stands for archived sessions."""


class Filter(Input):
    """One line. Esc clears it, then leaves it. The key that leads here does nothing in it while it is empty."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "clear_or_leave", "Clear"),
        Binding("down,enter", "leave", "To the list"),
    ]

    class Left(Message):
        """The user is done with it."""

    def insert_text_at_cursor(self, text: str) -> None:
        if self.value or text != "/":
            super().insert_text_at_cursor(text)

    def action_clear_or_leave(self) -> None:
        if self.value:
            self.value = ""
        else:
            self.post_message(self.Left())

    def action_leave(self) -> None:
        self.post_message(self.Left())


class SessionsPane(Vertical):
    """Sessions of all profiles, those that need the user first."""

    DEFAULT_CSS = """
    SessionsPane {
        border: round $foreground 35%;
        border-title-color: $foreground 70%;
        background: $background;
        &:focus-within { border: round $primary; border-title-color: $primary; }
        & > Filter { height: 1; border: none; padding: 0 1; background: $background; color: $foreground; }
        & > Filter:focus { border: none; background: $surface; }
        & > .problem { display: none; height: auto; max-height: 6; padding: 0 1; color: $text-error; }
        & > .problem.-shown { display: block; }
        & > .hidden { display: none; height: auto; padding: 0 1; color: $foreground 70%; }
        & > .hidden.-shown { display: block; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "filter", "Filter", key_display="/"),
        Binding("A,shift+a", "archived", "Archived", key_display="A"),
        Binding("escape", "clear_filter", "Show all", key_display="Esc"),
    ]
    """
    | Key | |
    | :- | :- |
    | slash | Filter the list. |
    | A | The archived sessions instead of the others, and back. |
    | escape | Take the filter away. |
    """

    class FilterChanged(Message):
        """The user has typed another filter, and stopped for a moment."""

        def __init__(self, pane: SessionsPane, text: str) -> None:
            super().__init__()
            self.pane = pane
            self.text = text

        @property
        def control(self) -> SessionsPane:
            return self.pane

    def __init__(self, *, id: str | None = None, debounce_seconds: float = DEBOUNCE_SECONDS) -> None:
        super().__init__(id=id)
        self.border_title = "Sessions"
        self._debounce_seconds = debounce_seconds
        self._timer: Timer | None = None
        self.lines = SessionLines()
        self.listed: int | None = None
        """How many sessions the list would hold without the filter; None while there is none."""
        self._open: UUID | None = None

    def compose(self) -> ComposeResult:
        yield Filter(placeholder="/ filter, A archived", compact=True, max_length=LONGEST, select_on_focus=False)
        yield Static(classes="problem", markup=False)
        yield Static(classes="hidden", markup=False)
        yield self.lines

    @property
    def filter(self) -> Filter:
        return self.query_one(Filter)

    def focus(self, scroll_visible: bool = True) -> Self:
        """The rows take the keys."""
        self.lines.focus(scroll_visible)
        return self

    def say(self, problem: str) -> None:
        """What is wrong with the filter; empty when nothing is."""
        shown = self.query_one(".problem", Static)
        shown.update(visible(problem))
        shown.set_class(bool(problem), "-shown")

    def mark_open(self, session_id: UUID | None) -> None:
        """Mark the session that the conversation shows."""
        self.lines.mark_open(session_id)
        if session_id != self._open:
            self._open = session_id
            self.count()

    def count(self) -> None:
        """Bring the number in the title up to date, and what is said of the filter."""
        rows = self.lines.rows
        number = len(rows.shown)
        self.border_title = f"Sessions ({number}{'+' if rows.next else ''})" if number else "Sessions"
        shown = self.query_one(".hidden", Static)
        shown.update(self._hidden_words())
        shown.set_class(self.listed is not None, "-shown")

    def _hidden_words(self) -> str:
        """`hides 12 sessions, also the open one; Esc shows all`."""
        rows = self.lines.rows
        roots = sum(one.row.parent_session_id is None and not one.row.is_archived for one in rows.shown)
        hidden = max(0, (self.listed or 0) - roots)
        amount = f"{'up to ' if rows.next else ''}{hidden:,} session{'' if hidden == 1 else 's'}"
        hides_open = self._open is not None and not rows.next and rows.place_of(self._open) is None
        return f"hides {amount}{', also the open one' if hides_open else ''}; Esc shows all"

    def action_filter(self) -> None:
        # At once: what is typed behind the slash may be in the queue already.
        self.screen.set_focus(self.filter)

    def action_clear_filter(self) -> None:
        self.filter.value = ""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Esc goes on to what is around the pane when there is no filter."""
        return bool(self.filter.value) if action == "clear_filter" else super().check_action(action, parameters)

    def action_archived(self) -> None:
        self.show_archived(ARCHIVED not in self.filter.value.split())

    def show_archived(self, is_wanted: bool = True) -> None:
        """Let the filter ask for archived sessions, or for the others; its words and tags hold for both."""
        pieces = [piece for piece in self.filter.value.split() if not piece.startswith(("state:", "status:"))]
        self.filter.value = " ".join([*pieces, ARCHIVED] if is_wanted else pieces)

    @on(Filter.Left)
    def _left(self, event: Filter.Left) -> None:
        event.stop()
        self.lines.focus()

    @on(Input.Changed)
    def _typed(self, event: Input.Changed) -> None:
        event.stop()
        if self._timer is not None:
            self._timer.stop()
        text = event.value
        self.refresh_bindings()
        self._timer = self.set_timer(self._debounce_seconds, lambda: self.post_message(self.FilterChanged(self, text)))
