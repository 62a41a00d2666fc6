"""Reports as text: aligned tables with bars, csv and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import fields
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from cos.agent.text import cells, visible
from cos.plugins.bill.figures import Figures, Group, Report, SessionCost, Speed
from cos.plugins.bill.money import usd

if TYPE_CHECKING:
    from cos.plugins.bill.budgets import BudgetState
    from cos.plugins.bill.reports import Span

BAR_CELLS = 20
_LONGEST_LABEL = 40
_EIGHTHS = " ▏▎▍▌▋▊▉"
NONE = "(none)"


def report_table(report: Report, span: Span, budgets: Sequence[BudgetState]) -> str:
    """Groups with bars, their total, and what is not in the sums."""
    head = f"Cost by {report.by.removeprefix('tag:')}, {_days(span)} ({report.timezone})"
    if not report.total.calls:
        return f"{head}: no model call is recorded.{_running(report)}"
    most = max((group.figures.cost_usd for group in report.groups), default=Decimal(0))
    rows = [
        [_label(group), cost_text(group.figures), bar(group.figures.cost_usd, most), *_counts(group.figures)]
        for group in report.groups
    ]
    rows.append(["total", cost_text(report.total), "", *_counts(report.total)])
    apart = "apart" if _apart(report.total) else ""
    table = _aligned([["", "USD", "", "calls", "tokens in", "out", "cached", apart], *rows], left={0, 2, 7})
    notes = [*(state.warning for state in budgets if state.percent >= 80), *_notes(report)]
    return "\n".join([head, "", *table, *(["", *notes] if notes else [])])


def cost_text(figures: Figures) -> str:
    """What calls cost; unknown is never zero, and what nobody pays is marked."""
    if figures.calls and figures.unpriced + figures.lost == figures.calls:
        return "no price"
    return usd(figures.cost_usd) + (" demo" if 0 < figures.cost_usd == figures.made_up_usd else "")


def usage_lines(cost: SessionCost, speeds: Sequence[Speed]) -> list[str]:
    """What a session cost, and of each model the time to the first token (the median) and tokens per second."""
    whole = cost.with_children
    lines = [f"{'cost':<20} {cost_text(cost.own)}"] if cost.own.calls else []
    if whole.calls != cost.own.calls:
        lines.append(f"{'with children':<20} {cost_text(whole)}")
    if whole.unpriced or whole.lost:
        lines.append(f"{'in no sum':<20} {_apart(whole)}")
    for row in speeds:
        rate = "" if row.tokens_per_second is None else f", {row.tokens_per_second:.1f} tokens/s"
        lines.append(f"{visible(row.model):<20} first token after {row.ttft_median_ms / 1000:.2f} s{rate}")
    return lines


def bar(amount: Decimal, most: Decimal) -> str:
    """A bar of at most BAR_CELLS cells, in eighths of a cell; anything above 0 shows."""
    if amount <= 0 or most <= 0:
        return ""
    eighths = max(1, round(amount / most * BAR_CELLS * 8))
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()


def report_csv(report: Report) -> str:
    """One line a group with exact figures, and the total in the last. A cost of which nothing is known is empty."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    names = [field.name for field in fields(Figures)]
    writer.writerow(["group", "is_total", *names])
    for group in report.groups:
        writer.writerow([NONE if group.label is None else group.label, 0, *_exact(group.figures)])
    writer.writerow(["total", 1, *_exact(report.total)])
    return out.getvalue().rstrip("\n")


def report_json(report: Report, span: Span) -> str:
    """`group` is null for the calls that belong to no group; amounts are numbers of US dollars.

    `cost_usd` is null where nothing of it is known.
    """
    data = {
        "by": report.by,
        "since": span.since.isoformat() if span.since else None,
        "until": span.until.isoformat() if span.until else None,
        "timezone": report.timezone,
        "overlaps": report.overlaps,
        "running": report.running,
        "groups": [
            {
                "group": group.label,
                **({"title": group.title} if report.by == "session" else {}),
                **_plain(group.figures),
            }
            for group in report.groups
        ],
        "total": _plain(report.total),
    }
    return json.dumps(data, ensure_ascii=False)


def speed_table(rows: Sequence[Speed]) -> str:
    if not rows:
        return "No call with a measured first token is recorded."
    head = ["", "calls", "first token", "median", "95 of 100 within", "tokens/s"]
    body = [
        [
            visible(row.model), f"{row.calls:,}", *(f"{seconds / 1000:.2f} s" for seconds in _first_token(row)),
            "-" if row.tokens_per_second is None else f"{row.tokens_per_second:.1f}",
        ]
        for row in rows
    ]  # fmt: skip
    return "\n".join(_aligned([head, *body], left={0}))


def speed_json(rows: Sequence[Speed]) -> str:
    names = [field.name for field in fields(Speed)]
    return json.dumps([{name: getattr(row, name) for name in names} for row in rows], ensure_ascii=False)


def budget_table(states: Sequence[BudgetState]) -> str:
    """Every budget with a bar of its limit."""
    if not states:
        return "No budget holds now. Budgets are [[bill.budgets]] in commonos.toml."
    rows = [
        [
            state.budget.name, usd(state.spent_usd), f"of {usd(state.limit_usd)}", bar(min(state.percent, Decimal(100)),
            Decimal(100)), f"{int(state.percent)}%", f"{state.unpriced:,} unpriced" if state.unpriced else "",
        ]
        for state in states
    ]  # fmt: skip
    return "\n".join(_aligned(rows, left={0, 3, 5}))


def _first_token(row: Speed) -> tuple[float, float, float]:
    return row.ttft_ms, row.ttft_median_ms, row.ttft_p95_ms


def _days(span: Span) -> str:
    if span.since is None and span.until is None:
        return "all time"
    if span.until is None:
        return f"since {span.since}"
    return f"until {span.until}" if span.since is None else f"{span.since} to {span.until}"


def _label(group: Group) -> str:
    if group.label is None:
        return NONE
    if group.title is None:
        return visible(group.label)
    words = " ".join(visible(group.title).split())
    words = words if len(words) <= _LONGEST_LABEL else f"{words[: _LONGEST_LABEL - 1]}…"
    return f"{group.label}  {words}"


def _counts(figures: Figures) -> list[str]:
    rate = figures.cache_hit_rate
    return [
        f"{figures.calls:,}",
        f"{figures.prompt_tokens:,}",
        f"{figures.output_tokens:,}",
        "" if rate is None else f"{rate:.0%}",
        _apart(figures),
    ]


def _apart(figures: Figures) -> str:
    apart = [(figures.unpriced, "unpriced"), (figures.lost, "lost")]
    return ", ".join(f"{count:,} {word}" for count, word in apart if count)


def _notes(report: Report) -> Iterator[str]:
    total = report.total
    if _apart(total):
        yield "apart: calls that are counted, but whose cost is known to nobody and so stands in no sum."
    if report.overlaps:
        yield "The groups overlap: a call with several tags stands in each of them. The total counts each call once."
    if total.unpriced:
        yield (
            f"{total.unpriced:,} unpriced calls are in no sum: their model has no known price, or the server counted "
            'no tokens. Give [bill.prices."MODEL"] in commonos.toml, then run cos cost reprice.'
        )
    if total.lost:
        yield f"{total.lost:,} lost calls are in no sum: cos was killed while they were under way."
    if total.partial:
        yield f"{total.partial:,} calls were cut before their final figures; they count with what was reported."
    if total.made_up_usd:
        yield f"{usd(total.made_up_usd)} of the total nobody pays: the demo's calls, at prices that are made up."
    if total.cache_saved_usd > 0:
        yield f"Caching saved {usd(total.cache_saved_usd)}."
    if report.running:
        yield _running(report).strip()
    if report.is_unknown_key:
        yield f"No call here has a tag with the key {report.by.removeprefix('tag:')!r}."


def _running(report: Report) -> str:
    if not report.running:
        return ""
    return f" {report.running:,} call{' is' if report.running == 1 else 's are'} under way."


def _exact(figures: Figures) -> list[str]:
    values = _values(figures).values()
    return ["" if value is None else _digits(value) for value in values]


def _digits(value: Any) -> str:
    return format(value.normalize(), "f") if isinstance(value, Decimal) else str(value)


def _plain(figures: Figures) -> dict[str, Any]:
    return {name: float(value) if isinstance(value, Decimal) else value for name, value in _values(figures).items()}


def _values(figures: Figures) -> dict[str, Any]:
    """By name; what is not known is never a zero."""
    values = {field.name: getattr(figures, field.name) for field in fields(figures)}
    is_unknown = not figures.cost_usd and (figures.unpriced or figures.lost)
    return values | {"cost_usd": None} if is_unknown else values


def _aligned(rows: Sequence[Sequence[str]], *, left: set[int]) -> list[str]:
    """Columns two blanks apart; those of the numbers `left` stand on the left, the others on the right."""
    widths = [max(cells(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = []
    for row in rows:
        line = []
        for column, (text, width) in enumerate(zip(row, widths, strict=True)):
            blanks = " " * (width - cells(text))
            line.append(text + blanks if column in left else blanks + text)
        lines.append("  ".join(cell for cell, width in zip(line, widths, strict=True) if width).rstrip())
    return lines
