"""The layers of the full-screen cost view: groups, the sessions of a group, the calls of a session, budgets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Literal
from uuid import UUID

from cos.tui import cost_words, wording
from cos.tui.cost_port import Days
from cos.tui.transcript.lines import shorten

if TYPE_CHECKING:
    from cos.tui.cost_port import Bill, BudgetState, CallRow, DayCost, Figures, Group

FIXED = ("tag", "profile", "model", "session", "day")
"""Groupings with a key of their own, after the tag key."""
BUDGETS = "budgets"
SPANS = ("14 days", "today", "all time")
MOST_CALLS = 200
Kind = Literal["groups", "sessions", "calls"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Layer:
    """What the table shows."""

    by: str
    """A tag key as `tag:client`, one of `FIXED`, or `BUDGETS`."""
    kind: Kind = "groups"
    group: str | None = None
    """The group whose sessions these are; None = the calls that belong to none."""
    group_name: str = ""
    session_id: UUID | None = None
    session_name: str = ""

    @property
    def path(self) -> str:
        """Where the user is: `by client › acme › fix the retry`."""
        first = "budgets" if self.by == BUDGETS else f"by {self.by.removeprefix('tag:')}"
        return " › ".join(name for name in (first, self.group_name, self.session_name) if name)


@dataclass(frozen=True, slots=True)
class Row:
    cells: tuple[str, ...]
    below: Layer | None = None
    """Where Enter leads."""
    budget: BudgetState | None = None


@dataclass(frozen=True, slots=True)
class Table:
    head: tuple[str, ...]
    left: frozenset[int]
    """Columns whose cells stand on the left."""
    rows: tuple[Row, ...]
    note: str = ""
    """What must be known about the figures, as a sentence."""


async def table_of(bill: Bill, layer: Layer, span: str, session_id: UUID | None, width: int) -> Table:
    """Raises CosError. `session_id`: the open session, whose budgets are meant."""
    if layer.kind == "calls" and layer.session_id is not None:
        return _calls(await bill.calls(layer.session_id), width)
    days = await days_of(bill, span)
    if layer.kind == "sessions":
        is_day = layer.by == "day" and layer.group is not None
        day = date.fromisoformat(layer.group) if is_day and layer.group else None
        meant = Days(since=day, until=day) if day else days
        groups = await bill.sessions_of(layer.by, None if day else layer.group, meant)
        return _groups(replace(layer, by="session"), groups, width, layer)
    if layer.by == BUDGETS:
        return _budgets(await bill.budgets(session_id), await bill.last_days())
    report = await bill.report(layer.by, days)
    table = _groups(layer, report.groups, width, layer)
    if report.overlaps:
        return replace(table, note="The groups overlap: a call with several tags stands in each of them.")
    return table


async def days_of(bill: Bill, span: str) -> Days:
    if span == "all time":
        return Days()
    if span == "today":
        day = await bill.today_is()
        return Days(since=day, until=day)
    return Days(since=(await bill.last_days())[0].day)


def _groups(layer: Layer, groups: Sequence[Group], width: int, above: Layer) -> Table:
    bar_cells = max(0, min(24, width - 96))
    most = max((group.figures.cost_usd for group in groups), default=Decimal(0))
    rows = (
        Row(
            (
                shorten(cost_words.label(group), max(12, min(48, width - 58))),
                cost_words.cost(group.figures),
                *([cost_words.bar(group.figures.cost_usd, most, bar_cells)] if bar_cells else []),
                *_counts(group.figures),
            ),
            _below(layer, group, above),
        )
        for group in groups
    )
    bar_head = [""] if bar_cells else []
    head = (layer.by.removeprefix("tag:"), "cost", *bar_head, "calls", "in", "out", "cached", "apart")
    return Table(head, frozenset({0, 2, 7} if bar_cells else {0, 6}), tuple(rows))


def _below(layer: Layer, group: Group, above: Layer) -> Layer:
    name = cost_words.label(group)
    if layer.by == "session" and group.label is not None:
        return replace(above, kind="calls", session_id=UUID(group.label), session_name=name)
    return replace(layer, kind="sessions", group=group.label, group_name=name)


def _counts(figures: Figures) -> tuple[str, ...]:
    rate = figures.cache_hit_rate
    apart = [(figures.unpriced, "no price"), (figures.lost, "lost")]
    return (
        f"{figures.calls:,}",
        wording.tokens(figures.prompt_tokens),
        wording.tokens(figures.output_tokens),
        "" if rate is None else f"{rate:.0%}",
        ", ".join(f"{count:,} {word}" for count, word in apart if count),
    )


def _calls(calls: Sequence[CallRow], width: int) -> Table:
    head = ("time", "model", "cause", "in", "out", "cost", "status", "first token")
    rows = tuple(
        Row(
            (
                wording.moment(call.started_at),
                shorten(wording.one_line(call.model), max(12, min(28, width - 66))),
                call.cause if call.attempt == 1 else f"{call.cause} #{call.attempt}",
                wording.tokens(_prompt(call)),
                wording.tokens(call.output_tokens),
                _cost(call),
                call.status,
                "" if call.ttft_ms is None else f"{Decimal(call.ttft_ms) / 1000:.2f} s",
            )
        )
        for call in calls
    )
    note = f"These are the newest {MOST_CALLS} calls of the session." if len(rows) == MOST_CALLS else ""
    return Table(head, frozenset({0, 1, 2, 6}), rows, note)


def _prompt(call: CallRow) -> int | None:
    """All of the prompt; None when nobody reported anything of it."""
    parts: Iterable[int | None] = (
        call.input_tokens, call.cache_read_tokens, call.cache_write_5m_tokens, call.cache_write_1h_tokens,
    )  # fmt: skip
    known = [part for part in parts if part is not None]
    return sum(known) if known else None


def _cost(call: CallRow) -> str:
    if call.cost_usd is not None:
        return cost_words.dollars(call.cost_usd, call.cost_usd if call.is_made_up else Decimal(0))
    return {"running": "under way", "lost": "unknown"}.get(call.status, "no price")


def _budgets(states: Sequence[BudgetState], days: Sequence[DayCost]) -> Table:
    rows = tuple(
        Row(
            (
                shorten(wording.one_line(state.budget.name), 32),
                wording.money(state.spent_usd),
                wording.money(state.limit_usd),
                cost_words.filled(state.percent, 20),
                cost_words.budget_state(state),
                f"{state.unpriced:,} no price" if state.unpriced else "",
            ),
            budget=state,
        )
        for state in states
    )
    made_up = sum((day.made_up_usd for day in days), Decimal(0))
    note = "" if rows else "No budget holds now. Budgets are [[bill.budgets]] in commonos.toml."
    if rows and made_up:
        note = f"Budgets count what is paid: {wording.money(made_up)} of the last {len(days)} days is the demo's."
    return Table(("budget", "spent", "of", "", "", "apart"), frozenset({0, 3, 4, 5}), rows, note)
