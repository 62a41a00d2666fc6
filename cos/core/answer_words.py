"""How a request was answered and by whom, in words. The same in every surface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from cos.agent.text import visible

if TYPE_CHECKING:
    from cos.agent.records import ApprovalAnswer

_PLACES: Final = {"tui": "app", "web": "browser", "cli": "shell"}


def by_whom(answered_by: str | None) -> str:
    """`by you (app)`, `by cos ask`; empty when nobody is named. On one line, and safe for a terminal."""
    if not answered_by:
        return ""
    place = _PLACES.get(answered_by)
    return f"by you ({place})" if place else f"by {' '.join(visible(answered_by).split())}"


def decided(answer: ApprovalAnswer) -> str:
    """`denied by you (app)`; only the decision when nobody is named."""
    return f"{answer.decision} {by_whom(answer.answered_by)}".rstrip()
