"""The conversation: one line-rendered widget over any number of entries. Nothing is mounted for a message.

Deltas are only stored; the screen is brought up to date at most twelve times a second, and less often when drawing
what changed takes long.
"""

from __future__ import annotations

from math import inf
from time import perf_counter
from typing import TYPE_CHECKING

from textual.message import Message

from cos.tui.transcript.answer import AssistantText
from cos.tui.transcript.calls import ToolCall
from cos.tui.transcript.entries import Thinking
from cos.tui.transcript.searched import SearchedView

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.timer import Timer

    from cos.tui.transcript.entries import Entry

FRAME_SECONDS = 1 / 12
_SHARE = 6
"""Drawing may take at most one part in this many of the time."""
LONGEST_FRAME_SECONDS = 0.01
"""What many blocks at once need beyond it is done in several goes, between which keys are taken."""


class Transcript(SearchedView):
    """Entries from old to new. Change them only through these methods; `key` names an entry."""

    least_frame_seconds = FRAME_SECONDS
    """Raise it where little shall move."""

    class Replaced(Message, namespace="transcript"):
        """Other entries are shown than before."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._changed: dict[str, None] = {}
        self._timer: Timer | None = None
        self._frame_seconds = 0.0

    def set_entries(self, entries: Sequence[Entry]) -> None:
        """Show these and go to the end. Raises: ValueError when a key is used twice."""
        self._changed.clear()
        self._cursor = self._anchor = None
        self._asked_older = False
        self.auto_follow = True
        with self.keeping_place():
            self._page.clear()
            self._page.insert(0, entries)
        if self.is_running:
            self.post_message(self.Replaced())

    def clear(self) -> None:
        self.set_entries([])

    def append(self, *entries: Entry) -> None:
        """Raises: ValueError when a key is used already."""
        before = self._page.total
        with self.keeping_place():
            self._page.insert(len(self._page.rows), entries)
            self._count_new(self._page.total - before)

    def prepend(self, entries: Sequence[Entry]) -> None:
        """Put older entries before the first one; what the user looks at stays where it is."""
        self._asked_older = not entries
        with self.keeping_place():
            self._page.insert(0, entries)

    def remove_entry(self, key: str) -> None:
        """Raises: KeyError when no entry has this key."""
        self._changed.pop(key, None)
        if self._cursor == key:
            self._cursor = None
        with self.keeping_place():
            self._page.remove(key)

    def entry(self, key: str) -> Entry:
        """Raises: KeyError when no entry has this key."""
        return self._page.row(key).entry

    def update(self, key: str, **changes: object) -> None:
        """Set fields of an entry. Raises: KeyError, TypeError for an unknown key or field."""
        self.entry(key).change(**changes)
        self._touch(key)

    def append_text(self, key: str, delta: str) -> None:
        """More text of an answer or of thinking; end it with `update(key, streaming=False)`.

        Raises:
            KeyError, TypeError: no entry has this key, or it is no streamed text.
        """
        entry = self.entry(key)
        if not isinstance(entry, AssistantText | Thinking):
            raise TypeError(f"entry {key!r} is a {type(entry).__name__}; only AssistantText and Thinking stream text")
        entry.append(delta)
        self._touch(key)

    def append_output(self, key: str, text: str) -> None:
        """Live output of a tool call. Raises: KeyError, TypeError when the key names no tool call."""
        entry = self.entry(key)
        if not isinstance(entry, ToolCall):
            raise TypeError(f"entry {key!r} is a {type(entry).__name__}; only a ToolCall has output")
        entry.append_output(text)
        self._touch(key)

    def visible_text_of(self, key: str) -> str:
        """The whole text of an entry for a copy, without bars and with control characters made visible."""
        return self.entry(key).plain()

    def entry_at_line(self, line: int) -> Entry | None:
        """The entry that line `line` of the whole page belongs to, None past the end and in a gap."""
        found = self._page.at(line)
        return None if found is None or found[1] < 0 else found[0].entry

    def _touch(self, key: str) -> None:
        self._changed[key] = None
        if self._timer is None and self.is_running:
            self._timer = self.set_timer(max(self._frame_seconds, self.least_frame_seconds), self._draw_frame)

    def flush(self) -> None:
        """Bring the screen up to date now."""
        self._draw_changed(inf)

    def _draw_frame(self) -> None:
        started = perf_counter()
        self._draw_changed(started + LONGEST_FRAME_SECONDS)
        spent = perf_counter() - started
        if self._changed:
            self._timer = self.set_timer(spent, self._draw_frame)
        else:
            self._frame_seconds = _SHARE * spent

    def _draw_changed(self, until: float) -> None:
        """What is not drawn by then (perf_counter) stays changed."""
        if self._timer is not None:
            self._timer.stop()
            self._timer = None
        page = self._page
        rows = [page.row(key) for key in self._changed]
        ready = [row for row in rows if row.drawn is None or row.entry.draw_ahead(page.width, page.look, until)]
        for row in ready:
            del self._changed[row.entry.key]
        if ready:
            with self.keeping_place():
                for row in ready:
                    self._count_new(page.touch(row))

    def _count_new(self, lines: int) -> None:
        if not self.auto_follow:
            self.new_lines = max(0, self.new_lines + lines)
