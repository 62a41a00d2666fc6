"""The rows of the sessions pane under the keys: a cursor that stays on its session, and what the user wants of it."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar, Literal

from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message

from cos.tui.widgets.session_drawing import SessionDrawing
from cos.tui.widgets.session_row import LINES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

    from textual import events

Action = Literal[
    "open", "peek", "new", "rename", "tags", "fork", "archive", "unarchive", "delete", "expand", "collapse"
]
NEAR_END = 20
"""Rows below the view from which on the next page is wanted."""


class SessionLines(SessionDrawing, can_focus=True):
    """Change `rows` inside `changing`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "want('open')", "Open"),
        Binding("space", "want('peek')", "Peek"),
        Binding("n", "want('new')", "New", show=False),
        Binding("r", "want('rename')", "Rename"),
        Binding("t", "want('tags')", "Tags"),
        Binding("f", "want('fork')", "Fork"),
        Binding("a", "want('archive')", "Archive"),
        Binding("a", "want('unarchive')", "Take back"),
        Binding("d", "want('delete')", "Delete"),
        Binding("right", "want('expand')", "Children", show=False),
        Binding("left", "want('collapse')", "Fold", show=False),
        Binding("up", "move(-1)", show=False),
        Binding("down", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home", "move(-1000000)", show=False),
        Binding("end", "move(1000000)", show=False),
    ]

    _is_archived = False
    """Whether the session under the cursor is."""

    class Wanted(Message):
        """The user wants something of a session; `session_id` is None where there is none."""

        def __init__(self, lines: SessionLines, action: Action, session_id: UUID | None) -> None:
            super().__init__()
            self.lines = lines
            self.action = action
            self.session_id = session_id

        @property
        def control(self) -> SessionLines:
            return self.lines

    class NearEnd(Message):
        """The next page may soon be in view."""

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Change the rows inside. The cursor stays on its session and, while it has the focus, on its line.

        Rows that change without moving are drawn with `draw_again`.
        """
        before = self.rows.shown
        height = self.size.height
        top = self.scroll_offset.y
        anchor = self.rows.place_of(self._cursor) if self.has_focus else None
        if anchor is None and top:
            anchor = min(top // LINES, len(self.rows.shown) - 1)
        held = self.rows.shown[anchor].row.id if anchor is not None and self.rows.shown else None
        offset = (anchor or 0) * LINES - top
        place = self.rows.place_of(self._cursor)
        yield
        self._note_archived()
        if self.rows.shown is before:
            return  # No row came, went or moved.
        self._keep_cursor(place)
        self._note_archived()
        self.virtual_size = Size(self._width, len(self.rows.shown) * LINES)
        now_at = self.rows.place_of(held)
        if now_at is not None and 0 <= offset < max(1, height):
            self.scroll_to(y=now_at * LINES - offset, animate=False, immediate=True)
        self.refresh()

    def _keep_cursor(self, place: int | None) -> None:
        """On its session; when that is gone, on what stands in its place."""
        if self._cursor is not None and self.rows.place_of(self._cursor) is None:
            shown = self.rows.shown
            self._cursor = shown[min(place, len(shown) - 1)].row.id if place is not None and shown else None

    def _note_archived(self) -> None:
        """The keys are named by what they do to the session under the cursor."""
        place = self.rows.place_of(self.cursor)
        is_archived = place is not None and self.rows.shown[place].row.is_archived
        if is_archived != self._is_archived:
            self._is_archived = is_archived
            self.refresh_bindings()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if parameters in (("archive",), ("unarchive",)):
            return self._is_archived == (parameters == ("unarchive",))
        return super().check_action(action, parameters)

    def on_focus(self) -> None:
        """The keys need a row to begin with: the open session's, else the first."""
        if self.cursor is None and self.rows.shown:
            self.go_to(self.rows.place_of(self._open) or 0)
        self._drawn.pop(self._cursor, None) if self._cursor else None
        self.refresh()

    def on_blur(self) -> None:
        self._drawn.pop(self._cursor, None) if self._cursor else None
        self.refresh()

    def on_resize(self) -> None:
        self.virtual_size = Size(self._width, len(self.rows.shown) * LINES)

    def on_click(self, event: events.Click) -> None:
        place = (self.scroll_offset.y + event.y) // LINES
        if event.button == 1 and place < len(self.rows.shown):
            self.go_to(place)
            self.action_want("open")

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        self._ask_for_more()

    def go_to(self, place: int) -> None:
        """Put the cursor on a row and bring it into view."""
        self.cursor = self.rows.shown[place].row.id
        self._note_archived()
        top, height = self.scroll_offset.y, self.size.height
        if place * LINES < top:
            self.scroll_to(y=place * LINES, animate=False, immediate=True)
        elif (place + 1) * LINES > top + height:
            self.scroll_to(y=(place + 1) * LINES - height, animate=False, immediate=True)
        self._ask_for_more()

    def show(self, session_id: UUID) -> None:
        """Put the cursor on this session, if it is in the list."""
        place = self.rows.place_of(session_id)
        if place is not None:
            self.go_to(place)

    def _ask_for_more(self) -> None:
        if self.rows.next is not None and self.wants_more(NEAR_END):
            self.post_message(self.NearEnd())

    def wants_more(self, rows_below: int) -> bool:
        """Whether fewer rows than that are below the view."""
        return (self.scroll_offset.y + self.size.height) // LINES + rows_below >= len(self.rows.shown)

    def action_move(self, step: int) -> None:
        if self.rows.shown:
            place = self.rows.place_of(self._cursor)
            wanted = (place + step) if place is not None else 0
            self.go_to(max(0, min(wanted, len(self.rows.shown) - 1)))

    def action_page(self, step: int) -> None:
        self.action_move(step * max(1, self.size.height // LINES - 1))

    def action_want(self, action: Action) -> None:
        self.post_message(self.Wanted(self, action, self.cursor))
