"""Tables of Markdown: columns shrink and wrap to the width; without room for that each row becomes a short list."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rich.cells import cell_len

from cos.tui.transcript.lines import make_line, paragraph, wrap

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cos.tui.transcript.lines import Line, Run
    from cos.tui.transcript.look import Look

Cell = list["Run"]
_GAP = 2
_NARROWEST = 4


class Table(NamedTuple):
    rows: list[list[Cell]]
    """The first one is the header."""
    aligned: list[str]
    """left, center or right for each column."""


def table_lines(table: Table, width: int, look: Look, lead: Sequence[Run]) -> Iterator[Line]:
    room = width - sum(cell_len(text) for text, _ in lead)
    columns = len(table.aligned)
    if room < columns * (_NARROWEST + _GAP):
        yield from _records(table, width, look, lead)
        return
    widths = _widths(table, room - _GAP * (columns - 1))
    for number, row in enumerate(table.rows):
        yield from _row(row, widths, table.aligned, width, look, lead)
        if number == 0:
            rule = (" " * _GAP).join("─" * size for size in widths)
            yield make_line([(rule, look.rule)], width, look, lead=lead)


def _widths(table: Table, room: int) -> list[int]:
    """Column widths that fit: narrow columns keep what they need, the wide ones share the rest evenly."""
    needed = [max(1, *(_cells(row[column]) for row in table.rows)) for column in range(len(table.aligned))]
    found = list(needed)
    left = room
    open_columns = sorted(range(len(needed)), key=lambda column: needed[column])
    while open_columns:
        share = left // len(open_columns)
        column = open_columns.pop(0)
        found[column] = min(needed[column], max(1, share))
        left -= found[column]
    return found


def _cells(cell: Cell) -> int:
    return sum(cell_len(text) for text, _ in cell)


def _row(
    row: list[Cell], widths: list[int], aligned: list[str], width: int, look: Look, lead: Sequence[Run]
) -> Iterator[Line]:
    wrapped = [[piece for piece, _ in wrap(cell, size)] for cell, size in zip(row, widths, strict=True)]
    for number in range(max(map(len, wrapped))):
        runs: list[Run] = []
        for column, pieces in enumerate(wrapped):
            piece = pieces[number] if number < len(pieces) else []
            spare = max(0, widths[column] - _cells(piece))
            before = {"right": spare, "center": spare // 2}.get(aligned[column], 0)
            after = spare - before + (_GAP if column < len(widths) - 1 else 0)
            runs.extend([(" " * before, look.base), *piece, (" " * after, look.base)])
        yield make_line(runs, width, look, lead=lead)


def _records(table: Table, width: int, look: Look, lead: Sequence[Run]) -> Iterator[Line]:
    header, *rows = table.rows
    for number, row in enumerate(rows):
        if number:
            yield make_line([], width, look, lead=lead)
        for name, cell in zip(header, row, strict=True):
            yield from paragraph([*name, (": ", look.muted), *cell], width, look, lead=lead)
