"""The list of sessions: each with its state as glyph and word. Rows change one by one, by session id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar
from uuid import UUID

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from cos.agent.text import visible
from cos.tui import wording

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cos.core.sessions import SessionRow


@dataclass(frozen=True, slots=True)
class RowState:
    """How a session is, as the row says it."""

    word: str
    since: str


class SessionsPane(OptionList):
    """Sessions of all profiles, newest activity first."""

    DEFAULT_CSS = """
    SessionsPane {
        border: round $foreground 35%;
        border-title-color: $foreground 70%;
        background: $background;
        padding: 0;
        text-wrap: nowrap;
        text-overflow: ellipsis;
        scrollbar-size-vertical: 1;
        &:focus { border: round $primary; border-title-color: $primary; background-tint: $background 0%; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "open_highlighted", "Open")]

    class Chosen(Message):
        """The user wants to see this session."""

        def __init__(self, pane: SessionsPane, session_id: UUID) -> None:
            super().__init__()
            self.pane = pane
            self.session_id = session_id

        @property
        def control(self) -> SessionsPane:
            return self.pane

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, markup=False)
        self.border_title = "Sessions"
        self._rows: dict[UUID, SessionRow] = {}
        self._prompts: dict[UUID, Text] = {}
        self._current: UUID | None = None

    def show(self, rows: Sequence[SessionRow]) -> None:
        """Set all rows. The highlighted session stays highlighted."""
        highlighted = self.highlighted_session
        order = [row.id for row in rows]
        same_order = order == list(self._rows)
        self._rows = {row.id: row for row in rows}
        if same_order:
            self._redraw(order)
            return
        self._prompts = {row.id: self._prompt(row) for row in rows}
        top = self.scroll_offset.y
        with self.app.batch_update(), self.prevent(OptionList.OptionHighlighted):
            self.set_options([Option(self._prompts[row.id], id=str(row.id)) for row in rows])
            if highlighted in self._rows:
                self.highlighted = order.index(highlighted)
            self.scroll_to(y=top, animate=False)
        self.border_title = f"Sessions ({len(rows)})" if rows else "Sessions"

    def mark_current(self, session_id: UUID | None) -> None:
        """Mark the session that the conversation shows."""
        before, self._current = self._current, session_id
        if before != session_id:
            self._redraw([row_id for row_id in (before, session_id) if row_id in self._rows])

    def tick(self) -> None:
        """Bring times up to date."""
        self._redraw(list(self._rows))

    def _redraw(self, session_ids: Sequence[UUID | None]) -> None:
        """Draw the rows among these whose words have changed."""
        for session_id in session_ids:
            if session_id is None:
                continue
            prompt = self._prompt(self._rows[session_id])
            if prompt != self._prompts.get(session_id):
                self._prompts[session_id] = prompt
                self.replace_option_prompt(str(session_id), prompt)

    def action_open_highlighted(self) -> None:
        self.action_select()

    @property
    def highlighted_session(self) -> UUID | None:
        if self.highlighted is None or self.highlighted >= self.option_count:
            return None
        option = self.get_option_at_index(self.highlighted)
        return UUID(option.id) if option.id else None

    def on_focus(self) -> None:
        """The keys need a row to begin with: the open session's, else the first."""
        if self.highlighted is None and self._rows:
            order = list(self._rows)
            self.highlighted = order.index(self._current) if self._current in self._rows else 0

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if event.option_id:
            self.post_message(self.Chosen(self, UUID(event.option_id)))

    def _prompt(self, row: SessionRow) -> Text:
        state = state_of(row)
        title = wording.one_line(row.title or "untitled")
        is_current = row.id == self._current
        mark = "▌" if is_current else " "
        text = Text()
        text.append(f"{mark}{title}\n", style="bold" if is_current else "")
        words = " ".join(piece for piece in (state.word, state.since) if piece)
        is_pressing = state.word in {"waits for you", "running"}
        text.append(f"{mark}{wording.STATES[state.word]} {words}", style="" if is_pressing else "dim")
        text.append(f" · {visible(row.profile_id)}", style="dim")
        return text


def state_of(row: SessionRow) -> RowState:
    """What the row says of its session, most pressing first."""
    if row.waiting:
        return RowState("waits for you", f"({row.waiting})" if row.waiting > 1 else "")
    if row.turn_started_at is not None and row.turn_completed_at is None:
        return RowState("running", wording.duration(wording.now() - row.turn_started_at))
    if row.queued:
        return RowState("paused" if row.queue_paused else "queued", str(row.queued))
    since = wording.age(row.last_activity_at)
    if row.turn_status in {"failed", "cancelled", "interrupted"}:
        return RowState(str(row.turn_status), since)
    return RowState("idle", since)
