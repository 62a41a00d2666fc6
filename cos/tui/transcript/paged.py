"""A scroll view over a `Page`: paints lines, follows the end, keeps its place while heights change, copies text."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from rich.cells import cell_len
from rich.segment import Segment
from textual.geometry import Offset, Size
from textual.message import Message
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from cos.tui.transcript.copying import Edge, text_between
from cos.tui.transcript.lines import GUTTER, cut, shorten
from cos.tui.transcript.look import COMPONENTS, LOOK_CSS, look_of
from cos.tui.transcript.page import Page, Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.style import Style
    from textual import events
    from textual.widget import Widget

    from cos.tui.transcript.lines import Line
    from cos.tui.transcript.page import Row

_LINES_OF_A_ROW = 1 << 24
"""A selection offset is `order * this + line`: it names the same text however the page grows around it."""


class PagedView(ScrollView):
    """What is independent of the kinds of entries. Its subclass changes the page only inside `keeping_place`."""

    DEFAULT_CSS = f"""
    PagedView {{
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
        background: $background;
        color: $foreground;
        {LOOK_CSS}
    }}
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = COMPONENTS

    auto_follow: reactive[bool] = reactive(True, repaint=False)
    """The view is at the end and stays there when something is added."""
    new_lines: reactive[int] = reactive(0)
    """Lines that were added below while the view did not follow."""

    class NeedOlder(Message, namespace="transcript"):
        """The user came near the start: put older entries there with `prepend`, if there are any."""

        def __init__(self, view: PagedView) -> None:
            super().__init__()
            self.view = view

        @property
        def control(self) -> Widget:
            return self.view

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._page = Page()
        self._moving = False
        self._look_is_old = True
        self._asked_older = False
        self._cursor: str | None = None
        self._anchor: str | None = None
        """Where a selection by keys began."""

    @contextmanager
    def keeping_place(self, *, line: int | None = None) -> Iterator[None]:
        """Change the page inside; afterwards line `line` (default: the top one of the view) is where it was."""
        top = self.scroll_offset.y
        anchor = self._page.place(top if line is None else line)
        yield
        self._settle(anchor, 0 if line is None else line - top)

    def _settle(self, anchor: Place | None, below_top: int = 0) -> None:
        """Draw what is near the viewport until heights are true, then tell Textual the size and the position."""
        height = self.size.height
        top = self.scroll_offset.y
        for _ in range(8):
            top = self._page.total if self.auto_follow or anchor is None else self._page.line_of(anchor) - below_top
            top = max(0, min(top, self._page.total - height))
            if not self.size or not self._page.measure(top - height, top + 2 * height):
                break
        self._moving = True
        self.virtual_size = Size(self.size.width, self._page.total)
        self.scroll_target_y = self.scroll_y = top
        self._moving = False
        if self.auto_follow:
            self.new_lines = 0
        self.refresh()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if self._moving or round(old_value) == round(new_value):
            return
        self.auto_follow = round(new_value) >= self.max_scroll_y
        with self.keeping_place():
            pass
        if self.scroll_offset.y <= self.size.height and not self._asked_older and self._page.rows:
            self._asked_older = True
            self.post_message(self.NeedOlder(self))

    def scroll_to(self, x: float | None = None, y: float | None = None, **options: Any) -> None:
        """Scroll without animation: an animation would aim at a line number that changes on the way."""
        super().scroll_to(x, y, **{**options, "animate": False})

    def on_resize(self, event: events.Resize) -> None:
        anchor = self._page.place(self.scroll_offset.y)
        if self.size.width != self._page.width:
            anchor = self._page.shape(self.size.width, anchor)
        self._settle(anchor)

    def notify_style_update(self) -> None:
        super().notify_style_update()
        # Component styles come after this call, so they are read when the next line is painted.
        self._look_is_old = True
        self.refresh()

    def follow(self) -> None:
        """Go to the end and stay there."""
        self.auto_follow = True
        with self.keeping_place():
            pass

    def render_line(self, y: int) -> Strip:
        if self._look_is_old:
            self._look_is_old = False
            self._page.restyle(look_of(self))
        width = self.size.width
        base = self._page.look.base
        found = self._page.at(self.scroll_offset.y + y)
        if found is None:
            return self._with_hint(Strip.blank(width, base), y)
        row, number, line = found
        strip = Strip.blank(width, base) if line is None else line.strip
        place = row.order * _LINES_OF_A_ROW + max(0, number)
        if line is not None:
            strip = self.marked(strip, row, number, line)
        selection = self.text_selection
        if selection is not None and line is not None:
            strip = self._selected(strip, line, selection.get_span(place))
        if row.entry.key == self._cursor and self.has_focus and line is not None and width > GUTTER:
            strip = _pointed_at(strip, base + self._page.look.cursor)
        return self._with_hint(strip.apply_offsets(0, place), y)

    def marked(self, strip: Strip, row: Row, number: int, line: Line) -> Strip:
        """`strip` with what a subclass wants to show on line `number` of a row."""
        return strip

    def _selected(self, strip: Strip, line: Line, span: tuple[int, int] | None) -> Strip:
        if span is None:
            return strip
        start, end = span
        last = line.lead + len(line.text)
        start = max(start, line.lead)
        end = last if end == -1 else min(end, last)
        if start >= end:
            return strip
        return restyled(strip, start, end, self.screen.get_component_rich_style("screen--selection"))

    def _with_hint(self, strip: Strip, y: int) -> Strip:
        if not self.new_lines or y != self.size.height - 1 or self.auto_follow:
            return strip
        width = self.size.width
        text = shorten(f" ▼ {self.new_lines:,} new line{'' if self.new_lines == 1 else 's'} · End ", width)
        hint = Strip([Segment(text, self._page.look.base + self._page.look.hint)])
        room = max(0, width - hint.cell_length - 1)
        return Strip([*cut(strip, room, self._page.look.base), *hint], room + hint.cell_length).adjust_cell_length(
            width, self._page.look.base
        )

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        if not self._page.rows:
            return None
        start, end = (
            None if edge is None else Edge(*divmod(edge.y, _LINES_OF_A_ROW), edge.x)
            for edge in (selection.start, selection.end)
        )
        return text_between(self._page, start, end), "\n"

    def select_entries(self, one: str, other: str) -> None:
        """The drawn text from one entry to another, both whole, becomes the selection, as if by mouse."""
        first, last = sorted((self._page.row(one), self._page.row(other)), key=lambda row: row.order)
        end = last.order * _LINES_OF_A_ROW + max(0, len(self._page.drawn(last)) - 1)
        self.screen.selections = {self: Selection(Offset(0, first.order * _LINES_OF_A_ROW), Offset(1 << 20, end))}


def _pointed_at(strip: Strip, style: Style) -> Strip:
    """`strip` with the cursor in its first cell, which is decoration on every line of an entry."""
    first, *rest = strip
    if cell_len(first.text[:1]) != 1:
        return strip
    return Strip([Segment("▎", style), Segment(first.text[1:], first.style), *rest], strip.cell_length)


def restyled(strip: Strip, start: int, end: int, style: Style) -> Strip:
    """`strip` with its characters from `start` to `end` in another style."""
    segments: list[Segment] = []
    at = 0
    for text, old, _ in strip:
        first, second = max(0, start - at), max(0, end - at)
        for piece, chosen in ((text[:first], old), (text[first:second], (old + style) if old else style)):
            if piece:
                segments.append(Segment(piece, chosen))
        if text[max(first, second) :]:
            segments.append(Segment(text[max(first, second) :], old))
        at += len(text)
    return Strip(segments, strip.cell_length)
