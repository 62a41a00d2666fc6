"""One request for approval: what is known of it, and how it is drawn."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from rich.text import Text

from cos.agent.text import visible
from cos.tui import wording


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One request as the pane draws it."""

    id: UUID
    session_id: UUID
    session_title: str
    profile_id: str
    tool: str
    detail: str
    """The exact and whole text of what would run."""
    reason: str
    risk: str
    cwd: str | None
    requested_at: datetime
    expires_at: datetime


def head_text(card: Card, position: int, count: int) -> Text:
    """Which request it is, who asks, what for, and since when."""
    age = wording.duration(wording.now() - card.requested_at)
    left = wording.duration(card.expires_at - wording.now())
    text = Text()
    if count > 1:
        text.append(f"{position} of {count}  ", style="bold")
    text.append(f"waits {age}, {left} left\n", style="dim")
    text.append(wording.one_line(card.tool), style="bold")
    text.append(f"  {wording.one_line(card.risk)}\n")
    text.append(f"{wording.one_line(card.reason)}\n")
    text.append(f"{wording.one_line(card.session_title)} · {wording.one_line(card.profile_id)}", style="dim")
    if card.cwd:
        text.append(f"\nin {wording.one_line(card.cwd)}", style="dim")
    return text


def detail_text(card: Card) -> Text:
    """Exactly and wholly what would run."""
    return Text(visible(card.detail))
