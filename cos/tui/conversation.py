"""One session's conversation as transcript entries, built from stored history and from live events alike.

It lives as long as the app knows the session. While it is on screen every change goes through the view, otherwise into
the entries themselves, so that switching to a running session shows all of it at once.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Literal
from uuid import UUID

from cos.tui.transcript.answer import AssistantText
from cos.tui.transcript.calls import ToolCall
from cos.tui.transcript.entries import Notice, Thinking, TurnHeader

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cos.tui.transcript.entries import Entry
    from cos.tui.transcript.view import Transcript

MOST_ENTRIES, MOST_CHARACTERS = 400, 4_000_000
"""A conversation that has more of both when a turn has ended goes on with the newest page of its history."""
NoticeLevel = Literal["info", "warning", "error"]


class Conversation:
    """Entries in order, by key."""

    def __init__(self, session_id: UUID) -> None:
        self.session_id = session_id
        self.is_loaded = False
        """The newest page of stored history is among the entries."""
        self.oldest_ordinal: int | None = None
        """Ordinal of the oldest loaded message while there are older ones, else None."""
        self._entries: dict[str, Entry] = {}
        self._view: Transcript | None = None
        self._notices = 0

    @property
    def entries(self) -> list[Entry]:
        return list(self._entries.values())

    def show_in(self, view: Transcript) -> None:
        self._view = view
        view.set_entries(self.entries)

    def hide(self) -> None:
        self._view = None

    @property
    def is_on_screen(self) -> bool:
        return self._view is not None

    @property
    def is_outgrown(self) -> bool:
        """It holds much more than a page of history, and nobody reads in what is older."""
        if self._view is None or not self._view.auto_follow or len(self._entries) <= MOST_ENTRIES:
            return False
        return sum(len(entry.whole()) for entry in self._entries.values()) > MOST_CHARACTERS

    def load(self, entries: Iterable[Entry], oldest_ordinal: int | None) -> None:
        """Put stored history before what only live events have brought so far.

        An entry that live events began is newer than what was read: it stays, in the place that the history gives it.
        """
        stored = {entry.key: self._entries.get(entry.key, entry) for entry in entries}
        self._entries = stored | {key: entry for key, entry in self._entries.items() if key not in stored}
        self.oldest_ordinal = oldest_ordinal
        self.is_loaded = True
        if self._view is not None:
            self._view.set_entries(self.entries)

    @property
    def is_shown(self) -> bool:
        return self.is_loaded and self._view is not None

    def read_again(self, entries: Iterable[Entry], oldest_ordinal: int | None) -> None:
        """Make the newest page what the tables say now; what is in view stays in place if nothing came between."""
        fresh = {entry.key: entry for entry in entries}
        known = list(self._entries)
        begins = next((place for place, key in enumerate(known) if key in fresh), 0)
        tail = known[begins:]
        if tail != list(fresh)[: len(tail)]:
            older = {key: self._entries[key] for key in known[:begins]}
            self._entries = older | fresh
            if not older:
                self.oldest_ordinal = oldest_ordinal
            if self._view is not None:
                self._view.set_entries(self.entries)
            return
        for key in tail:
            if changes := _differences(self._entries[key], fresh[key]):
                self.change(key, **changes)
        for entry in fresh.values():
            self.add(entry)

    def load_older(self, entries: Iterable[Entry], oldest_ordinal: int | None) -> None:
        older = [entry for entry in entries if entry.key not in self._entries]
        self._entries = {entry.key: entry for entry in older} | self._entries
        if self.oldest_ordinal is not None:
            # Two readers may have asked at once, and the one with less to tell may come last.
            self.oldest_ordinal = None if oldest_ordinal is None else min(oldest_ordinal, self.oldest_ordinal)
        if self._view is not None:
            self._view.prepend(older)

    def has(self, key: str) -> bool:
        return key in self._entries

    def add(self, entry: Entry) -> None:
        """Append an entry; one whose key is there already is left as it is."""
        if entry.key not in self._entries:
            self._entries[entry.key] = entry
            if self._view is not None:
                self._view.append(entry)

    def change(self, key: str, **changes: object) -> None:
        if key not in self._entries:
            return
        if self._view is not None:
            self._view.update(key, **changes)
        else:
            self._entries[key].change(**changes)

    def remove(self, key: str) -> None:
        if self._entries.pop(key, None) is not None and self._view is not None:
            self._view.remove_entry(key)

    def remove_turns(self, turn_keys: Iterable[str]) -> None:
        gone = set(turn_keys)
        for key in [key for key, entry in self._entries.items() if entry.turn_key in gone]:
            self.remove(key)

    def stream(self, entry: AssistantText | Thinking, delta: str) -> None:
        """More text of the entry with this key; it is added when it is not there."""
        self.add(entry)
        known = self._entries[entry.key]
        if self._view is not None:
            self._view.append_text(entry.key, delta)
        elif isinstance(known, AssistantText | Thinking):
            known.append(delta)

    def stream_to(self, entry: AssistantText | Thinking, text: str) -> None:
        """As `stream`, where `text` is all there is of it until now."""
        known = self._entries.get(entry.key)
        shown = known.whole() if known is not None else ""
        if text.startswith(shown):
            if text != shown:
                self.stream(entry, text[len(shown) :])
        else:
            self.remove(entry.key)
            self.stream(entry, text)

    def output(self, key: str, text: str) -> None:
        """More live output of a tool call."""
        known = self._entries.get(key)
        if not isinstance(known, ToolCall):
            return
        if self._view is not None:
            self._view.append_output(key, text)
        else:
            known.append_output(text)

    def notice(self, level: NoticeLevel, text: str, turn_key: str = "", *, key: str | None = None) -> None:
        self._notices += 1
        self.add(Notice(key=key or f"notice:{self._notices}", turn_key=turn_key, text=text, level=level))

    def header(self, turn_id: UUID, text: str) -> None:
        """Set the line above a turn."""
        key = f"turn:{turn_id}"
        self.add(TurnHeader(key=key, turn_key=key, text=text))
        self.change(key, text=text)


_OF_THE_READER = frozenset({"key", "folded", "cost", "total"})
"""Fields that are not read with an entry."""


def _differences(known: Entry, fresh: Entry) -> dict[str, object]:
    """The fields to change so that the first says what the second does."""
    if type(known) is not type(fresh):
        return {}
    names = [item.name for item in fields(fresh) if item.init and item.name not in _OF_THE_READER | {"text"}]
    changes = {name: getattr(fresh, name) for name in names if getattr(known, name) != getattr(fresh, name)}
    if known.whole() != fresh.whole() and hasattr(fresh, "text"):
        changes["text"] = fresh.text
    return changes
