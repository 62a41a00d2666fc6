"""What today and the open session cost, how far the budgets are spent, cost by tag, and the last 14 days."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual.widget import Widget

from cos.agent.events import Usage
from cos.tui import cost_words, wording
from cos.tui.cost_keeper import CostShown
from cos.tui.transcript.lines import shorten

if TYPE_CHECKING:
    from textual.geometry import Size

    from cos.tui.cost_port import BudgetState, DayCost, Report, SessionCost

MOST_GROUPS, MOST_BUDGETS = 3, 2
_BAR_CELLS = 7
_LABEL_CELLS = 9
OFF = "cost: plugin bill is off"
WAITING = CostShown(is_on=True, tokens=Usage())


class CostPane(Widget):
    """Draws a `CostShown` for the width it has. What matters most comes first: low terminals cut the end."""

    DEFAULT_CSS = """
    CostPane {
        height: auto;
        border: round $foreground 35%;
        border-title-color: $foreground 70%;
        border-subtitle-color: $foreground 70%;
        padding: 0 1;
        & > .cost--near { color: $text-warning; text-style: bold; }
        & > .cost--spent { color: $text-error; text-style: bold; }
        & > .cost--bar { color: $primary; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"cost--near", "cost--spent", "cost--bar"}

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.border_title = "Cost"
        self._shown = WAITING

    def show(self, shown: CostShown) -> None:
        if shown != self._shown:
            self._shown = shown
            self.refresh(layout=True)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        return len(list(self._lines(width)))

    def render(self) -> Text:
        return Text("\n", no_wrap=True).join(self._lines(self.content_size.width))

    def _lines(self, width: int) -> Iterator[Text]:
        shown, figures = self._shown, self._shown.figures
        if not shown.is_on:
            yield self._tokens(width)
            yield Text(shorten(OFF, width), "dim")
            return
        if shown.trouble:
            yield Text(shorten(f"✗ {wording.one_line(shown.trouble)}", width), self._style("spent"))
        if figures is None:
            yield self._tokens(width)
            return
        yield _named("today", wording.money(figures.today.total.cost_usd), width)
        yield from _apart(cost_words.apart(figures.today.total), width)
        if figures.session is not None and shown.is_of_session:
            yield from _session(figures.session, shown.tokens, width)
        yield self._tokens(width)
        yield from self._budgets(figures.budgets, width)
        yield from self._groups(figures.today, figures.tag_key, width)
        yield self._days(figures.days, width)

    def _tokens(self, width: int) -> Text:
        return Text(shorten(wording.usage(self._shown.tokens), width))

    def _budgets(self, states: Sequence[BudgetState], width: int) -> Iterator[Text]:
        """Those that are nearest to their limit."""
        fullest = sorted(states, key=lambda state: -state.percent)
        for state in fullest[:MOST_BUDGETS]:
            said = f"{cost_words.budget_state(state):>7}"
            right = f"{cost_words.filled(state.percent, _BAR_CELLS)} {said}"
            line = Text(cost_words.left_right(wording.one_line(state.budget.name), right, width))
            level = cost_words.level(state)
            if level:
                line.stylize(self._style(level), len(line) - len(right))
            yield line
        if len(states) > MOST_BUDGETS:
            yield Text(f"and {len(states) - MOST_BUDGETS:,} more budgets (F7)", "dim")

    def _groups(self, report: Report, key: str, width: int) -> Iterator[Text]:
        """The most costly values of the tag key; what has none comes last and is always there."""
        named = [group for group in report.groups if group.label is not None]
        rest = [group for group in report.groups if group.label is None]
        if not named:
            return
        yield Text(shorten(f"today by {key}", width), "dim")
        most = max(group.figures.cost_usd for group in report.groups)
        for group in [*named[:MOST_GROUPS], *rest]:
            amount = cost_words.cost(group.figures)
            name = cost_words.left_right(cost_words.label(group), "", _LABEL_CELLS)
            cells = max(0, min(12, width - _LABEL_CELLS - cell_len(amount) - 1))
            bar = cost_words.bar(group.figures.cost_usd, most, cells)
            line = Text(cost_words.left_right(name + bar, amount, width))
            line.stylize(self._style("bar"), len(name), len(name) + len(bar))
            yield line
        if len(named) > MOST_GROUPS:
            others = sum((group.figures.cost_usd for group in named[MOST_GROUPS:]), Decimal(0))
            more = f"and {len(named) - MOST_GROUPS:,} more"
            yield Text(cost_words.left_right(more, wording.money(others), width), "dim")

    def _days(self, days: Sequence[DayCost], width: int) -> Text:
        total = wording.money(sum((day.cost_usd for day in days), Decimal(0)))
        line = cost_words.sparkline([day.cost_usd for day in days])
        head = f"{len(days)} days "
        if cell_len(head) + len(line) + 1 + len(total) > width:
            head = ""
        return Text(cost_words.left_right(head + line, total, width))

    def _style(self, name: str) -> Style:
        return self.get_component_rich_style(f"cost--{name}", partial=True)


def _session(session: SessionCost, tokens: Usage, width: int) -> Iterator[Text]:
    own, whole = session.own, session.with_children
    # Its calls were made while the plugin was off.
    is_older = not own.calls and (tokens.prompt_tokens or tokens.output_tokens)
    yield _named("session", "not recorded" if is_older else cost_words.cost(own), width)
    if whole.calls != own.calls:
        yield _named("with children", cost_words.cost(whole), width)
    yield from _apart(cost_words.apart(whole) if cost_words.cost(own) != "no price" else "", width)


def _named(name: str, amount: str, width: int) -> Text:
    line = Text(cost_words.left_right(name, amount, width))
    line.stylize("dim", 0, len(name))
    return line


def _apart(words: str, width: int) -> Iterator[Text]:
    if words:
        yield Text(shorten(words, width), "dim")
