"""How cost is worded: amounts, what has no price, budgets, bars and a sparkline. Unknown is never shown as zero."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Literal

from rich.cells import cell_len

from cos.core.fork_titles import marker_first
from cos.tui import wording
from cos.tui.transcript.lines import shorten

if TYPE_CHECKING:
    from cos.tui.cost_port import BudgetState, Figures, Group, SessionCost, TurnCost

WARN_PERCENT = 80
NONE = "(none)"
Level = Literal["", "near", "spent"]
_EIGHTHS = " ▏▎▍▌▋▊▉"
_HEIGHTS = "▁▂▃▄▅▆▇█"


def cost(figures: Figures) -> str:
    """The amount; `no price` when no call has one or none reported anything, `no call` when there was none."""
    if not figures.calls:
        return "no call"
    is_counted = figures.prompt_tokens or figures.output_tokens
    if not figures.cost_usd and (figures.unpriced or figures.lost or not is_counted):
        return "no price"
    return dollars(figures.cost_usd, figures.made_up_usd)


def dollars(usd: Decimal, made_up_usd: Decimal) -> str:
    """`$0.0034`, and `$0.0034 demo` when nobody pays it."""
    return f"{wording.money(usd)} demo" if 0 < usd == made_up_usd else wording.money(usd)


def apart(figures: Figures) -> str:
    """What is in no sum: `+ 3 calls without a price`, `+ 1 lost call`; empty when nothing is."""
    found = []
    if figures.unpriced:
        found.append(f"+ {_calls(figures.unpriced)} without a price")
    if figures.lost:
        found.append(f"+ {figures.lost:,} lost call{'s' if figures.lost > 1 else ''}")
    if 0 < figures.made_up_usd != figures.cost_usd:
        found.append(f"incl. {wording.money(figures.made_up_usd)} of the demo")
    return " ".join(found)


def known(figures: Figures) -> str:
    """As `cost`, with ` +?` when that is not all."""
    amount = cost(figures)
    return amount if amount in {"no price", "no call"} else f"{amount}{unknown_mark([figures])}"


def together(parts: Sequence[Figures]) -> str:
    """Of several the sum, as `known`."""
    usd = sum((figures.cost_usd for figures in parts), Decimal(0))
    mark = unknown_mark(parts)
    if mark and not usd:
        return "no price"
    return dollars(usd, sum((figures.made_up_usd for figures in parts), Decimal(0))) + mark


def unknown_mark(parts: Iterable[Figures]) -> str:
    """` +?` behind a sum that is not all of these."""
    return " +?" if any(figures.unpriced or figures.lost for figures in parts) else ""


def own_and_children(of: SessionCost) -> str:
    """`$0.1000`, or with that of children `$0.1000 + $0.6500`."""
    if of.with_children.calls == of.own.calls:
        return known(of.own)
    return f"{known(of.own)} + {known(of.children)}"


def of_turn(turn: TurnCost) -> str:
    """`$0.1000`, or with what was delegated `$0.1000 · children 8.1k in · 300 out · $0.6500`: tokens and cost alike."""
    if turn.with_children.calls == turn.own.calls:
        return known(turn.own)
    return f"{known(turn.own)} · children {tokens(turn.children)} · {known(turn.children)}"


def total_of_turn(turn: TurnCost) -> str:
    """The same in one figure: `$0.1000`, or `$0.7500 with children`."""
    is_alone = turn.with_children.calls == turn.own.calls
    return known(turn.with_children) + ("" if is_alone else " with children")


def today(figures: Figures) -> str:
    """For the status line: `today $4.1200`, with ` +?` when that is not all."""
    return f"today {known(figures) if figures.calls else wording.money(figures.cost_usd)}"


def tokens(figures: Figures) -> str:
    return f"{wording.tokens(figures.prompt_tokens)} in · {wording.tokens(figures.output_tokens)} out"


def caching(figures: Figures) -> str:
    """`64% of the prompts from the cache, saved $1.2000`; empty without a prompt."""
    if figures.cache_hit_rate is None:
        return ""
    saved = figures.cache_saved_usd
    more = f", saved {wording.money(saved)}" if saved > 0 else f", cost {wording.money(-saved)} more" if saved else ""
    return f"{figures.cache_hit_rate:.0%} of the prompts from the cache{more}"


def level(state: BudgetState) -> Level:
    return "spent" if state.is_spent else "near" if state.percent >= WARN_PERCENT else ""


def budget_state(state: BudgetState) -> str:
    """`12%`, `! 84%` from 80 % on, `✗ spent`."""
    match level(state):
        case "spent":
            return "✗ spent"
        case "near":
            return f"! {int(state.percent)}%"
        case "":
            return f"{int(state.percent)}%"


def label(group: Group) -> str:
    """The name of a group; a session has its title, one that was deleted its id."""
    return NONE if group.label is None else wording.one_line(marker_first(group.title or group.label))


def bar(amount: Decimal, most: Decimal, width: int) -> str:
    """At most `width` cells, in eighths of a cell; anything above 0 shows."""
    if amount <= 0 or most <= 0 or width < 1:
        return ""
    eighths = max(1, round(min(amount / most, Decimal(1)) * width * 8))
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def filled(percent: Decimal, width: int) -> str:
    """A bar of exactly `width` cells, the empty ones shown; full only at 100 %."""
    full = min(width, int(percent * width / 100))
    return "█" * full + "░" * (width - full)


def sparkline(amounts: Sequence[Decimal]) -> str:
    """One cell each; nothing at all is a dot."""
    most = max(amounts, default=Decimal(0))
    return "".join(_HEIGHTS[min(7, int(amount * 8 / most))] if amount > 0 else "·" for amount in amounts)


def columns(amounts: Sequence[Decimal], height: int, width: int) -> list[str]:
    """A plot of upright bars, `width` cells each with a gap, from its top line to its bottom one."""
    most = max(amounts, default=Decimal(0))
    sizes = [max(1, round(amount * height * 8 / most)) if amount > 0 else 0 for amount in amounts]
    lines = []
    for row in reversed(range(height)):
        cells = [min(8, max(0, size - row * 8)) for size in sizes]
        lines.append("".join((_HEIGHTS[cell - 1] if cell else " ") * (width - 1) + " " for cell in cells))
    return lines


def left_right(left: str, right: str, width: int) -> str:
    """Both on one line of `width` cells; the left one is shortened."""
    room = width - cell_len(right) - 1
    left = shorten(left, max(0, room))
    return shorten(left + " " * (width - cell_len(left) - cell_len(right)) + right, width)


def _calls(count: int) -> str:
    return f"{count:,} call{'' if count == 1 else 's'}"
