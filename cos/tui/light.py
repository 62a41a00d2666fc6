"""The light theme. Textual's own has a grey background on which its orange can hardly be read."""

from __future__ import annotations

from typing import Final

from textual.theme import Theme

LIGHT: Final = Theme(
    name="textual-light",
    dark=False,
    primary="#004578",
    secondary="#0165B0",
    accent="#B35900",
    warning="#E08700",
    error="#B3264A",
    success="#2F9E5B",
    background="#F8F8F8",
    surface="#EEEEEE",
    panel="#E2E2E2",
    variables={
        "footer-key-foreground": "#0165B0",
        "text-warning": "#8A5200",
        "text-accent": "#8A5200",
        "text-success": "#1E6B3C",
    },
)
"""It takes the place of the one of its name."""
