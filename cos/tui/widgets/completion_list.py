"""What fits to the text at the cursor, above the composer: one row each, one of them chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len
from rich.console import Group
from rich.text import Text
from textual.widgets import Static

from cos.agent.text import exact
from cos.tui.widgets.columns import Columns

ROWS = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One row."""

    value: str
    """What is taken when it is chosen."""
    label: str
    detail: str = ""


class CompletionList(Static):
    """Hidden while it is empty. It never has the focus: whoever shows it hands it the keys."""

    DEFAULT_CSS = """
    CompletionList {
        display: none;
        height: auto;
        margin: 0 1;
        padding: 0 1;
        background: $panel;
        text-wrap: nowrap;
        text-overflow: ellipsis;
    }
    """

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id, markup=False)
        self._choices: Sequence[Choice] = ()
        self._at = 0
        self._note = ""

    @property
    def is_open(self) -> bool:
        return bool(self.display)

    @property
    def chosen(self) -> Choice | None:
        return self._choices[self._at] if self._choices else None

    def show(self, choices: Sequence[Choice], note: str = "", *, keep: bool = False) -> None:
        """Set all rows. `note` stands below them, or alone. With `keep` the row that is chosen stays so."""
        kept = self.chosen if keep else None
        self._choices, self._note = choices, note
        self._at = choices.index(kept) if kept in choices else 0
        self.display = bool(choices or note)
        self._draw()

    def close(self) -> None:
        self.show(())

    def move(self, step: int) -> None:
        """Choose another row; from the last one to the first."""
        if self._choices:
            self._at = (self._at + step) % len(self._choices)
            self._draw()

    def _draw(self) -> None:
        top = max(0, min(self._at - ROWS // 2, len(self._choices) - ROWS))
        shown = self._choices[top : top + ROWS]
        left = len(self._choices) - len(shown)
        note = " · ".join(
            piece for piece in (f"{self._at + 1} of {len(self._choices)}" if left else "", self._note) if piece
        )
        below = [Text(f"  {note}", style="dim")] if note else []
        rows = [_row(choice, place == self._at - top) for place, choice in enumerate(shown)]
        if any(choice.detail for choice in self._choices):
            widest = max(cell_len(choice.label) for choice in self._choices)
            self.update(Group(Columns(rows=rows, widest=widest), *below))
        else:
            self.update(Text("\n").join([*(Text(" ").join(row[:2]) for row in rows), *below]))


def _row(choice: Choice, is_chosen: bool) -> tuple[Text, Text, Text]:
    mark = Text("›", "bold") if is_chosen else Text(" ")
    label = Text(_one_line(choice.label), "bold reverse" if is_chosen else "")
    return mark, label, Text(_one_line(choice.detail), "dim")


def _one_line(text: str) -> str:
    """As `wording.one_line`, but blanks count: they are part of a path."""
    return exact(text).replace("\n", "\u240a").replace("\t", "\u2409")
