"""The messages that wait for their turn, above the composer: with the focus, to change them. Hidden when none waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar
from uuid import UUID

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.message import Message
from textual.widgets import Static

from cos.tui import wording

if TYPE_CHECKING:
    from cos.tui.outgoing import SendMode

MOST = 3
_GLYPHS: dict[SendMode, str] = {"queue": "»", "steer": "↪ steers ·", "now": "⇥ next ·"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """One row."""

    text: str
    id: UUID | None = None
    """None = it has not reached the database: it can only be seen."""
    mode: SendMode = "queue"
    draft: str = ""
    """As the composer takes it, with its pictures."""
    note: str = ""
    """Such as `not stored yet`."""


class QueueStrip(Static):
    """One line a message; the first three without the focus, all around the chosen one with it."""

    can_focus = True
    DEFAULT_CSS = """
    QueueStrip {
        display: none;
        height: auto;
        max-height: 10;
        padding: 0 2;
        color: $foreground 70%;
        text-wrap: nowrap;
        text-overflow: ellipsis;
        &:focus { color: $foreground; background: $panel; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", show=False),
        Binding("down", "move(1)", show=False),
        Binding("e,enter", "change", "Edit", key_display="e"),
        Binding("d,delete,backspace", "remove", "Remove", key_display="d"),
        Binding("s", "mode('steer')", "Steer"),
        Binding("n", "mode('now')", "Send now"),
        Binding("q", "mode('queue')", "Queue", show=False),
    ]
    """
    | Key | |
    | :- | :- |
    | up, down | Choose; beyond the last one is the composer, beyond the first one what was sent. |
    | e, enter | Take the message into the composer. |
    | d, delete | Remove it. |
    | s, n, q | Steer the running turn with it; stop the turn and send it; let it wait. |
    """

    class Change(Message):
        """The user wants something of a waiting message: `edit`, `remove`, or a mode of sending."""

        def __init__(self, row: Waiting, message_id: UUID, what: str) -> None:
            super().__init__()
            self.row = row
            self.message_id = message_id
            self.what = what

    class Left(Message):
        """The user moved beyond the rows: `older` above them, else below."""

        def __init__(self, *, older: bool) -> None:
            super().__init__()
            self.older = older

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, markup=False)
        self._rows: Sequence[Waiting] = ()
        self._why = ""
        self._at = 0
        self._is_chosen_from = False

    @property
    def can_change(self) -> bool:
        """Something waits that can be changed."""
        return any(row.id is not None for row in self._rows)

    def show(self, rows: Sequence[Waiting], why: str) -> None:
        """`why` says what they wait for. The row that is chosen stays chosen while it waits."""
        chosen = self._rows[self._at].id if self._at < len(self._rows) else None
        self._rows, self._why = rows, why
        ids = [row.id for row in rows]
        self._at = ids.index(chosen) if chosen in ids else max(0, min(self._at, len(rows) - 1))
        self.display = bool(rows)
        if not rows and self.has_focus:
            self.post_message(self.Left(older=False))
        self._draw()

    def choose_last(self) -> None:
        """Go in from the composer."""
        self._at = max(0, len(self._rows) - 1)
        self.focus()

    def on_focus(self) -> None:
        self._is_chosen_from = True
        self._draw()

    def on_blur(self) -> None:
        self._is_chosen_from = False
        self._draw()

    def action_move(self, step: int) -> None:
        if 0 <= self._at + step < len(self._rows):
            self._at += step
            self._draw()
        else:
            self.post_message(self.Left(older=step < 0))

    def action_change(self) -> None:
        self._want("edit")

    def action_remove(self) -> None:
        self._want("remove")

    def action_mode(self, mode: SendMode) -> None:
        self._want(mode)

    def _want(self, what: str) -> None:
        row = self._rows[self._at] if self._at < len(self._rows) else None
        if row is not None and row.id is not None:
            self.post_message(self.Change(row, row.id, what))

    def _draw(self) -> None:
        count, most = len(self._rows), 8 if self._is_chosen_from else MOST
        top = max(0, min(self._at - most // 2, count - most)) if self._is_chosen_from else 0
        shown = self._rows[top : top + most]
        more = f", {most} of them shown" if count > most else ""
        keys = "" if self._is_chosen_from or not self.can_change else " · F5 changes"
        text = Text(f"{count} waiting{more}: {self._why}{keys}" if count else "")
        for place, row in enumerate(shown, top):
            is_chosen = self._is_chosen_from and place == self._at
            note = f"{row.note} · " if row.note else ""
            line = f"\n{_GLYPHS[row.mode]} {note}{wording.one_line(row.text)}"
            text.append(line, style="bold reverse" if is_chosen else "")
        self.update(text)
