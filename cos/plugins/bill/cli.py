"""`cos cost`: reports, budgets and their overrides, and pricing what had no price."""

from __future__ import annotations

import difflib
from argparse import Namespace
from decimal import Decimal
from typing import TYPE_CHECKING
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from cos.agent.errors import CosError
from cos.agent.tags import Tag
from cos.core.plugin_api import CliAnswer
from cos.plugins.bill.budgets import BudgetState
from cos.plugins.bill.figures import FIXED
from cos.plugins.bill.money import amount_of, usd
from cos.plugins.bill.reports import Span
from cos.plugins.bill.tables import budget_table, report_csv, report_json, report_table, speed_json, speed_table

if TYPE_CHECKING:
    from cos.plugins.bill.bill import Bill


class CostError(CosError):
    """`cos cost` was asked for something that does not exist."""


async def run_cost(bill: Bill, options: Namespace) -> CliAnswer:
    """What the command line asks for.

    Raises:
        CosError: it cannot be done; the sentence says what to write instead.
    """
    match options.action:
        case "budgets":
            return CliAnswer(budget_table(await bill.reports.budgets(_session(options.session))))
        case "override":
            return await _override(bill, options)
        case "reprice":
            return await _reprice(bill, dry_run=options.dry_run)
        case _ if options.speed:
            return await _speed(bill, options)
        case _:
            return await _report(bill, options)


async def _report(bill: Bill, options: Namespace) -> CliAnswer:
    by = options.by or bill.reports.tag_key
    _check_grouping(by)
    if options.with_children and by != "session":
        raise CostError("--with-children belongs to --by session: in every other report each call counts once anyway")
    span = _span(options)
    report = await bill.reports.report(by, span, with_children=options.with_children)
    match options.format:
        case "csv":
            return CliAnswer(report_csv(report))
        case "json":
            return CliAnswer(report_json(report, span))
        case _:
            table = report_table(report, span, await bill.reports.budgets())
            return CliAnswer(table + (await _other_keys(bill, by) if report.is_unknown_key else ""))


async def _other_keys(bill: Bill, by: str) -> str:
    """What could have been meant with a key that no call has."""
    key, keys = by.removeprefix("tag:"), await bill.reports.tag_keys()
    near = difflib.get_close_matches(key, [*keys, *FIXED], n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    having = f"Keys of recorded tags: {', '.join(keys)}." if keys else "No recorded call has a tag."
    return f"{hint} {having} --by also takes {', '.join(FIXED)}."


async def _speed(bill: Bill, options: Namespace) -> CliAnswer:
    if options.format == "csv":
        raise CostError("--speed is printed as table or json")
    rows = await bill.reports.speed(_span(options))
    return CliAnswer(speed_json(rows) if options.format == "json" else speed_table(rows))


async def _reprice(bill: Bill, *, dry_run: bool) -> CliAnswer:
    found = await bill.ledger.reprice(bill.prices, dry_run=dry_run)
    would = "would be priced" if dry_run else "are priced now"
    text = f"{found.priced} calls {would}: {usd(found.cost_usd)}. {found.still_unpriced} stay unpriced."
    return CliAnswer(text + (" Nothing was changed." if dry_run else ""))


async def _override(bill: Bill, options: Namespace) -> CliAnswer:
    extra = amount_of(options.amount)
    states = await bill.reports.budgets(_session(options.session))
    state = _named(states, options.budget)
    await bill.reports.override(state, extra, "cli")
    left = state.limit_usd + extra - state.spent_usd
    return CliAnswer(
        f"{state.budget.name} may spend {usd(extra)} more {_until(state)}: {usd(max(left, Decimal(0)))} are left of "
        f"{usd(state.limit_usd + extra)}."
    )


def _named(states: list[BudgetState], name: str) -> BudgetState:
    found = [state for state in states if state.budget.name == name]
    if found:
        return found[0]
    names = [state.budget.name for state in states]
    near = difflib.get_close_matches(name, names, n=1)
    hint = f" Did you mean {near[0]}?" if near else ""
    if name.endswith("/session"):
        hint += " A budget of a session is named with --session ID."
    having = f"Budgets: {', '.join(names)}" if names else "There are none now: see [[bill.budgets]] in commonos.toml"
    raise CostError(f"there is no budget {name!r}.{hint} {having}")


def _until(state: BudgetState) -> str:
    return "in this session" if state.budget.period == "session" else f"in this {state.budget.period}"


def _session(text: str | None) -> UUID | None:
    if text is None:
        return None
    try:
        return UUID(text)
    except ValueError:
        raise CostError(f"{text!r} is no whole session id; `cos cost --by session` lists them") from None


def _check_grouping(by: str) -> None:
    if by in FIXED:
        return
    try:
        Tag(f"{by.removeprefix('tag:')}:x")
    except CosError:
        raise CostError(f"--by takes {', '.join(FIXED)} or the key of a tag such as client, not {by!r}") from None


def _span(options: Namespace) -> Span:
    if options.since and options.until and options.since > options.until:
        raise CostError(f"--since {options.since} is later than --until {options.until}")
    if options.tz is not None:
        try:
            ZoneInfo(options.tz)
        except (ZoneInfoNotFoundError, ValueError, OSError):
            near = difflib.get_close_matches(options.tz, available_timezones(), n=1)
            hint = f" Did you mean {near[0]}?" if near else " Names are those of the IANA, such as Europe/Berlin."
            raise CostError(f"there is no time zone {options.tz!r}.{hint}") from None
    return Span(since=options.since, until=options.until, timezone=options.tz)
