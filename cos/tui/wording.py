"""How times, amounts and states are worded on screen. Every state has a glyph and a word, never colour alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING

from cos.agent.text import visible

if TYPE_CHECKING:
    from cos.agent.events import Usage
    from cos.agent.messages import Compaction

_LEAST_SHOWN = Decimal("0.00005")


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


def span(length: timedelta) -> str:
    """As `duration`, but in the largest unit alone: `42s`, `5m`, `3h`, `2d`."""
    seconds = max(0, int(length.total_seconds()))
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"


def age(moment: datetime) -> str:
    """How long ago, in the largest unit: `now`, `5m`, `3h`, `2d`."""
    passed = now() - moment
    return span(passed) if passed >= timedelta(minutes=1) else "now"


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


def money(amount: Decimal) -> str:
    """`$1,234.57`, below $1000 with four digits, because single calls cost fractions of a cent; `<$0.0001`."""
    if 0 < amount < _LEAST_SHOWN:
        return "<$0.0001"
    sign, amount = ("-", -amount) if amount < 0 else ("", amount)
    return f"{sign}${amount:,.4f}" if amount < 1000 else f"{sign}${amount:,.2f}"


def compacted(compaction: Compaction, summary: str) -> str:
    """`Compacted: 84 messages are now a summary of 1,200 tokens`; in characters when nobody counted the tokens."""
    count = compaction.messages
    size = f"{compaction.tokens:,} tokens" if compaction.tokens else f"{len(summary):,} characters"
    return f"Compacted: {count:,} message{' is' if count == 1 else 's are'} now a summary of {size}"


def one_line(text: str) -> str:
    """Text of any origin as one line that a terminal may receive."""
    return " ".join(visible(text).split())
