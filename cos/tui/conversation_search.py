"""Searching the open session: which entries hold a text, loaded or not, and going from one to the next."""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Protocol

from cos.tui.transcript.searched import Wanted

if TYPE_CHECKING:
    from collections.abc import Callable

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
    inside: tuple[int, int] | None = None
    """Of several places in that entry: which one, from 1, and how many."""
    is_counting: bool = False
    """What is not loaded is not counted yet."""
    wrapped: str = ""
    """From which end the search went on."""

    @property
    def words(self) -> str:
        more = " …" if self.is_counting else ""
        if not self.count:
            return f"looking further up{more}" if self.is_counting else "not found"
        here = f"{self.position:,} of " if self.position is not None else ""
        inside = "" if self.inside is None else f" ({self.inside[0]:,} of {self.inside[1]:,} in it)"
        return f"{here}{self.count:,}{more}{inside}{self.wrapped and f' · {self.wrapped}'}"


class ConversationSearch:
    """One text at a time. Entries that came meanwhile are found by the next move."""

    def __init__(self, view: SearchedView) -> None:
        self.stored: Stored | None = None
        """None while nothing is connected that could hold more than the view."""
        self.last = ""
        """What was looked for last; `move` takes it up again when the search has ended."""
        self._view = view
        self._wanted: Wanted | None = None
        self._older: list[int] | None = None
        """Ordinals of messages that were not loaded when the database was asked, newest first; None = not asked."""

    @property
    def is_on(self) -> bool:
        return self._wanted is not None

    def end(self) -> None:
        """What is in view stays there."""
        self._wanted, self._older = None, None
        self._view.look_for(None)

    def begin_at(self, key: str, text: str) -> None:
        """Begin at an entry that is known to hold `text`; an empty text only goes there."""
        self.end()
        if text:
            self._begin(text)
        if self._view.has(key):
            self._view.reach(key)

    async def look_for(self, text: str) -> Found:
        """Begin with the loaded entries: go to the newest one that holds `text` and is in view or above."""
        text = text.strip("\n")
        if not text.strip():
            self.end()
            self.last = ""
            return Found()
        wanted = self._begin(text)
        matches = await self._matches(wanted)
        if matches:
            at = max(0, bisect_right(matches, self._view.end_in_view) - 1)
            self._view.reach(self._view.entries[matches[at]].key, last=True, unfold=False)
        return self._found(matches)

    async def settle(self, text: str) -> Found:
        """Be at a match, unfolded: at the one that `look_for` went to, else at the newest that is not loaded."""
        if self._wanted is not None and self._wanted.text == text:
            found = self._found(await self._matches(self._wanted))
        else:
            found = await self.look_for(text)
        here = self._view.cursor_index
        if found.position is None or here is None:
            return await self.move(-1)
        if self._view.hides(here):
            self._view.reach(self._view.entries[here].key, last=True)
            found = replace(found, inside=self._view.inside)
        return found

    def _begin(self, text: str) -> Wanted:
        self._wanted, self._older, self.last = Wanted(text), None, text
        self._view.look_for(self._wanted)
        return self._wanted

    async def count_older(self) -> Found:
        """Then the messages that are not loaded."""
        wanted = self._wanted
        if wanted is None:
            return Found()
        await asyncio.sleep(PAUSE_SECONDS)
        await self._ask_older(wanted)
        return self._found(await self._matches(wanted))

    async def _ask_older(self, wanted: Wanted) -> None:
        if self.stored is not None and self._older is None:
            older = await self.stored.find(wanted.text)
            if wanted is self._wanted:
                self._older = older

    async def move(self, step: int) -> Found:
        """Go to the next place, down (1) or up (-1) from where the reader is; behind the last one, to the first.

        Older messages are loaded when the next place is among them.
        """
        if self._wanted is None and not self.last:
            return Found()
        wanted = self._wanted or self._begin(self.last)
        if self._view.step(step):
            return self._found(await self._matches(wanted))
        matches = await self._matches(wanted)
        target = self._beside(matches, step)
        wrapped = ""
        if target is None:
            await self._ask_older(wanted)
            if step < 0:
                matches = await self._load(wanted, matches, lambda matches: self._beside(matches, step) is None)
                target = self._beside(matches, step)
        if target is None:
            wrapped = "on from the top" if step > 0 else "on from the end"
            if step > 0:
                matches = await self._load(wanted, matches, lambda _: True)
            target = (matches[0] if step > 0 else matches[-1]) if matches else None
        if target is not None:
            self._view.reach(self._view.entries[target].key, last=step < 0)
        return self._found(matches, wrapped)

    async def _load(self, wanted: Wanted, matches: list[int], more: Callable[[list[int]], bool]) -> list[int]:
        """Load older messages, as far as they hold the text and `more` wants them; the matches then."""
        while self.stored is not None and (unloaded := self._unloaded()) and more(matches):
            await self.stored.load_until(unloaded[0])
            matches = await self._matches(wanted)
        return matches

    def _beside(self, matches: list[int], step: int) -> int | None:
        """The match next to the entry that the reader is at; that one itself while what it holds is folded away."""
        here = self._view.reader_index(step)
        if here is None:
            return matches[-1] if matches else None
        if here in matches and self._view.hides(here):
            return here
        at = bisect_right(matches, here) if step > 0 else bisect_left(matches, here) - 1
        return matches[at] if 0 <= at < len(matches) else None

    def _unloaded(self) -> list[int]:
        first = None if self.stored is None else self.stored.first_loaded
        return [] if first is None else [ordinal for ordinal in self._older or () if ordinal < first]

    def _found(self, matches: list[int], wrapped: str = "") -> Found:
        older, here = len(self._unloaded()), self._view.cursor_index
        at = None if here is None else bisect_left(matches, here)
        is_at = at is not None and at < len(matches) and matches[at] == here
        return Found(
            count=older + len(matches),
            position=older + at + 1 if at is not None and is_at else None,
            inside=self._view.inside if is_at else None,
            is_counting=self._older is None and self.stored is not None and self.stored.first_loaded is not None,
            wrapped=wrapped,
        )

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
