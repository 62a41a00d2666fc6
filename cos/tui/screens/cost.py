"""What everything cost, on the whole screen: the last 14 days, a table by what the user chooses, and the way down from
a group to its sessions and from a session to its calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from rich.text import Text
from textual import on, work
from textual.binding import Binding, BindingType
from textual.coordinate import Coordinate
from textual.screen import ModalScreen
from textual.widgets import DataTable, Static

from cos.agent.errors import CosError
from cos.tui import cost_words, wording
from cos.tui.cost_tables import BUDGETS, FIXED, SPANS, Layer, Table, days_of, table_of
from cos.tui.screens.budget_more import BudgetMore
from cos.tui.widgets.key_hints import KeyHints

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from uuid import UUID

    from textual.app import ComposeResult

    from cos.tui.cost_keeper import CostKeeper
    from cos.tui.cost_port import Bill, BudgetState, DayCost, Figures

GRANTED_BY = "tui"


class CostScreen(ModalScreen[None]):
    """Changes nothing but what the user adds to a budget."""

    DEFAULT_CSS = """
    CostScreen { background: $background; }
    CostScreen > Static { height: auto; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; }
    CostScreen > .path { background: $panel; text-style: bold; }
    CostScreen > .groupings { color: $text-muted; }
    CostScreen > .plot { color: $primary; margin: 1 0 0 0; }
    CostScreen > .total { margin: 0 0 1 0; text-wrap: wrap; }
    CostScreen > .note { color: $text-muted; text-wrap: wrap; }
    CostScreen > .note.-trouble { color: $text-error; }
    CostScreen > DataTable { height: 1fr; min-height: 3; background: $background; }
    """
    AUTO_FOCUS = "DataTable"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "Back"),
        Binding("tab", "turn(1)", "Next grouping", priority=True),
        Binding("shift+tab", "turn(-1)", "Grouping before", show=False, priority=True),
        *(Binding(str(number), f"by({number - 1})", show=False) for number in range(1, 8)),
        Binding("d", "days", "Days"),
        Binding("o", "more", "Allow more"),
    ]
    """
    | Key | |
    | :- | :- |
    | escape | One layer up; from the first one, close. |
    | tab, 1 to 7 | Group by the tag key, tag, profile, model, session or day; 7: the budgets. |
    | d | The last 14 days, today, or all time. |
    | o | Let a budget spend more, once. |
    """

    def __init__(self, bill: Bill, keeper: CostKeeper, session_id: UUID | None, by: str | None = None) -> None:
        """`session_id`: the open session. `by`: as `Layer.by`; None = the configured tag key."""
        super().__init__()
        self._bill = bill
        self._keeper = keeper
        self._session_id = session_id
        first = by if by and by.startswith("tag:") else f"tag:{bill.tag_key}"
        self._groupings = (first, *FIXED, BUDGETS)
        self._layers = [Layer(by=by or first)]
        self._span = SPANS[0]
        self._shown: Layer | None = None
        self._table = Table((), frozenset(), ())

    def compose(self) -> ComposeResult:
        yield Static(classes="path", markup=False)
        yield Static(classes="groupings", markup=False)
        yield Static(classes="plot", markup=False)
        yield Static("reading …", classes="total", markup=False)
        yield DataTable[Text](cursor_type="row", zebra_stripes=False)
        yield Static(classes="note", markup=False)
        yield KeyHints()

    def on_mount(self) -> None:
        self._keeper.watchers.append(self.reload)
        self.reload()

    def on_unmount(self) -> None:
        self._keeper.watchers.remove(self.reload)

    def on_resize(self) -> None:
        self.reload()

    @work(group="cost-view", exclusive=True, exit_on_error=False)
    async def reload(self) -> None:
        """Read what is on screen; a newer wish takes the place of one that is still being read."""
        layer, span = self._layers[-1], self._span
        self._say(".path", f"Cost · {self._path(layer, span)}")
        self.query_one(".groupings", Static).update(self._named_groupings())
        try:
            table = await table_of(self._bill, layer, span, self._session_id, self.size.width)
            total = await self._bill.total(await days_of(self._bill, span))
            days = await self._bill.last_days()
        except CosError as error:
            self._note(str(error), is_trouble=True)
            return
        self._say(".plot", plot(days, self.size.width, 6 if self.size.height >= 36 else 3))
        self._say(".total", _total(span, total))
        self._fill(layer, table)
        self._note(table.note, is_trouble=False)

    def _named_groupings(self) -> Text:
        """What the digits stand for."""
        chosen = self._layers[0].by
        names = [(f"{number} {by.removeprefix('tag:')}", by) for number, by in enumerate(self._groupings, 1)]
        return Text("  ").join(Text(name, "bold reverse" if by == chosen else "") for name, by in names)

    def _path(self, layer: Layer, span: str) -> str:
        is_timeless = layer.kind == "calls" or layer.by == BUDGETS
        return layer.path if is_timeless else f"{span} · {layer.path}"

    def _fill(self, layer: Layer, table: Table) -> None:
        """The cursor stays where it was, unless this is another table."""
        widget = self.query_one(DataTable)
        row = widget.cursor_row if layer == self._shown else 0
        self._shown, self._table = layer, table
        widget.clear(columns=True)
        for number, name in enumerate(table.head):
            width = max(cell_len(cell) for cell in (name, *(line.cells[number] for line in table.rows)))
            widget.add_column(Text(name, justify="left" if number in table.left else "right"), width=width)
        for line in table.rows:
            widget.add_row(
                *(
                    Text(cell, justify="left" if number in table.left else "right", no_wrap=True)
                    for number, cell in enumerate(line.cells)
                )
            )
        if table.rows:
            widget.cursor_coordinate = Coordinate(min(row, len(table.rows) - 1), 0)

    def _say(self, where: str, text: str) -> None:
        self.query_one(where, Static).update(Text(text))

    def _note(self, text: str, *, is_trouble: bool) -> None:
        note = self.query_one(".note", Static)
        note.set_class(is_trouble, "-trouble")
        note.update(Text(f"✗ {wording.one_line(text)}" if is_trouble else text))

    @on(DataTable.RowSelected)
    def _go_down(self, event: DataTable.RowSelected) -> None:
        if self._shown == self._layers[-1] and event.cursor_row < len(self._table.rows):
            row = self._table.rows[event.cursor_row]
            if row.budget is not None:
                self.action_more()
            elif row.below is not None:
                self._layers.append(row.below)
                self.reload()

    def action_back(self) -> None:
        """One layer at a time."""
        if len(self._layers) == 1:
            self.dismiss()
        else:
            self._layers.pop()
            self.reload()

    def action_by(self, number: int) -> None:
        self._layers = [Layer(by=self._groupings[number])]
        self.reload()

    def action_turn(self, step: int) -> None:
        self.action_by((self._groupings.index(self._layers[0].by) + step) % len(self._groupings))

    def action_days(self) -> None:
        self._span = SPANS[(SPANS.index(self._span) + 1) % len(SPANS)]
        self.reload()

    @work(group="cost-more", exclusive=True, exit_on_error=False)
    async def action_more(self) -> None:
        """Ask for an amount for the chosen budget; elsewhere, go to the budgets first."""
        if self._layers[-1].by != BUDGETS or self._shown != self._layers[-1]:
            self.action_by(len(self._groupings) - 1)
            return
        widget = self.query_one(DataTable)
        state = self._table.rows[widget.cursor_row].budget if self._table.rows else None
        if state is not None and await self.app.push_screen_wait(BudgetMore(state, self._allowing(state))):
            self._keeper.moved()
            self.reload()

    def _allowing(self, state: BudgetState) -> Callable[[str], Awaitable[None]]:
        async def allow(amount: str) -> None:
            await self._bill.override(state, self._bill.amount(amount), GRANTED_BY)

        return allow


def plot(days: Sequence[DayCost], width: int, height: int) -> str:
    """Upright bars over the days of the month, with the highest amount beside the top."""
    cells = max(2, min(8, (width - 14) // max(1, len(days))))
    amounts = [day.cost_usd for day in days]
    lines = cost_words.columns(amounts, height, cells)
    most = max(days, key=lambda day: day.cost_usd)
    lines[0] += f" {cost_words.dollars(most.cost_usd, most.made_up_usd)}"
    lines.append("".join(f"{day.day:%d}".ljust(cells) for day in days) + " days")
    return "\n".join(lines)


def _total(span: str, total: Figures) -> str:
    pieces = [
        f"{span}: {cost_words.cost(total)}",
        f"{total.calls:,} call{'' if total.calls == 1 else 's'}",
        cost_words.tokens(total),
        cost_words.caching(total),
        cost_words.apart(total),
    ]
    return " · ".join(piece for piece in pieces if piece)
