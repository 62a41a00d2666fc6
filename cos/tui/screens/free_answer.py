"""Answer a question in one's own words: the model receives exactly what is written here."""

from __future__ import annotations

from cos.tui.screens.deny_reason import DenyReason


class FreeAnswer(DenyReason):
    """One line over the card, which stays in view."""

    PLACEHOLDER = "In your own words"

    @property
    def prompt(self) -> str:
        return "Your answer (Enter sends it)"
