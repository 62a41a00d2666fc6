"""One line under everything: profile, tags, model, context, tokens, cost and the database."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual.reactive import reactive
from textual.widgets import Static

from cos.tui import wording

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

    def watch_status(self, status: Status) -> None:
        """What is going on comes first: a narrow terminal cuts the end."""
        pieces = [
            (status.note, "bold"),
            (status.profile, ""),
            (" ".join(status.tags), ""),
            (status.model, ""),
            (status.context, self._meter_style(status.context_percent)),
            (status.used, ""),
            (status.cost, ""),
            (status.database, ""),
        ]
        shown = [(wording.one_line(text), style) for text, style in pieces if text]
        self.update(Text(" · ").join(Text(text, style) for text, style in shown))

    def _meter_style(self, percent: int | None) -> str | Style:
        if percent is None or percent < WARN:
            return ""
        return self.get_component_rich_style("status--full" if percent >= FULL else "status--filling", partial=True)
