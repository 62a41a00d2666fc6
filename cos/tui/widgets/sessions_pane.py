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
        border: round $border-blurred;
        background: transparent;
        padding: 0;
        scrollbar-size-vertical: 1;
        &:focus { border: round $border; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "select", "Open")]

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
        self._current: UUID | None = None

    @property
    def waiting(self) -> int:
        """Requests that wait for the user in the listed sessions."""
        return sum(row.waiting for row in self._rows.values())

    def show(self, rows: Sequence[SessionRow]) -> None:
        """Set all rows. The highlighted session stays highlighted."""
        highlighted = self.highlighted_session
        order = [row.id for row in rows]
        same_order = order == list(self._rows)
        self._rows = {row.id: row for row in rows}
        if same_order:
            for row in rows:
                self.replace_option_prompt(str(row.id), self._prompt(row))
            return
        self.set_options([Option(self._prompt(row), id=str(row.id)) for row in rows])
        if highlighted in self._rows:
            self.highlighted = order.index(highlighted)

    def mark_current(self, session_id: UUID | None) -> None:
        """Mark the session that the conversation shows."""
        before, self._current = self._current, session_id
        for changed in {before, session_id} & set(self._rows):
            if changed is not None:
                self.replace_option_prompt(str(changed), self._prompt(self._rows[changed]))

    def tick(self) -> None:
        """Bring the running times up to date."""
        for row in self._rows.values():
            if row.turn_completed_at is None and row.turn_started_at is not None:
                self.replace_option_prompt(str(row.id), self._prompt(row))

    @property
    def highlighted_session(self) -> UUID | None:
        if self.highlighted is None or self.highlighted >= self.option_count:
            return None
        option = self.get_option_at_index(self.highlighted)
        return UUID(option.id) if option.id else None

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        event.stop()
        if event.option_id:
            self.post_message(self.Chosen(self, UUID(event.option_id)))

    def _prompt(self, row: SessionRow) -> Text:
        state = state_of(row)
        title = visible(row.title or "untitled").replace("\n", " ")
        mark = "▌" if row.id == self._current else " "
        text = Text(no_wrap=True, overflow="ellipsis")
        text.append(f"{mark}{title}\n", style="bold" if row.id == self._current else "")
        text.append(f"{mark}{wording.STATES[state.word]} {state.word} {state.since}", style="dim")
        text.append(f" · {visible(row.profile_id)}", style="dim")
        return text


def state_of(row: SessionRow) -> RowState:
    """What the row says of its session, most pressing first."""
    if row.waiting:
        return RowState("waiting for you", "")
    if row.turn_started_at is not None and row.turn_completed_at is None:
        return RowState("running", wording.duration(wording.now() - row.turn_started_at))
    if row.queued:
        return RowState("paused" if row.queue_paused else "queued", str(row.queued))
    since = wording.age(row.last_activity_at)
    if row.turn_status in {"failed", "cancelled", "interrupted"}:
        return RowState(str(row.turn_status), since)
    return RowState("idle", since)
