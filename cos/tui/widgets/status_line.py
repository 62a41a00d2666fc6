"""One line under everything: profile, tags, model, context, tokens and the database."""

from __future__ import annotations

from dataclasses import dataclass

from rich.text import Text
from textual.reactive import reactive
from textual.widgets import Static

from cos.agent.text import visible
from cos.tui import wording


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """What the line says."""

    profile: str = ""
    tags: tuple[str, ...] = ()
    model: str = ""
    context_tokens: int | None = None
    context_window: int | None = None
    used: str = ""
    """Tokens of this session so far."""
    note: str = "starting"
    """State of the database, or what is going on at start."""


class StatusLine(Static):
    """Draws a `Status`."""

    DEFAULT_CSS = """
    StatusLine { height: 1; padding: 0 1; background: $panel; color: $text-muted; }
    """

    status: reactive[Status] = reactive(Status())

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, markup=False)

    def watch_status(self, status: Status) -> None:
        pieces = [status.profile, " ".join(status.tags), status.model, _context(status), status.used, status.note]
        text = Text(" · ".join(visible(piece) for piece in pieces if piece), no_wrap=True, overflow="ellipsis")
        self.update(text)


def _context(status: Status) -> str:
    if status.context_tokens is None:
        return ""
    if not status.context_window:
        return f"ctx {wording.tokens(status.context_tokens)}"
    share = round(100 * status.context_tokens / status.context_window)
    return f"ctx {wording.tokens(status.context_tokens)} ({share}%)"
