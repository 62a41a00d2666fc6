"""Text without a bound, such as the output of a command: its head and tail are kept, the middle is only counted."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

KEPT_HEAD = 100
KEPT_TAIL = 200
_LONGEST = 4_000


@dataclass(slots=True)
class HeadTail:
    """`feed` it text as it comes. A line longer than 4,000 characters keeps its start and says what is missing."""

    head: list[str] = field(default_factory=list)
    tail: deque[str] = field(default_factory=lambda: deque(maxlen=KEPT_TAIL))
    line_count: int = 0
    """Finished lines so far."""
    _open: str = ""
    _open_size: int = 0

    def feed(self, text: str) -> None:
        start = 0
        if text.count("\n") > 2 * (KEPT_HEAD + KEPT_TAIL):
            start = self._skip_middle(text)
        while (end := text.find("\n", start)) >= 0:
            self._extend(text, start, end)
            self._close()
            start = end + 1
        self._extend(text, start, len(text))

    def _skip_middle(self, text: str) -> int:
        """Take the first lines of a large text and only count most others; where the last lines start."""
        at, end = -1, len(text)
        for _ in range(KEPT_HEAD):
            at = text.find("\n", at + 1)
        for _ in range(KEPT_TAIL + 1):
            end = text.rfind("\n", 0, end)
        self.feed(text[: at + 1])
        self.line_count += text.count("\n", at + 1, end + 1)
        return end + 1

    def view(self, head: int, tail: int) -> tuple[list[str], int, list[str]]:
        """(first lines, number of hidden lines, last lines); at most `head` and `tail` lines."""
        lines = [*self.tail, self._shown()] if self._open_size else list(self.tail)
        count = self.line_count + bool(self._open_size)
        head, tail = min(head, KEPT_HEAD), min(tail, KEPT_TAIL)
        whole = [*self.head, *lines]
        if count <= head + tail and count == len(whole):
            return whole, 0, []
        first, last = whole[: min(head, len(self.head))], whole[-tail:]
        return first, count - len(first) - len(last), last

    def _extend(self, text: str, start: int, end: int) -> None:
        room = _LONGEST - len(self._open)
        if room > 0:
            self._open += text[start : min(end, start + room)]
        self._open_size += end - start

    def _shown(self) -> str:
        missing = self._open_size - len(self._open)
        return f"{self._open} … {missing:,} more characters" if missing else self._open

    def _close(self) -> None:
        line = self._shown().removesuffix("\r")
        if len(self.head) < KEPT_HEAD:
            self.head.append(line)
        else:
            self.tail.append(line)
        self.line_count += 1
        self._open, self._open_size = "", 0
