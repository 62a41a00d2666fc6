"""What a selection copies: the words of its lines, joined where only the width of the view had broken them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cos.tui.transcript.page import Page, Row


class Edge(NamedTuple):
    """Where a selection starts or ends."""

    order: int
    line: int
    """Line of the entry, without its gap."""
    character: int
    """Of the strip, decoration included."""


def text_between(page: Page, start: Edge | None, end: Edge | None) -> str:
    """The text of the lines from `start` to `end`; None is the edge of the page.

    An entry that lies wholly inside and is not drawn gives its whole text, so that a copy of everything draws nothing.
    """
    first = start or Edge(page.rows[0].order, 0, 0)
    last = end or Edge(page.rows[-1].order, 1 << 60, 0)
    pieces: list[str] = []
    for row in page.rows:
        if first.order <= row.order <= last.order:
            pieces.append("\n" * row.gap if pieces else "")
            if first.order < row.order < last.order and row.drawn is None:
                pieces.append(row.entry.plain() + "\n")
            else:
                pieces.extend(_texts(page, row, first, last))
    return "".join(pieces).removesuffix("\n")


def _texts(page: Page, row: Row, first: Edge, last: Edge) -> Iterator[str]:
    for number, line in enumerate(page.drawn(row)):
        place = (row.order, number)
        if not first[:2] <= place <= last[:2]:
            continue
        begin = max(0, first.character - line.lead) if place == first[:2] else 0
        stop = max(0, last.character - line.lead) if place == last[:2] else len(line.text)
        text = line.text[begin:stop]
        yield text.rstrip(" ") if line.joint == "\n" else text
        yield line.joint if place != last[:2] else ""
