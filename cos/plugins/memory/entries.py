"""What is remembered: entries in two stores, and how full a store is.

Sizes are counted as Hermes does: characters (`len`) of all entries joined by the delimiter.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal
from uuid import UUID

from cos.agent.text import visible

Target = Literal["memory", "user"]

MARK: Final = "§"
DELIMITER: Final = f"\n{MARK}\n"
_PREVIEW: Final = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One row of `memory_entries`."""

    number: int
    target: Target
    content: str
    session_id: UUID | None
    """The session whose turn wrote these words; None = the user did."""
    changed_at: datetime


def contents_of(entries: Iterable[Entry]) -> list[str]:
    return [entry.content for entry in entries]


def size_of(contents: Sequence[str]) -> int:
    """Characters of a store that holds these entries."""
    return len(DELIMITER.join(contents))


def usage_words(size: int, limit: int) -> str:
    """How full a store is, such as `67% — 1,474/2,200 chars`."""
    return f"{percent(size, limit)}% — {size:,}/{limit:,} chars"


def percent(size: int, limit: int) -> int:
    return min(100, 100 * size // limit)


def preview(content: str) -> str:
    """The first 80 characters on one line, hidden ones made visible."""
    line = " ".join(content.split())
    return visible(line if len(line) <= _PREVIEW else f"{line[:_PREVIEW]}…")
