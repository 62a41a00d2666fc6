"""How one session is drawn in the list: two lines of exactly the width of the view."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from rich.style import Style

from cos.core.fork_titles import marker_first
from cos.tui import cost_words, wording
from cos.tui.session_words import context_share, state_of
from cos.tui.transcript.lines import make_line, one_line, shorten

if TYPE_CHECKING:
    from collections.abc import Collection
    from datetime import datetime

    from textual.strip import Strip

    from cos.tui.cost_port import SessionCost
    from cos.tui.session_activity import Activity
    from cos.tui.session_rows import Shown
    from cos.tui.session_words import Tone
    from cos.tui.transcript.look import Look

LINES: Final = 2
ROOM_FOR_LABELS: Final = 34
"""Cells from which on the context is labelled."""
ROOM_FOR_MORE: Final = 8
"""Cells that are left to tags and profile where own cost and that of children stand apart."""
CONTEXT_HIGH, CONTEXT_FULL = 0.60, 0.85
_BOLD: Final = Style(bold=True)


@dataclass(frozen=True, slots=True)
class RowText:
    """All that a row depends on; equal texts look the same."""

    head: str
    """Glyph, and how the row is nested."""
    title: str
    context: str
    """How full it is; empty when nobody knows."""
    context_share: float
    age: str
    words: str
    more: str
    """Tags and profile."""
    cost: str
    """With children; empty when nobody knows."""
    costs: str
    """The same, own and children apart."""
    tone: Tone
    indent: int
    is_open: bool


def row_text(
    shown: Shown,
    activity: Activity | None,
    cost: SessionCost | None,
    now: datetime,
    *,
    is_open: bool,
    is_nested: bool,
    implied: Collection[str] = (),
) -> RowText:
    """`implied`: tags that need not be said, such as those of a child's parent."""
    row = shown.row
    state = state_of(row, activity, now)
    share = context_share(row)
    nesting = ""
    if row.children and is_nested:
        nesting = f" {'▾' if shown.is_expanded else '▸'}{row.children}"
    elif row.parent_session_id is not None:
        nesting = " ↳"
    tags = " ".join(f"#{tag}" for tag in row.tags if tag not in implied)
    return RowText(
        head=f"{state.glyph}{nesting} ",
        title=one_line(marker_first(row.title or "untitled")),
        context="" if share is None else f"{round(share * 100)}%",
        context_share=share or 0.0,
        age=wording.age(row.last_activity_at),
        words=state.words,
        more=one_line(" ".join(piece for piece in (tags, f"· {row.profile_id}") if piece)),
        cost=cost_words.known(cost.with_children) if cost else "",
        costs=cost_words.own_and_children(cost) if cost else "",
        tone=state.tone,
        indent=2 * shown.depth,
        is_open=is_open,
    )


def row_strips(text: RowText, width: int, look: Look, *, background: Style | None) -> tuple[Strip, Strip]:
    """`background` is the cursor's when it is on the row."""
    if background is not None:
        look = replace(look, base=look.base + background)
    tone = _tone(text.tone, look)
    lead = [("▌" if text.is_open else " ", look.cursor), (" " * text.indent, look.base)]
    room = max(0, width - 1 - text.indent)
    context = f"ctx {text.context}" if text.context and width >= ROOM_FOR_LABELS else text.context
    right = f" {context} {text.age:>3}"
    title = shorten(text.title, room - cell_len(text.head) - cell_len(right))
    gap = " " * (room - cell_len(text.head) - cell_len(title) - cell_len(right))
    strong = _BOLD if text.is_open or text.tone in {"waiting", "news"} else Style.null()
    first = [
        (text.head, tone),
        (title, strong),
        (gap, look.base),
        (f" {context}", _context(text.context_share, look)),
        (f" {text.age:>3}", look.muted),
    ]
    second = [("  ", look.base), (shorten(f"{text.words} ", room - 2), tone)]
    left = room - 2 - cell_len(text.words) - 1
    cost = text.costs if left >= cell_len(text.costs) + ROOM_FOR_MORE else text.cost
    # What is short of room is left out whole: a part of an amount would be another amount.
    cost = f" {cost}" if cost and left >= cell_len(cost) + 1 else ""
    left -= cell_len(cost)
    more = shorten(text.more, left) if left > 2 else ""
    second += [(more, look.muted), (" " * (left - cell_len(more)), look.base), (cost, look.muted)]
    return make_line(first, width, look, lead=lead).strip, make_line(second, width, look, lead=lead).strip


def _tone(tone: Tone, look: Look) -> Style:
    return {
        "waiting": look.warning + _BOLD,
        "active": look.active,
        "news": look.success,
        "failed": look.error,
        "quiet": look.muted,
    }[tone]


def _context(share: float, look: Look) -> Style:
    if share >= CONTEXT_FULL:
        return look.error
    return look.warning if share >= CONTEXT_HIGH else look.muted
