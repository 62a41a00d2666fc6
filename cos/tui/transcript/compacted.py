"""The place in a conversation where it was compacted: one line, and the summary when it is unfolded."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from cos.tui.transcript.entries import MOST_PLAIN_LINES, Entry, fold_mark
from cos.tui.transcript.lines import GUTTER, paragraph, plain_lines

if TYPE_CHECKING:
    from cos.tui.transcript.lines import Line, Run
    from cos.tui.transcript.look import Look


@dataclass(kw_only=True, eq=False)
class Compacted(Entry):
    """From here on the model sees `summary` in place of all that stands above."""

    title: str
    summary: str

    @property
    def foldable(self) -> bool:
        return True

    @property
    def folds_itself(self) -> bool:
        return True

    def lines(self, width: int, look: Look) -> list[Line]:
        lead: list[Run] = [(" " * GUTTER, look.base)]
        head = f"{fold_mark(self.is_folded)}{self.title}"
        found = list(paragraph([(head, look.muted)], width - 1, look, lead=lead))
        if not self.is_folded:
            bar = [*lead, ("▏ ", look.rule)]
            body = plain_lines(self.summary.strip("\n"), look.muted, width - 1, look, lead=bar)
            found.extend(islice(body, MOST_PLAIN_LINES))
        return [line._replace(strip=line.strip.adjust_cell_length(width, look.base)) for line in found]

    def whole(self) -> str:
        return f"{self.title}\n\n{self.summary}"

    def estimate(self, width: int) -> int:
        return 1 if self.is_folded else super().estimate(width)
