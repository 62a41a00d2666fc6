"""What a row of the list says of its session: a glyph and words for the state, never colour alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from cos.agent.records import TurnStatus
from cos.tui import wording

if TYPE_CHECKING:
    from datetime import datetime

    from cos.core.profiles import Profile
    from cos.core.sessions import SessionRow
    from cos.tui.session_activity import Activity

Tone = Literal["waiting", "active", "news", "failed", "quiet"]

GLYPHS: Final = {
    "waiting for approval": "!",
    "waiting for an answer": "?",
    "thinking": "◐",
    "tool": "◆",
    "retrying": "↻",
    "running": "●",
    "queued": "»",
    "queue paused": "‖",
    "request expired": "◷",
    "done unseen": "✓",
    "failed": "✗",
    "cancelled": "⊘",
    "interrupted": "↯",
    "archived": "▫",
    "idle": "○",
}


@dataclass(frozen=True, slots=True)
class RowState:
    """How a session is."""

    word: str
    """A key of `GLYPHS`."""
    words: str
    """The whole of it, with how long and how many."""
    tone: Tone

    @property
    def glyph(self) -> str:
        return GLYPHS[self.word]


def state_of(row: SessionRow, activity: Activity | None, now: datetime) -> RowState:
    """The most pressing state. `activity` is what the running turn does, when it runs in this process."""
    if row.waiting:
        word = "waiting for approval" if row.waiting_kind == "tool_call" else "waiting for an answer"
        since = f" {wording.span(now - row.waiting_since)}" if row.waiting_since else ""
        return RowState(word, f"{word}{since}{f' ({row.waiting})' if row.waiting > 1 else ''}", "waiting")
    if row.is_running:
        return _running(row, activity, now)
    if row.queued:
        if row.turn_status is TurnStatus.INTERRUPTED:
            wait = f"{row.queued} wait{'s' if row.queued == 1 else ''}"
            return RowState("interrupted", f"interrupted, {wait}, paused", "failed")
        word = "queue paused" if row.queue_paused else "queued"
        return RowState(word, f"{word} {row.queued}", "active")
    return _resting(row)


def _running(row: SessionRow, activity: Activity | None, now: datetime) -> RowState:
    word, what, since = ("running", "running", row.turn_started_at)
    if activity is not None:
        word, since = activity.word, activity.since
        what = f"{word} {wording.one_line(activity.tool)}" if activity.tool else word
    length = f" {wording.span(now - since)}" if since else ""
    queued = f", queued {row.queued}" if row.queued else ""
    return RowState(word, f"{what}{length}{queued}", "active")


def _resting(row: SessionRow) -> RowState:
    if row.is_archived:
        return RowState("archived", "archived", "quiet")
    status = str(row.turn_status) if row.turn_status else "idle"
    if status in {"failed", "cancelled", "interrupted"}:
        tone: Tone = "failed" if status != "cancelled" else "quiet"
        return RowState(status, f"{status} unseen" if row.is_unseen else status, tone)
    if row.is_unseen:
        word = "request expired" if row.has_expired else "done unseen"
        return RowState(word, word, "news")
    return RowState("idle", "idle", "quiet")


def implied_tags(row: SessionRow, parent: SessionRow | None, profile: Profile | None) -> set[str]:
    """Tags that a row need not say: a child has those of its parent's turn, which are the profile's and the session's.

    None = it is not known.
    """
    if row.parent_session_id is None:
        return set()
    return {*map(str, profile.settings.tags if profile else ()), *(parent.tags if parent else ())}


def context_share(row: SessionRow) -> float | None:
    """How full the context is, 0 to 1; None when nobody knows."""
    return row.context.share if row.context else None
