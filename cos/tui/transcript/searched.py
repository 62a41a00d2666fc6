"""A view that marks what is looked for in its lines and can go to it."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from cos.tui.transcript.cursor import CursorView
from cos.tui.transcript.paged import restyled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.strip import Strip

    from cos.tui.transcript.entries import Entry
    from cos.tui.transcript.lines import Line
    from cos.tui.transcript.page import Row

_KEPT = 400
"""Entries whose occurrences are remembered."""


class Wanted:
    """What is looked for: a text as it is written or as it is read, in either case of letters."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.pattern = re.compile(re.escape(text), re.IGNORECASE)
        self._lowered = text.lower()

    def is_in(self, text: str) -> bool:
        lowered = text.lower()
        return self._lowered in lowered or self._lowered in as_read(lowered)


def as_read(text: str) -> str:
    """Markdown about as it is drawn: without marks of emphasis and code, and a line break as a space."""
    return text.replace("\n", " ").replace("*", "").replace("`", "")


class Occurrences(NamedTuple):
    """Where a text occurs in the drawn lines of an entry."""

    lines: list[int]
    """The line on which each begins."""
    spans: dict[int, list[tuple[int, int, int]]]
    """By line: first character, the one after the last, and which occurrence it belongs to."""


def occurrences(lines: Sequence[Line], pattern: re.Pattern[str]) -> Occurrences:
    """Also those that the width of the view broke into two lines."""
    found, spans = list[int](), defaultdict[int, list[tuple[int, int, int]]](list)
    starts, at = list[int](), 0
    for line in lines:
        starts.append(at)
        at += len(line.text) + len(line.joint)
    text = "".join(line.text + line.joint for line in lines)
    for match in pattern.finditer(text):
        number = bisect_right(starts, match.start()) - 1
        found.append(number)
        while number < len(lines) and starts[number] < match.end():
            first = max(match.start() - starts[number], 0)
            last = min(match.end() - starts[number], len(lines[number].text))
            if first < last:
                spans[number].append((first, last, len(found) - 1))
            number += 1
    return Occurrences(found, dict(spans))


class SearchedView(CursorView):
    """Goes from occurrence to occurrence within an entry; which entries to go to is decided elsewhere."""

    _wanted: Wanted | None = None
    _at: tuple[str, int] | None = None
    """The entry and the occurrence in it that the search is at."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._known: dict[str, tuple[list[Line], Occurrences]] = {}

    @property
    def entries(self) -> list[Entry]:
        return [row.entry for row in self._page.rows]

    @property
    def end_in_view(self) -> int:
        """The index of the last entry that is in view at least in part; -1 when there is none."""
        found = self._page.at(min(self.scroll_offset.y + self.size.height, self._page.total) - 1)
        return -1 if found is None else self._page.position(found[0])

    @property
    def cursor_index(self) -> int | None:
        """The index of the entry under the cursor."""
        return None if self._cursor is None else self.index_of(self._cursor)

    def has(self, key: str) -> bool:
        return key in self._page

    def index_of(self, key: str) -> int:
        """Raises: KeyError when no entry has this key."""
        return self._page.position(self._page.row(key))

    def look_for(self, wanted: Wanted | None) -> None:
        """Mark this text wherever it is drawn; None = nothing any more."""
        self._wanted, self._at = wanted, None
        self._known.clear()
        self.refresh()

    @property
    def inside(self) -> tuple[int, int] | None:
        """Which occurrence of the cursor's entry the search is at, from 1, and of how many, when there are several."""
        if self._cursor is None or self._place is None:
            return None
        count = len(self._occurrences(self._page.row(self._cursor)).lines)
        return (self._place + 1, count) if count > 1 else None

    def reader_index(self, step: int) -> int | None:
        """The index of the entry from which a reader goes on, down (1) or up (-1); None when there is none."""
        row = self._reader(step)
        return None if row is None else self._page.position(row)

    def hides(self, index: int) -> bool:
        """Whether an entry is folded, with no occurrence in what is left to see of it."""
        row = self._page.rows[index]
        return row.entry.foldable and row.entry.is_folded and not self._occurrences(row).lines

    def reach(self, key: str, *, last: bool = False, unfold: bool = True) -> None:
        """Put the cursor on an entry and its first (or last) occurrence into view, unfolded unless it shall not be."""
        row = self._page.row(key)
        self._cursor, self._at = key, None
        if (
            unfold
            and row.entry.foldable
            and row.entry.folded is not False
            and (row.entry.is_folded or not self._occurrences(row).lines)
        ):
            self.toggle_to(key, folded=False)
        found = self._occurrences(row)
        if found.lines:
            self._go(row, found, len(found.lines) - 1 if last else 0)
        else:
            self._point_at(row)

    def step(self, step: int) -> bool:
        """Go to the next occurrence within the entry that the reader is at, down or up; False when there is none."""
        row = self._reader(step)
        if row is None or self._wanted is None or not self._wanted.is_in(row.entry.whole()):
            return False
        found = self._occurrences(row)
        at = self._next(row, found, step)
        if not 0 <= at < len(found.lines):
            return False
        self._cursor = row.entry.key
        self._go(row, found, at)
        return True

    def marked(self, strip: Strip, row: Row, number: int, line: Line) -> Strip:
        found = self._occurrences(row)
        for start, end, which in found.spans.get(number, ()):
            is_here = row.entry.key == self._cursor and which == self._place
            style = self._page.look.match_here if is_here else self._page.look.match
            strip = restyled(strip, line.lead + start, line.lead + end, style)
        return strip

    @property
    def _place(self) -> int | None:
        """The occurrence in the cursor's entry that the search is at; None when the cursor came there otherwise."""
        return self._at[1] if self._at is not None and self._at[0] == self._cursor else None

    def _reader(self, step: int) -> Row | None:
        """The cursor's entry while the reader can see where in it the cursor is; else the first, or last, in view."""
        if self._cursor is not None:
            row = self._page.row(self._cursor)
            if self._is_in_view(self._line_of_cursor(row)):
                return row
        y = self.scroll_offset.y + (0 if step > 0 else self.size.height - 1)
        found = self._page.at(max(0, min(y, self._page.total - 1)))
        return None if found is None else found[0]

    def _line_of_cursor(self, row: Row) -> int:
        """The line of the page on which the occurrence is that the search is at, else the first one of the entry."""
        found, place = self._occurrences(row), self._place
        within = found.lines[place] if place is not None and place < len(found.lines) else 0
        return self._page.span(row)[0] + within

    def _is_in_view(self, line: int) -> bool:
        return 0 <= line - self.scroll_offset.y < self.size.height

    def _next(self, row: Row, found: Occurrences, step: int) -> int:
        """The number of the occurrence to go to; -1, or that of the last one + 1, when the entry has no further one."""
        start, top = self._page.span(row)[0], self.scroll_offset.y
        if row.entry.key == self._cursor and self._is_in_view(self._line_of_cursor(row)):
            if self._place is not None:
                return self._place + step
            return 0 if step > 0 else -1
        if step > 0:
            return bisect_left(found.lines, top - start)
        return bisect_left(found.lines, top + self.size.height - start) - 1

    def _go(self, row: Row, found: Occurrences, at: int) -> None:
        self._at = (row.entry.key, at)
        start, _ = self._page.span(row)
        height = self.size.height
        self._page.measure(start - height, start + found.lines[at] + height)
        line = self._page.span(row)[0] + found.lines[at]
        if not self._is_in_view(line):
            self.scroll_to(y=max(0, line - height // 3))
        self.refresh()

    def _occurrences(self, row: Row) -> Occurrences:
        if self._wanted is None:
            return Occurrences([], {})
        lines = self._page.drawn(row)
        known = self._known.get(row.entry.key)
        if known is None or known[0] is not lines:
            if len(self._known) > _KEPT:
                self._known.clear()
            known = self._known[row.entry.key] = lines, occurrences(lines, self._wanted.pattern)
        return known[1]
