"""What today and the open session cost, how far the budgets are spent, cost by tag, and the last 14 days."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from textual.widget import Widget

from cos.agent.events import Usage
from cos.tui import cost_words, wording
from cos.tui.cost_keeper import CostShown
from cos.tui.transcript.lines import shorten

if TYPE_CHECKING:
    from cos.tui.cost_port import BudgetState, DayCost, Group, Report, SessionCost

MOST_GROUPS, MOST_BUDGETS = 3, 2
LEAST = 10
"""The rank of what takes no room from anything else."""
_BAR_CELLS = 7
_LABEL_CELLS = 9
OFF = "CommonBill is not enabled."
WAITING = CostShown(is_on=True, tokens=Usage())


class _Line(NamedTuple):
    rank: int
    """Where there is no room for all lines, those of the highest rank are left out."""
    text: Text


class CostPane(Widget):
    """Draws a `CostShown` for the room it has: low terminals leave out what matters least.

    Its height does not follow its lines: the approvals above would move and disarm with each model call.
    """

    DEFAULT_CSS = """
    CostPane {
        height: 14;
        border: round $foreground 35%;
        border-title-color: $foreground 70%;
        border-subtitle-color: $foreground 70%;
        padding: 0 1;
        &.-off { height: 4; }
        & > .cost--near { color: $text-warning; text-style: bold; }
        & > .cost--spent { color: $text-error; text-style: bold; }
        & > .cost--bar { color: $primary; }
    }
    """
    COMPONENT_CLASSES: ClassVar[set[str]] = {"cost--near", "cost--spent", "cost--bar"}

    def __init__(self, *, id: str | None = None) -> None:
        super().__init__(id=id)
        self.border_title = "Cost"
        self.border_subtitle = "F7 for more"
        self._shown = WAITING

    def show(self, shown: CostShown) -> None:
        if shown != self._shown:
            self._shown = shown
            self.set_class(not shown.is_on, "-off")
            self.refresh()

    def render(self) -> Text:
        size, lines = self.content_size, list[_Line]()
        for most_groups in range(MOST_GROUPS, 0, -1):
            lines = list(self._lines(size.width, most_groups))
            if sum(line.rank < LEAST for line in lines) <= size.height:
                break
        kept = sorted(range(len(lines)), key=lambda number: lines[number].rank)[: size.height]
        return Text("\n", no_wrap=True).join(lines[number].text for number in sorted(kept))

    def _lines(self, width: int, most_groups: int) -> Iterator[_Line]:
        shown, figures = self._shown, self._shown.figures
        # A session that has not begun has none; those that nobody counted are question marks.
        tokens = [] if shown.is_new else [_Line(2, Text(shorten(wording.usage(shown.tokens), width)))]
        if not shown.is_on:
            yield from tokens
            yield _Line(2, Text(shorten(OFF, width), "dim"))
            return
        if shown.trouble:
            yield _Line(0, Text(shorten(f"✗ {wording.one_line(shown.trouble)}", width), self._style("spent")))
        if figures is None:
            yield from tokens
            return
        yield from self._today(figures.today, figures.tag_key, width, most_groups)
        if figures.session is not None and shown.is_of_session:
            yield from _session(figures.session, shown.tokens, tokens, width)
        else:
            yield from tokens
        yield from self._budgets(figures.budgets, width)
        yield _Line(4, _days(figures.days, width))

    def _today(self, report: Report, key: str, width: int, most_groups: int) -> Iterator[_Line]:
        """The total, and the most costly values of the tag key; what has none comes last and is always there."""
        named = [group for group in report.groups if group.label is not None]
        rest = [group for group in report.groups if group.label is None]
        total = wording.money(report.total.cost_usd) if not report.total.calls else cost_words.cost(report.total)
        yield _named(f"today by {key}" if named else "today", total, width)
        yield from _apart(cost_words.apart(report.total), width)
        if not named:
            return
        most = max(group.figures.cost_usd for group in report.groups)
        for group in named[:most_groups]:
            yield _Line(5, self._group(group, most, width))
        others = named[most_groups:]
        if others:
            amount = cost_words.together([group.figures for group in others])
            yield _Line(7, Text(cost_words.left_right(f" and {len(others):,} more", amount, width), "dim"))
        for group in rest:
            yield _Line(6, self._group(group, most, width))

    def _group(self, group: Group, most: Decimal, width: int) -> Text:
        amount = cost_words.known(group.figures)
        name = cost_words.left_right(f" {cost_words.label(group)}", "", _LABEL_CELLS)
        cells = max(0, min(12, width - _LABEL_CELLS - cell_len(amount) - 1))
        bar = cost_words.bar(group.figures.cost_usd, most, cells)
        line = Text(cost_words.left_right(name + bar, amount, width))
        line.stylize(self._style("bar"), len(name), len(name) + len(bar))
        return line

    def _budgets(self, states: Sequence[BudgetState], width: int) -> Iterator[_Line]:
        """Those that are nearest to their limit."""
        for state in sorted(states, key=lambda state: -state.percent)[:MOST_BUDGETS]:
            right = f"{cost_words.filled(state.percent, _BAR_CELLS)} {cost_words.budget_state(state):>7}"
            line = Text(cost_words.left_right(wording.one_line(state.budget.name), right, width))
            level = cost_words.level(state)
            if level:
                line.stylize(self._style(level), len(line) - len(right))
            yield _Line(1 if level else 4, line)
        more = len(states) - MOST_BUDGETS
        if more > 0:
            yield _Line(LEAST, Text(f"and {more:,} more budget{'' if more == 1 else 's'}", "dim"))

    def _style(self, name: str) -> Style:
        return self.get_component_rich_style(f"cost--{name}", partial=True)


def _days(days: Sequence[DayCost], width: int) -> Text:
    made_up = sum((day.made_up_usd for day in days), Decimal(0))
    total = cost_words.dollars(sum((day.cost_usd for day in days), Decimal(0)), made_up)
    line = cost_words.sparkline([day.cost_usd for day in days])
    head = f"{len(days)} days "
    if cell_len(head) + len(line) + 1 + len(total) > width:
        head = ""
    return Text(cost_words.left_right(head + line, total, width))


def _session(session: SessionCost, used: Usage, tokens: Sequence[_Line], width: int) -> Iterator[_Line]:
    """What is used of its own stands with its own cost, before that of its children."""
    own, whole = session.own, session.with_children
    # Its calls were made while the plugin was off.
    is_older = not own.calls and (used.prompt_tokens or used.output_tokens)
    yield _named("session", "not recorded" if is_older else cost_words.cost(own), width)
    if own.calls or is_older:
        # Before its first call a session, such as a fork, has used nothing that somebody could have counted.
        yield from tokens
    if whole.calls != own.calls:
        yield _named(" with children", cost_words.cost(whole), width, rank=3)
    if cost_words.cost(whole) != "no price":
        yield from _apart(cost_words.apart(whole), width)


def _named(name: str, amount: str, width: int, *, rank: int = 0) -> _Line:
    line = Text(cost_words.left_right(name, amount, width))
    line.stylize("dim", 0, len(name))
    return _Line(rank, line)


def _apart(words: str, width: int) -> Iterator[_Line]:
    if words:
        yield _Line(3, Text(shorten(f" {words}", width), "dim"))
