"""The rows of the sessions pane: line-rendered, so that their number costs nothing; each row is drawn for itself."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, ClassVar, Literal

from rich.style import Style
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from cos.tui import wording
from cos.tui.session_activity import Activities
from cos.tui.session_rows import SessionRows
from cos.tui.transcript.lines import make_line, shorten
from cos.tui.transcript.look import COMPONENTS, LOOK_CSS, Look, look_of
from cos.tui.widgets.session_row import LINES, RowText, row_strips, row_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime
    from uuid import UUID

    from textual import events

    from cos.tui.session_rows import Shown

Action = Literal["open", "peek", "new", "rename", "tags", "fork", "archive", "delete", "expand", "collapse"]
NEAR_END = 20
"""Rows below the view from which on the next page is wanted."""


class SessionLines(ScrollView, can_focus=True):
    """Draws `rows`; change them inside `changing`."""

    DEFAULT_CSS = f"""
    SessionLines {{
        height: 1fr;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
        background: $background;
        color: $foreground;
        {LOOK_CSS}
        & .sessions--cursor {{ background: $foreground 12%; }}
        & .sessions--cursor-focused {{ background: $primary 35%; text-style: bold; }}
    }}
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {*COMPONENTS, "sessions--cursor", "sessions--cursor-focused"}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "want('open')", "Open"),
        Binding("space", "want('peek')", "Peek"),
        Binding("n", "want('new')", "New", show=False),
        Binding("r", "want('rename')", "Rename"),
        Binding("t", "want('tags')", "Tags"),
        Binding("f", "want('fork')", "Fork"),
        Binding("a", "want('archive')", "Archive"),
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

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.rows = SessionRows()
        self.activities = Activities()
        self.empty_text = ""
        """What stands where there are no rows."""
        self._cursor: UUID | None = None
        self._open: UUID | None = None
        self._drawn: dict[UUID, tuple[RowText, tuple[Strip, Strip]]] = {}
        self._look: Look | None = None

    @property
    def cursor(self) -> UUID | None:
        """The session that the keys are about."""
        return self._cursor if self.rows.place_of(self._cursor) is not None else None

    @cursor.setter
    def cursor(self, session_id: UUID | None) -> None:
        before, self._cursor = self._cursor, session_id
        self.draw_again([one for one in (before, session_id) if one is not None], even_if_equal=True)

    @property
    def _width(self) -> int:
        """Without the scrollbar."""
        return self.scrollable_content_region.width

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
        if self.rows.shown is before:
            return  # No row came, went or moved.
        self._keep_cursor(place)
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

    def mark_open(self, session_id: UUID | None) -> None:
        """Mark the session that the conversation shows."""
        before, self._open = self._open, session_id
        if before != session_id:
            self.draw_again([one for one in (before, session_id) if one is not None])

    def draw_again(self, session_ids: Iterable[UUID], *, even_if_equal: bool = False) -> None:
        """Draw those of these rows that are in view and have changed."""
        now, top, height = wording.now(), self.scroll_offset.y, self.size.height
        for session_id in session_ids:
            place = self.rows.place_of(session_id)
            if place is None or not top - LINES < place * LINES < top + height:
                continue
            drawn = self._drawn.get(session_id)
            if even_if_equal or drawn is None or drawn[0] != self._text(self.rows.shown[place], now):
                self._drawn.pop(session_id, None)
                self.refresh(Region(0, place * LINES - top, self._width, LINES))

    def tick(self) -> None:
        """Bring times up to date."""
        first = self.scroll_offset.y // LINES
        self.draw_again([one.row.id for one in self.rows.shown[first : first + self.size.height // LINES + 2]])

    def render_line(self, y: int) -> Strip:
        width = self._width
        if self._look is None:
            self._look = look_of(self)
        place, part = divmod(self.scroll_offset.y + y, LINES)
        shown = self.rows.shown
        if place < len(shown):
            return self._strips(shown[place], width)[part]
        text = self.empty_text if not shown and y == 0 else ""
        return make_line([(shorten(f" {text}", width), self._look.muted)], width, self._look).strip

    def _strips(self, shown: Shown, width: int) -> tuple[Strip, Strip]:
        assert self._look is not None
        text = self._text(shown, wording.now())
        drawn = self._drawn.get(shown.row.id)
        if drawn is not None and drawn[0] == text and drawn[1][0].cell_length == width:
            return drawn[1]
        strips = row_strips(text, width, self._look, background=self._background(shown.row.id))
        if len(self._drawn) > 4 * max(50, self.size.height):
            self._drawn.clear()
        self._drawn[shown.row.id] = (text, strips)
        return strips

    def _text(self, shown: Shown, now: datetime) -> RowText:
        session_id = shown.row.id
        activity = self.activities.of(session_id)
        return row_text(shown, activity, now, is_open=session_id == self._open, is_nested=self.rows.is_nested)

    def _background(self, session_id: UUID) -> Style | None:
        if session_id != self._cursor:
            return None
        styles = self.get_component_styles(f"sessions--cursor{'-focused' if self.has_focus else ''}")
        return Style(bgcolor=styles.rich_style.bgcolor) + styles.text_style

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._look = None
        self._drawn.clear()

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
