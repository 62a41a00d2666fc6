"""The messages that wait for their turn, above the composer; nothing when none waits."""

from __future__ import annotations

from collections.abc import Sequence

from rich.text import Text
from textual.widgets import Static

from cos.tui import wording

MOST = 3


class QueueStrip(Static):
    """One line a message, the first three of them."""

    DEFAULT_CSS = """
    QueueStrip {
        display: none;
        height: auto;
        padding: 0 2;
        color: $foreground 70%;
        text-wrap: nowrap;
        text-overflow: ellipsis;
    }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, markup=False)

    def show(self, texts: Sequence[str], why: str) -> None:
        """`why` says what they wait for."""
        lines = [f"» {wording.one_line(text)}" for text in texts[:MOST]]
        more = f" and {len(texts) - MOST} more" if len(texts) > MOST else ""
        head = f"{len(texts)} waiting{more}: {why}" if texts else ""
        self.display = bool(texts)
        self.update(Text("\n".join([head, *lines]) if texts else ""))
