"""Keys and mouse over the entries of a paged view: a cursor that stops at entries, folding, opening, selecting."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from textual.binding import Binding, BindingType
from textual.message import Message

from cos.tui.transcript.paged import PagedView

if TYPE_CHECKING:
    from textual import events
    from textual.widget import Widget

    from cos.tui.transcript.entries import Entry
    from cos.tui.transcript.page import Page, Row


class CursorView(PagedView, can_focus=True):
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,alt+up", "previous", "Previous", show=False),
        Binding("down,alt+down", "next", "Next", show=False),
        Binding("shift+up", "extend(-1)", "Extend upwards", show=False),
        Binding("shift+down", "extend(1)", "Extend downwards", show=False),
        Binding("space", "fold", "Fold"),
        Binding("enter", "activate", "Open", show=False),
        Binding("end", "follow", "To the end", show=False),
    ]

    class EntryActivated(Message, namespace="transcript"):
        """Enter was pressed on an entry."""

        def __init__(self, view: CursorView, key: str) -> None:
            super().__init__()
            self.view = view
            self.key = key

        @property
        def control(self) -> Widget:
            return self.view

    @property
    def cursor_key(self) -> str | None:
        """The entry that keys act on."""
        return self._cursor

    @property
    def pointed(self) -> Entry | None:
        """The entry under the cursor, else the last one that the cursor could stop at."""
        if self._cursor is not None:
            return self._page.row(self._cursor).entry
        return next((row.entry for row in reversed(self._page.rows) if row.entry.reachable), None)

    def take_along(self, place: Literal[0, -1] = 0) -> bool:
        """Bring the cursor to the first (-1: the last) entry in view; False when its own was in view already."""
        entry = self.pointed
        if entry is None:
            return False
        top, height = self.scroll_offset.y, self.size.height
        start, end = self._page.span(self._page.row(entry.key))
        if start < top + height and end > top:
            return False
        seen = _reachable(self._page, top, top + height)
        if not seen:
            return False
        self._cursor = seen[place].entry.key
        self.refresh()
        return True

    def action_scroll_home(self) -> None:
        super().action_scroll_home()
        self.take_along()

    def action_page_up(self) -> None:
        super().action_page_up()
        self.take_along()

    def action_page_down(self) -> None:
        super().action_page_down()
        self.take_along(-1)

    def action_previous(self) -> None:
        self._end_selection()
        self._move(-1)

    def action_next(self) -> None:
        self._end_selection()
        self._move(1)

    def action_extend(self, step: int) -> None:
        """The selection goes from the entry where this began to the one that the cursor comes to."""
        if self._anchor is None or self._anchor not in self._page:
            self._anchor = self._cursor
        self._move(step)
        self._anchor = self._anchor or self._cursor
        if self._anchor is not None and self._cursor is not None:
            self.select_entries(self._anchor, self._cursor)

    def _end_selection(self) -> None:
        if self._anchor is not None:
            self._anchor = None
            self.screen.clear_selection()

    def _move(self, step: int) -> None:
        """To the next entry; one that is longer than the view is scrolled through first."""
        rows = self._page.rows
        if not rows:
            return
        top, height = self.scroll_offset.y, self.size.height
        if self._cursor is None:
            at, step = self._page.position(rows[-1]) + 1, -1
            shown = self._page.at(top + height - 1)
            at = at if shown is None else self._page.position(shown[0]) + 1
        else:
            row = self._page.row(self._cursor)
            start, end = self._page.span(row)
            outside = end - (top + height) if step > 0 else top - start
            if end - start > height and 0 < outside < end - start:
                self.scroll_to(y=top + step * min(outside, max(1, height // 2)))
                return
            at = self._page.position(row)
        at += step
        while 0 <= at < len(rows) and not rows[at].entry.reachable:
            at += step
        if 0 <= at < len(rows):
            self._point_at(rows[at])
        elif step > 0:
            self.action_follow()

    def _point_at(self, row: Row) -> None:
        self._cursor = row.entry.key
        start, end = self._page.span(row)
        self._page.measure(start - self.size.height, end + self.size.height)
        start, end = self._page.span(row)
        top, height = self.scroll_offset.y, self.size.height
        if start < top or end - start > height:
            self.scroll_to(y=start)
        elif end > top + height:
            self.scroll_to(y=end - height)
        self.refresh()

    def action_fold(self) -> None:
        if self._cursor is not None:
            self.toggle(self._cursor)

    def toggle(self, key: str) -> None:
        """Fold or unfold an entry that can be."""
        row = self._page.row(key)
        if row.entry.foldable:
            self.toggle_to(key, folded=not row.entry.is_folded)

    def toggle_to(self, key: str, *, folded: bool) -> None:
        """Its first line stays on the screen, and where it is unless the end is followed."""
        row = self._page.row(key)
        followed, self.auto_follow = self.auto_follow, False
        with self.keeping_place(line=self._page.span(row)[0]):
            row.entry.folded = folded
            self._page.touch(row)
        if followed and self._page.total - self.size.height <= self._page.span(row)[0]:
            self.follow()
        self.auto_follow = self.scroll_offset.y >= self.max_scroll_y

    def action_activate(self) -> None:
        if self._cursor is not None:
            self.post_message(self.EntryActivated(self, self._cursor))

    def action_follow(self) -> None:
        self.follow()
        self.take_along(-1)

    def on_focus(self) -> None:
        self.refresh()

    def on_blur(self) -> None:
        self.refresh()

    async def _on_click(self, event: events.Click) -> None:
        """A click sets the cursor, and folds on the first line of an entry; a double click selects the entry."""
        event.prevent_default()
        if self.new_lines and event.y == self.size.height - 1:
            self.follow()
            return
        found = self._page.at(self.scroll_offset.y + event.y)
        if found is None or found[1] < 0 or self.text_selection is not None:
            return
        row, number, _ = found
        if event.chain == 2:
            self.select_entries(row.entry.key, row.entry.key)
        elif event.chain == 1 and row.entry.reachable:
            self._cursor = row.entry.key
            if number == 0 and row.entry.foldable:
                self.toggle(row.entry.key)
            self.refresh()


def _reachable(page: Page, top: int, bottom: int) -> list[Row]:
    """The rows of which at least a line is from `top` to before `bottom`, and at which the cursor can stop."""
    found = (page.at(line) for line in range(top, bottom))
    rows = {one[0].order: one[0] for one in found if one is not None and one[1] >= 0}
    return [row for row in rows.values() if row.entry.reachable]
