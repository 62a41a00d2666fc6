"""How times, amounts and states are worded on screen. Every state has a glyph and a word, never colour alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final

from cos.agent.text import visible

if TYPE_CHECKING:
    from cos.agent.events import Usage
    from cos.agent.messages import Compaction

STATES: Final = {
    "running": "●",
    "waits for you": "!",
    "queued": "»",
    "paused": "‖",
    "failed": "✗",
    "cancelled": "⊘",
    "interrupted": "↯",
    "idle": "○",
}


def now() -> datetime:
    return datetime.now(UTC)


def moment(at: datetime) -> str:
    """The minute in the user's time zone, with the date unless it is today."""
    local = at.astimezone()
    return local.strftime("%H:%M" if local.date() == now().astimezone().date() else "%Y-%m-%d %H:%M")


def duration(span: timedelta) -> str:
    """`42s`, `5m 23s`, `1h 2m`: floored, never negative."""
    seconds = max(0, int(span.total_seconds()))
    if seconds < 60:
        return f"{seconds}s"
    if seconds < 3600:
        return f"{seconds // 60}m {seconds % 60}s"
    return f"{seconds // 3600}h {seconds % 3600 // 60}m"


def age(moment: datetime) -> str:
    """How long ago, in the largest unit: `now`, `5m`, `3h`, `2d`."""
    seconds = max(0, int((now() - moment).total_seconds()))
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return "now"


def tokens(count: int | None) -> str:
    """`950`, `12.3k`, `1.2M`; a count that nobody reported is a question mark, not a zero."""
    if count is None:
        return "?"
    if count < 1000:
        return str(count)
    if count < 1_000_000:
        return f"{count / 1000:.1f}k"
    return f"{count / 1_000_000:.1f}M"


def usage(total: Usage) -> str:
    """`12.3k in · 450 out tokens`; `450+` when a call was cut before its total was known, `?` when nobody told."""
    at_least = "+" if total.is_partial else ""
    return f"{tokens(total.prompt_tokens)} in · {tokens(total.output_tokens)}{at_least} out tokens"


def compacted(compaction: Compaction, summary: str) -> str:
    """`Compacted: 84 messages are now a summary of 1,200 tokens`; in characters when nobody counted the tokens."""
    count = compaction.messages
    size = f"{compaction.tokens:,} tokens" if compaction.tokens else f"{len(summary):,} characters"
    return f"Compacted: {count:,} message{' is' if count == 1 else 's are'} now a summary of {size}"


def one_line(text: str) -> str:
    """Text of any origin as one line that a terminal may receive."""
    return " ".join(visible(text).split())
