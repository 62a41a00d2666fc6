"""Searching the open session: which entries hold a text, loaded or not, and going from one to the next."""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from time import perf_counter
from typing import TYPE_CHECKING, Protocol

from cos.tui.transcript.searched import Wanted

if TYPE_CHECKING:
    from cos.tui.transcript.searched import SearchedView

SLICE_SECONDS = 0.004
"""How long entries are looked through before keys have their turn."""
PAUSE_SECONDS = 0.1
"""How long typing must pause before the database is asked."""


class Stored(Protocol):
    """The part of the session that is not loaded."""

    @property
    def first_loaded(self) -> int | None: ...

    async def find(self, text: str) -> list[int]: ...

    async def load_until(self, ordinal: int) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Where a search stands. It counts entries: messages, calls, notices."""

    count: int = 0
    position: int | None = None
    """Of the entry under the cursor among them, from 1 for the oldest."""
    is_counting: bool = False
    """What is not loaded is not counted yet."""
    note: str = ""

    @property
    def words(self) -> str:
        if self.note:
            return self.note
        more = " …" if self.is_counting else ""
        if not self.count:
            return f"looking further up{more}" if self.is_counting else "not found"
        here = f"{self.position:,} of " if self.position is not None else ""
        return f"{here}{self.count:,}{more}"


class ConversationSearch:
    """One text at a time. Entries that came meanwhile are found by the next move."""

    def __init__(self, view: SearchedView) -> None:
        self.stored: Stored | None = None
        """None while nothing is connected that could hold more than the view."""
        self._view = view
        self._wanted: Wanted | None = None
        self._older: list[int] = []

    @property
    def is_on(self) -> bool:
        return self._wanted is not None

    def end(self) -> None:
        self._wanted, self._older = None, []
        self._view.look_for(None)

    def begin_at(self, key: str, text: str) -> None:
        """Begin at an entry that is known to hold `text`; an empty text only goes there."""
        self.end()
        if text:
            self._wanted = Wanted(text)
            self._view.look_for(self._wanted)
        if self._view.has(key):
            self._view.reach(key)

    async def look_for(self, text: str) -> Found:
        """Begin with the loaded entries: go to the newest one that holds `text` and is in view or above."""
        text = text.strip("\n")
        if not text.strip():
            self.end()
            return Found()
        self._wanted, self._older = Wanted(text), []
        self._view.look_for(self._wanted)
        matches = await self._matches(self._wanted)
        if matches:
            at = max(0, bisect_right(matches, self._view.end_in_view) - 1)
            self._view.reach(self._view.entries[matches[at]].key, last=True, unfold=False)
        return self._found(matches, is_counting=self.stored is not None and self.stored.first_loaded is not None)

    async def count_older(self) -> Found:
        """Then the messages that are not loaded."""
        wanted = self._wanted
        if wanted is None or self.stored is None:
            return Found()
        await asyncio.sleep(PAUSE_SECONDS)
        older = await self.stored.find(wanted.text)
        if wanted is self._wanted:
            self._older = older
        return self._found(await self._matches(wanted))

    async def settle(self) -> None:
        """Unfold the entry that the search is at."""
        index = self._view.cursor_index
        if self._wanted is not None and index is not None:
            entry = self._view.entries[index]
            if entry.is_folded and self._wanted.is_in(entry.whole()):
                self._view.reach(entry.key, last=True)

    async def move(self, step: int) -> Found:
        """Go to the next place, down (1) or up (-1), loading older messages when the next one is there."""
        wanted = self._wanted
        if wanted is None:
            return Found()
        if self._view.step(step):
            return self._found(await self._matches(wanted))
        matches = await self._matches(wanted)
        target = self._beside(matches, step)
        if target is None and step < 0 and self._unloaded() and self.stored is not None:
            await self.stored.load_until(self._unloaded()[0])
            matches = await self._matches(wanted)
            target = self._beside(matches, step)
        if target is None:
            where = "above" if step < 0 else "below"
            return Found(note=f"nothing more {where}" if matches or self._unloaded() else "not found")
        self._view.reach(self._view.entries[target].key, last=step < 0)
        return self._found(matches)

    def _beside(self, matches: list[int], step: int) -> int | None:
        """The match next to the cursor; without a cursor, the newest one."""
        here = self._view.cursor_index
        if here is None:
            return matches[-1] if matches else None
        at = bisect_right(matches, here) if step > 0 else bisect_left(matches, here) - 1
        return matches[at] if 0 <= at < len(matches) else None

    def _unloaded(self) -> list[int]:
        first = None if self.stored is None else self.stored.first_loaded
        return [] if first is None else [ordinal for ordinal in self._older if ordinal < first]

    def _found(self, matches: list[int], *, is_counting: bool = False) -> Found:
        older, here = len(self._unloaded()), self._view.cursor_index
        at = None if here is None else bisect_left(matches, here)
        is_at = at is not None and at < len(matches) and matches[at] == here
        position = older + at + 1 if at is not None and is_at else None
        return Found(count=older + len(matches), position=position, is_counting=is_counting)

    async def _matches(self, wanted: Wanted) -> list[int]:
        """Indexes of the loaded entries that hold the text; true until the next await."""
        found: list[str] = []
        until = perf_counter() + SLICE_SECONDS
        for entry in self._view.entries:
            if wanted.is_in(entry.whole()):
                found.append(entry.key)
            if perf_counter() > until:
                await asyncio.sleep(0)
                until = perf_counter() + SLICE_SECONDS
        return [self._view.index_of(key) for key in found if self._view.has(key)]
