"""Budgets warn once, stop before the next call, say how to go on, and hold for concurrent sessions and children."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pytest

from cos.agent.events import Usage
from cos.cli.arguments import build_parser
from tests.bill_bench import BillBench, bill_bench


def budget(period: str, limit: float, scope: str = "") -> str:
    return f"[[bill.budgets]]\nperiod = '{period}'\nlimit_usd = {limit}\n{scope}\n"


async def cost(bill: BillBench, *arguments: str) -> str:
    options = build_parser().parse_args(["cost", *arguments])
    return (await bill.plugins.registrations["bill"].cli["cost"](options)).text


async def test_a_budget_warns_once_at_80_percent_and_stops_the_call_after_100(core_url: str, tmp_path: Path) -> None:
    async with bill_bench(core_url, tmp_path, budget("month", 10, "tag = 'client:acme'")) as bill:
        turn = bill.turn("client:acme")
        await bill.dollars(turn, 7)
        assert bill.notices == []
        await bill.dollars(turn, 1)
        await bill.dollars(bill.turn("client:acme"), 1)
        assert len(bill.notices) == 1
        assert bill.notices[0].startswith("The budget client:acme/month is 80% spent: $8.0000 of $10.0000 since ")
        assert await bill.dollars(turn, 3) is None, "what is under way may overshoot"
        assert len(bill.notices) == 2
        assert "is spent; no further model call is made unless you allow more: $12.0000 of $10.0000" in bill.notices[1]
        stopped = await bill.dollars(turn, 1)
        assert stopped is not None
        assert "The budget client:acme/month is spent: $12.0000 of $10.0000" in stopped
        assert "raising limit_usd under [[bill.budgets]] in commonos.toml" in stopped
        assert "cos cost override client:acme/month AMOUNT" in stopped
        assert len(await bill.calls()) == 4, "a call that was stopped leaves no row"
        assert await bill.dollars(bill.turn("client:beta"), 1) is None
        assert len(bill.notices) == 2


async def test_an_override_lets_a_budget_spend_more_once(core_url: str, tmp_path: Path) -> None:
    async with bill_bench(core_url, tmp_path, budget("day", 5)) as bill:
        turn = bill.turn()
        await bill.dollars(turn, 5)
        assert await bill.dollars(turn, 1) is not None
        assert "all/day may spend $2.5000 more in this day: $2.5000 are left of $7.5000." in await cost(
            bill, "override", "all/day", "2.50"
        )
        assert await bill.dollars(turn, 2) is None
        assert "all/day" in bill.notices[-1], "the new limit is nearly reached, and that is said again"
        await bill.dollars(turn, 1)
        assert await bill.dollars(turn, 1) is not None
        (row,) = await bill.rows("TABLE bill_overrides")
        assert (row["scope"], row["extra_usd"], row["granted_by"]) == ("all", Decimal("2.50"), "cli")
        assert "all/day  $8.0000  of $7.5000" in await cost(bill, "budgets")


@pytest.mark.parametrize(
    ("scope", "paid", "free"),
    [
        ("tag = 'client:a'", ("client:a", "home"), ("client:b", "home")),
        ("key = 'client'", ("client:a", "work"), ("client:b", "work")),
        ("profile = 'work'", ("client:a", "work"), ("client:a", "home")),
    ],
)
async def test_a_budget_holds_only_for_its_scope(
    core_url: str, tmp_path: Path, scope: str, paid: tuple[str, str], free: tuple[str, str]
) -> None:
    async with bill_bench(core_url, tmp_path, budget("week", 3, scope)) as bill:

        async def dollars(amount: int, of: tuple[str, str]) -> str | None:
            return await bill.dollars(bill.turn(of[0], "other:tag", profile_id=of[1]), amount)

        await dollars(3, paid)
        assert await dollars(2, free) is None
        assert await dollars(1, paid) is not None
        assert await dollars(1, free) is None


async def test_a_period_forgets_what_was_spent_before_it(core_url: str, tmp_path: Path) -> None:
    async with bill_bench(core_url, tmp_path, budget("month", 3)) as bill:
        await bill.dollars(bill.turn(), 9, started_at=datetime(2026, 1, 1, tzinfo=UTC))
        assert await bill.dollars(bill.turn(), 1) is None
        (state,) = await bill.reports.budgets()
        assert (state.spent_usd, state.limit_usd, state.is_spent) == (Decimal(1), Decimal(3), False)


async def test_children_spend_the_budget_of_their_root_session(core_url: str, tmp_path: Path) -> None:
    async with bill_bench(core_url, tmp_path, budget("session", 4)) as bill:
        parent, other = bill.turn(), bill.turn()
        child = bill.turn(parent=parent)
        await bill.dollars(parent, 1)
        await bill.dollars(child, 3, parent=parent)
        for turn, above in ((parent, None), (child, parent), (bill.turn(parent=child), child)):
            stopped = await bill.dollars(turn, 1, parent=above)
            assert stopped is not None
            assert f"cos cost override all/session AMOUNT --session {parent.session_id}" in stopped
        assert await bill.dollars(other, 1) is None
        await cost(bill, "override", "all/session", "5", "--session", str(parent.session_id))
        assert await bill.dollars(child, 1, parent=parent) is None


async def test_concurrent_calls_overshoot_by_no_more_than_those_under_way(core_url: str, tmp_path: Path) -> None:
    """Two processes, each with sessions that call as fast as they can; every call costs a dollar."""
    limit, sessions = 10, 4
    async with (
        bill_bench(core_url, tmp_path / "one", budget("day", limit)) as one,
        bill_bench(core_url, tmp_path / "two", budget("day", limit)) as two,
    ):

        async def until_stopped(bill: BillBench) -> None:
            turn = bill.turn()
            while await bill.dollars(turn, 1) is None:
                pass

        await asyncio.gather(*(until_stopped(bill) for bill in (one, two) for _ in range(sessions)))
        spent = (await one.reports.total()).cost_usd
        assert limit <= spent < limit + 2 * sessions
        said = [notice for bill in (one, two) for notice in bill.notices]
        assert ["is spent" in notice for notice in said].count(True) == 1, "each mark is told once, by one process"
        assert len(said) == 2
        await one.assert_rollup_equals_rows()


async def test_without_the_database_a_budget_lets_nothing_out(core_url: str, tmp_path: Path) -> None:
    async with bill_bench(core_url, tmp_path, budget("day", 10)) as bill:
        turn = bill.turn()
        await bill.rows("ALTER TABLE model_calls RENAME TO away")
        stopped = await bill.call(turn, Usage(input_tokens=1))
        assert stopped is not None
        assert stopped.startswith("The budgets cannot be checked, so the next model call was not made: ")
        await bill.rows("ALTER TABLE away RENAME TO model_calls")
        assert await bill.call(turn, Usage(input_tokens=1)) is None


async def test_unpriced_calls_are_not_counted_and_that_is_shown(core_url: str, tmp_path: Path) -> None:
    async with bill_bench(core_url, tmp_path, budget("day", 10)) as bill:
        await bill.call(bill.turn(), Usage(input_tokens=1), model="who-knows")
        (state,) = await bill.reports.budgets()
        assert (state.unpriced, state.percent) == (1, Decimal(0))
        assert "1 unpriced" in await cost(bill, "budgets")
