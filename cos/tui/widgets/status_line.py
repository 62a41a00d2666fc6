"""One line under everything: profile, tags, model, context, tokens, cost and the database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual.reactive import reactive
from textual.widgets import Static

from cos.tui import wording

_GAP = 3
WARN, FULL = 60, 85
"""Percent of the window from which on the meter warns, and says that it is nearly full."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What the line says."""

    profile: str = ""
    tags: tuple[str, ...] = ()
    model: str = ""
    context: str = ""
    """How full the context is."""
    context_percent: int | None = None
    """The same as a figure; None = unknown."""
    used: str = ""
    """Tokens of this session so far."""
    cost: str = ""
    """Of today; empty without CommonBill."""
    database: str = ""
    """Whether it answers."""
    note: str = "starting"
    """What is going on: at start, while stopping, or why the database does not answer."""


class StatusLine(Static):
    """Draws a `Status`."""

    DEFAULT_CSS = """
    StatusLine {
        height: 1;
        padding: 0 1;
        background: $panel;
        color: $foreground 70%;
        text-wrap: nowrap;
        text-overflow: ellipsis;
        & > .status--filling { color: $text-warning; text-style: bold; }
        & > .status--full { color: $text-error; text-style: bold; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"status--filling", "status--full"}

    status: reactive[Status] = reactive(Status())

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, markup=False)
        self._is_last = False

    def say_last(self, note: str) -> None:
        """Whatever happens from now on, this is what stands here."""
        self.status = Status(note=note)
        self._is_last = True

    def validate_status(self, status: Status) -> Status:
        return self.status if self._is_last else status

    def watch_status(self) -> None:
        self._draw()

    def on_resize(self) -> None:
        self._draw()

    def _draw(self) -> None:
        """As many pieces as fit whole, in their order; a width of 0 is not known yet."""
        status, width = self.status, self.content_size.width
        pieces = [
            (status.note, "bold", 0),
            (status.profile, "", 1),
            (" ".join(status.tags), "", 6),
            (status.model, "", 4),
            (status.context, self._meter_style(status.context_percent), 2),
            (status.used, "", 7),
            (status.cost, "", 3),
            (status.database, "", 5),
        ]
        shown = [(Text(wording.one_line(text), style), rank) for text, style, rank in pieces if text]
        while width and len(shown) > 1 and sum(piece.cell_len + _GAP for piece, _ in shown) - _GAP > width:
            shown.remove(max(shown, key=lambda piece: piece[1]))
        self.update(Text(" · ").join(piece for piece, _ in shown))

    def _meter_style(self, percent: int | None) -> str | Style:
        if percent is None or percent < WARN:
            return ""
        return self.get_component_rich_style("status--full" if percent >= FULL else "status--filling", partial=True)
