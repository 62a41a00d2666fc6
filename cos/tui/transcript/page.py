"""The entries of a conversation in order, with their heights and drawn lines. No widget: the view asks it for lines.

An entry far from the viewport has an estimated height until it is drawn. Places are named by (order, line), which stay
true while heights around them change.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from cos.tui.transcript.layout import LineIndex
from cos.tui.transcript.look import Look

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cos.tui.transcript.entries import Entry
    from cos.tui.transcript.lines import Line

KEPT_DRAWN = 300
"""Entries whose lines stay in memory after they left the viewport, as long as they are not too many lines."""
KEPT_LINES = 10_000
_LEAST_KEPT = 3


@dataclass(slots=True, eq=False)
class Row:
    entry: Entry
    order: int
    """Rises down the page and never changes."""
    gap: int = 0
    """Blank lines above."""
    drawn: list[Line] | None = None
    measured: bool = False
    """The height is true, also after the lines were dropped."""


class Place(NamedTuple):
    """A line of the page that stays the same one while heights above it change."""

    order: int
    line: int
    """0 is the first line of the row, with its gap."""


class Page:
    """Rows, found by key, by order and by line."""

    def __init__(self) -> None:
        self.width = 1
        self.look = Look()
        self.rows: list[Row] = []
        self._by_key: dict[str, Row] = {}
        self._index = LineIndex()
        self._recent: OrderedDict[str, Row] = OrderedDict()

    def __contains__(self, key: str) -> bool:
        return key in self._by_key

    @property
    def total(self) -> int:
        """Lines of the whole page, partly estimated."""
        return self._index.total

    def row(self, key: str) -> Row:
        """Raises: KeyError when no entry has this key."""
        try:
            return self._by_key[key]
        except KeyError:
            raise KeyError(f"no entry has the key {key!r}; ask `has(key)` first") from None

    def position(self, row: Row) -> int:
        """The index of a row."""
        return bisect_left(self.rows, row.order, key=lambda other: other.order)

    def restyle(self, look: Look) -> None:
        """Draw everything anew in other styles; heights stay."""
        if look != self.look:
            self.look = look
            for row in self.rows:
                row.drawn = None

    def shape(self, width: int, place: Place | None = None) -> Place | None:
        """Draw everything anew at another width. Returns where the words at `place` are about to be found then."""
        at = self._index.locate(self.line_of(place))[0] if place else 0
        before = self._index[at] if place else 0
        self.width = max(1, width)
        for row in self.rows:
            row.drawn, row.measured = None, False
        self._forget_old(0)
        self._index = LineIndex(_guess(row, self.width) for row in self.rows)
        if place is None:
            return None
        self._draw(at)
        return Place(place.order, place.line * self._index[at] // max(1, before))

    def clear(self) -> None:
        self.rows.clear()
        self._by_key.clear()
        self._forget_old(0)
        self._index = LineIndex()

    def insert(self, at: int, entries: Sequence[Entry]) -> None:
        """Put entries at the start (`at` = 0) or at the end of the page.

        Raises:
            ValueError: a key is used twice.
        """
        keys = [entry.key for entry in entries]
        if len(set(keys)) < len(keys) or not self._by_key.keys().isdisjoint(keys):
            twice = next(key for key in keys if key in self or keys.count(key) > 1)
            raise ValueError(f"the key {twice!r} is used by two entries; keys must be unique in a view")
        if not entries:
            return
        first = 0
        if self.rows:
            first = self.rows[-1].order + 1 if at else self.rows[0].order - len(entries)
        rows = [Row(entry, first + number) for number, entry in enumerate(entries)]
        self.rows[at:at] = rows
        self._by_key.update((row.entry.key, row) for row in rows)
        for number in range(at, at + len(rows)):
            self.rows[number].gap = _gap(self.rows, number)
        self._index.insert(at, [_guess(row, self.width) for row in rows])
        self._regap(at + len(rows))

    def remove(self, key: str) -> None:
        row = self.row(key)
        at = self.position(row)
        del self.rows[at], self._by_key[key]
        self._recent.pop(key, None)
        self._index.remove(at)
        self._regap(at)

    def touch(self, row: Row) -> int:
        """The entry changed: draw it again if it is drawn, else estimate. Returns by how many lines it grew."""
        at = self.position(row)
        before = self._index[at]
        was_drawn, row.drawn, row.measured = row.drawn is not None, None, False
        self.rows[at].gap = _gap(self.rows, at)
        if was_drawn:
            self._draw(at)
        else:
            self._index.set(at, _guess(row, self.width))
        self._regap(at + 1)
        return self._index[at] - before

    def measure(self, top: int, bottom: int) -> bool:
        """Draw what overlaps these lines and was never drawn; True when a height turned out different."""
        if not self.rows or not self.total:
            return False
        changed = False
        at, _ = self._index.locate(top)
        while at < len(self.rows) and self._index.start(at) < bottom:
            if not self.rows[at].measured:
                guessed = self._index[at]
                self._draw(at)
                changed = changed or self._index[at] != guessed
            at += 1
        self._forget_old(max(KEPT_DRAWN, 2 * (bottom - top)))
        return changed

    def place(self, line: int) -> Place | None:
        if not self.total:
            return None
        at, offset = self._index.locate(line)
        return Place(self.rows[at].order, offset)

    def line_of(self, place: Place) -> int:
        """Where a place is now; the nearest line when its row has become shorter or is gone."""
        at = bisect_left(self.rows, place.order, key=lambda row: row.order)
        if at >= len(self.rows):
            return self.total
        height = self._index[at]
        return self._index.start(at) + min(place.line, max(0, height - 1))

    def span(self, row: Row) -> tuple[int, int]:
        """The first line of a row without its gap, and the line after its last one."""
        at = self.position(row)
        return self._index.start(at) + row.gap, self._index.start(at + 1)

    def at(self, line: int) -> tuple[Row, int, Line | None] | None:
        """What line `line` of the page shows: its row, the line within it (-1 in a gap), and how it is drawn."""
        if not 0 <= line < self.total:
            return None
        at, offset = self._index.locate(line)
        row = self.rows[at]
        if offset < row.gap:
            return row, -1, None
        lines = self.drawn(row)
        number = min(offset - row.gap, len(lines) - 1)
        return row, number, lines[number] if lines else None

    def drawn(self, row: Row) -> list[Line]:
        if row.drawn is None:
            row.drawn = row.entry.lines(self.width, self.look)
        self._recent[row.entry.key] = row
        self._recent.move_to_end(row.entry.key)
        return row.drawn

    def _draw(self, at: int) -> None:
        row = self.rows[at]
        row.measured = True
        lines = self.drawn(row)
        self._index.set(at, len(lines) + row.gap if lines else 0)

    def _regap(self, at: int) -> None:
        """The entry before `at` changed, so the gap above `at` may be another one."""
        if at >= len(self.rows):
            return
        row = self.rows[at]
        before = row.gap
        self.rows[at].gap = _gap(self.rows, at)
        height = self._index[at]
        self._index.set(at, height + row.gap - before if height else 0)

    def _forget_old(self, kept: int) -> None:
        """Whoever holds the entries longer than this page holds their text alone."""
        lines = sum(len(row.drawn or ()) for row in self._recent.values())
        while len(self._recent) > kept or (lines > KEPT_LINES and len(self._recent) > _LEAST_KEPT):
            _, row = self._recent.popitem(last=False)
            lines -= len(row.drawn or ())
            row.drawn = None
            row.entry.forget()


def _gap(rows: Sequence[Row], at: int) -> int:
    """Blank lines above a row: none at the top and between two compact entries."""
    return 0 if at == 0 or (rows[at - 1].entry.compact and rows[at].entry.compact) else 1


def _guess(row: Row, width: int) -> int:
    return max(1, row.entry.estimate(width)) + row.gap
