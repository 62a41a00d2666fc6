"""Deny with a reason: the model receives exactly what is written here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.widgets import Input, Static

from cos.tui.screens.request_panel import RequestPanel
from cos.tui.widgets.key_hints import KeyHints

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from cos.tui.widgets.approval_card import Card


@dataclass(frozen=True, slots=True)
class Reason:
    text: str
    is_final: bool
    """False when the user went back and the text is only kept."""


class DenyReason(RequestPanel[Reason]):
    """One line over the card, which stays in view."""

    DEFAULT_CSS = """
    DenyReason { background: $background 40%; align-vertical: bottom; }
    DenyReason > Static { background: $panel; }
    """

    PLACEHOLDER: ClassVar[str] = "Why not?"

    def __init__(self, card: Card, kept: str) -> None:
        """`kept` is what was written before and not sent."""
        super().__init__(card)
        self._kept = kept

    @property
    def prompt(self) -> str:
        return f"{'Decline' if self.card.is_question else 'Deny'}, and tell the model why (Enter)"

    def compose(self) -> ComposeResult:
        yield Static(f"{self.prompt}: {self.heading}", markup=False, classes="title")
        yield Input(self._kept, placeholder=self.PLACEHOLDER, select_on_focus=False)
        yield KeyHints()

    @on(Input.Submitted)
    def _submitted(self, event: Input.Submitted) -> None:
        if event.value.strip():
            self.dismiss(Reason(event.value, is_final=True))

    def action_back(self) -> None:
        self.dismiss(Reason(self.query_one(Input).value, is_final=False))
