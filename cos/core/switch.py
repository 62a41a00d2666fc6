"""Environment variables that are on or off."""

from __future__ import annotations

_MEANINGS = {"1": True, "true": True, "yes": True, "on": True, "0": False, "false": False, "no": False, "off": False}


def switched(text: str) -> bool | None:
    """Whether the value of a variable means on or off; None when it means neither."""
    return _MEANINGS.get(text.strip().lower())
