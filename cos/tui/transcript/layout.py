"""Which line belongs to which entry: heights with prefix sums, found by bisection."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


class LineIndex:
    """Heights in lines, in order. Sums are kept up to the first height that changed and extended when asked for."""

    def __init__(self, heights: Iterable[int] = ()) -> None:
        self._heights = list(heights)
        self._ends: list[int] = []

    def __len__(self) -> int:
        return len(self._heights)

    def __getitem__(self, index: int) -> int:
        return self._heights[index]

    @property
    def total(self) -> int:
        """Lines of all entries."""
        return self.start(len(self._heights))

    def set(self, index: int, height: int) -> None:
        if self._heights[index] != height:
            self._heights[index] = height
            del self._ends[index:]

    def insert(self, index: int, heights: Iterable[int]) -> None:
        self._heights[index:index] = heights
        del self._ends[index:]

    def remove(self, index: int) -> None:
        del self._heights[index]
        del self._ends[index:]

    def start(self, index: int) -> int:
        """The first line of an entry; for the index after the last one, the total."""
        return self._sums(index)[index - 1] if index else 0

    def locate(self, line: int) -> tuple[int, int]:
        """(index of the entry, line within it). Lines outside are taken as the first or the last one.

        Raises:
            IndexError: there is no line at all.
        """
        ends = self._sums(len(self._heights))
        if not ends or not ends[-1]:
            raise IndexError("the view has no lines")
        line = min(max(0, line), ends[-1] - 1)
        index = bisect_right(ends, line)
        return index, line - (ends[index - 1] if index else 0)

    def _sums(self, count: int) -> list[int]:
        """The sums, true at least for the first `count` entries."""
        known = len(self._ends)
        if known < count:
            more = accumulate(self._heights[known:count], initial=self._ends[-1] if known else 0)
            next(more)
            self._ends.extend(more)
        return self._ends
