"""One line under everything: profile, tags, model, context, tokens and the database."""

from __future__ import annotations

from dataclasses import dataclass

from rich.text import Text
from textual.reactive import reactive
from textual.widgets import Static

from cos.tui import wording


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
    }
    """

    status: reactive[Status] = reactive(Status())

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, markup=False)

    def watch_status(self, status: Status) -> None:
        """What is going on comes first: a narrow terminal cuts the end."""
        pieces = [status.note, status.profile, " ".join(status.tags), status.model, status.context, status.used]
        text = Text(" · ".join(wording.one_line(piece) for piece in pieces if piece))
        if status.note:
            text.stylize("bold", 0, len(wording.one_line(status.note)))
        self.update(text)
