"""Tokens of the open session and of all sessions of this run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text
from textual.widgets import Static

from cos.tui import wording

if TYPE_CHECKING:
    from cos.agent.events import Usage


class UsagePane(Static):
    """Draws two figures. What no provider reported is a question mark."""

    DEFAULT_CSS = """
    UsagePane {
        height: auto;
        border: round $foreground 35%;
        border-title-color: $foreground 70%;
        padding: 0 1;
        text-wrap: nowrap;
        text-overflow: ellipsis;
    }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, markup=False)
        self.border_title = "Usage, tokens"

    def show(self, session: Usage, everything: Usage) -> None:
        lines = []
        for name, usage in (("session", session), ("all here", everything)):
            figures = f"{wording.tokens(usage.prompt_tokens)} in · {wording.tokens(usage.output_tokens)} out"
            lines.append(Text.assemble((f"{name:<10}", "dim"), figures))
        self.update(Text("\n").join(lines))
