"""Names and what they mean, in two columns that both go on below where a line is too short for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console, ConsoleOptions, RenderResult
    from rich.text import Text

_NAME_SHARE: Final = 0.4
"""Of the width, that the names may take at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """Each row: a mark of one cell, a name, what it means."""

    rows: Sequence[tuple[Text, Text, Text]]
    widest: int
    """Cells of the longest name."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = Table.grid(padding=(0, 1, 0, 0))
        table.add_column(width=1)
        table.add_column(width=min(self.widest, int(options.max_width * _NAME_SHARE)))
        table.add_column()
        for row in self.rows:
            table.add_row(*row)
        yield table
