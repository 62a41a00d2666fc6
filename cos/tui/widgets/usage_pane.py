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
        border: round $foreground 25%;
        border-title-color: $foreground 70%;
        padding: 0 1;
    }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, markup=False)
        self.border_title = "Usage"

    def show(self, session: Usage, everything: Usage) -> None:
        text = Text(no_wrap=True, overflow="ellipsis")
        for name, usage in (("this session", session), ("all met here", everything)):
            text.append(f"{name}  ", style="dim")
            text.append(f"{wording.tokens(usage.prompt_tokens)} in · {wording.tokens(usage.output_tokens)} out")
            text.append("\n")
        text.append("tokens", style="dim")
        self.update(text)
