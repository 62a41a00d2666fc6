"""Draws the rows of the sessions pane: line-rendered, so that their number costs nothing; each row for itself."""

from __future__ import annotations

from dataclasses import replace
from textwrap import wrap
from typing import TYPE_CHECKING, ClassVar

from rich.style import Style
from textual.geometry import Region
from textual.scroll_view import ScrollView
from textual.strip import Strip

from cos.tui import wording
from cos.tui.session_activity import Activities
from cos.tui.session_rows import SessionRows
from cos.tui.transcript.lines import make_line, shorten
from cos.tui.transcript.look import COMPONENTS, LOOK_CSS, Look, look_of
from cos.tui.widgets.session_row import LINES, RowText, row_strips, row_text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable
    from datetime import datetime
    from uuid import UUID

    from cos.core.sessions import SessionRow
    from cos.tui.cost_port import SessionCost
    from cos.tui.session_rows import Shown


class SessionDrawing(ScrollView):
    """Only what is in view is drawn, and again only when it says something else."""

    DEFAULT_CSS = f"""
    SessionDrawing {{
        height: 1fr;
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
        background: $background;
        color: $foreground;
        {LOOK_CSS}
        & .sessions--cursor {{ background: $foreground 12%; }}
        & .sessions--cursor-focused {{ background: $primary 35%; text-style: bold; }}
        &:light .sessions--cursor-focused {{ background: $primary 15%; }}
    }}
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {*COMPONENTS, "sessions--cursor", "sessions--cursor-focused"}

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.rows = SessionRows()
        self.activities = Activities()
        self.costs: dict[UUID, SessionCost] = {}
        self.empty_text = ""
        """What stands where there are no rows."""
        self.child_tokens: Callable[[UUID], str] = lambda session_id: ""
        """Of a child agent; they stand in the place of its tags, which are its parent's."""
        self.implied_tags: Callable[[SessionRow], Collection[str]] = lambda row: ()
        """Those of a session that its row need not say."""
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
        lines = [] if shown else wrap(self.empty_text, max(1, width - 2))
        text = f" {lines[y]}" if y < len(lines) else ""
        return make_line([(shorten(text, width), self._look.muted)], width, self._look).strip

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
        cost = self.costs.get(session_id)
        implied = self.implied_tags(shown.row)
        is_open, is_nested = session_id == self._open, self.rows.is_nested
        text = row_text(shown, activity, cost, now, is_open=is_open, is_nested=is_nested, implied=implied)
        tokens = self.child_tokens(session_id) if shown.depth else ""
        return replace(text, more=tokens) if tokens else text

    def _background(self, session_id: UUID) -> Style | None:
        if session_id != self._cursor:
            return None
        styles = self.get_component_styles(f"sessions--cursor{'-focused' if self.has_focus else ''}")
        return Style(bgcolor=styles.rich_style.bgcolor) + styles.text_style

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._look = None
        self._drawn.clear()
