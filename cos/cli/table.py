"""Columns of text for a terminal, aligned by the cells that characters take."""

from __future__ import annotations

from collections.abc import Sequence

from cos.agent.text import cells, clusters, visible

_CUT = "…"


def table(head: Sequence[str], rows: Sequence[Sequence[str]], *, widest: int = 44) -> str:
    """`rows` under `head`. What does not fit into `widest` cells is cut, except in the last column."""
    lines = [list(head), *([_one_line(cell) for cell in row] for row in rows)]
    for line in lines:
        line[:-1] = [fitted(cell, widest) for cell in line[:-1]]
    widths = [max(cells(line[column]) for line in lines) for column in range(len(head) - 1)]
    return "\n".join(_aligned(line, widths) for line in lines)


def fitted(text: str, width: int) -> str:
    """`text`, cut between whole visible characters so that it takes at most `width` cells."""
    if cells(text) <= width:
        return text
    kept, used = "", cells(_CUT)
    for cluster in clusters(text):
        used += cells(cluster)
        if used > width:
            break
        kept += cluster
    return kept + _CUT


def _one_line(cell: str) -> str:
    return " ".join(visible(cell).split())


def _aligned(line: list[str], widths: Sequence[int]) -> str:
    padded = [cell + " " * (width - cells(cell)) for cell, width in zip(line[:-1], widths, strict=True)]
    return "  ".join([*padded, line[-1]]).rstrip()
