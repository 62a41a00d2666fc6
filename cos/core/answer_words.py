"""Who answered a request, in words. The same in every surface."""

from __future__ import annotations

from typing import Final

from cos.agent.text import visible

_PLACES: Final = {"tui": "app", "web": "browser", "cli": "shell"}


def by_whom(answered_by: str | None) -> str:
    """`by you (app)`, `by cos ask`; empty when nobody is named. On one line, and safe for a terminal."""
    if not answered_by:
        return ""
    place = _PLACES.get(answered_by)
    return f"by you ({place})" if place else f"by {' '.join(visible(answered_by).split())}"
