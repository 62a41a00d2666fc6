"""A unified diff as lines: the signs stay, so that it reads the same without colour."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cos.tui.transcript.lines import clean, clip, make_line, wrap

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rich.style import Style

    from cos.tui.transcript.lines import Line, Run
    from cos.tui.transcript.look import Look

MOST_LINES = 400


def diff_lines(diff: str, width: int, look: Look, *, lead: Sequence[Run] = ()) -> Iterator[Line]:
    """The diff, at most `MOST_LINES` lines of it; a changed line is coloured across the whole width."""
    rows = diff.rstrip("\n").split("\n", MOST_LINES)
    rest = rows.pop() if len(rows) > MOST_LINES else None
    room = max(1, width - sum(len(text) for text, _ in lead) - 1)
    for row in rows:
        style = _style(row, look)
        fill = style if style in (look.added, look.removed) else None
        for piece, joint in wrap([(clean(clip(row)), style)], room, hard=True):
            yield make_line(piece, width, look, lead=lead, fill=fill, joint=joint)
    if rest is not None:
        note = f"… {rest.count(chr(10)) + 1:,} more lines of this diff"
        yield make_line([(note, look.muted)], width, look, lead=lead)


def counts(diff: str) -> tuple[int, int]:
    """How many lines a unified diff adds and removes."""
    text = "\n" + diff
    return text.count("\n+") - text.count("\n+++ "), text.count("\n-") - text.count("\n--- ")


def _style(row: str, look: Look) -> Style:
    if row.startswith(("+++ ", "--- ", "diff ", "index ", "new file", "deleted file", "rename ", "similarity ")):
        return look.muted
    if row.startswith("@@"):
        return look.hunk
    if row.startswith("+"):
        return look.added
    if row.startswith("-"):
        return look.removed
    return look.base
