"""The table `model_calls`: a row before a request leaves, its figures when it ends, and what dead processes left."""

from __future__ import annotations

from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING

from cos.agent.events import Usage
from cos.agent.identity import TurnInfo
from cos.agent.tags import Tag
from cos.plugins.bill.calls import price_row
from cos.plugins.bill.events import CallRecorded
from cos.plugins.bill.prices import MADE_UP, Question

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any
    from uuid import UUID

    from cos.core.plugin_api import PluginConnection, PluginContext, PluginDatabase
    from cos.plugins.bill.budgets import Budgets, BudgetState
    from cos.plugins.bill.calls import Call, Ending
    from cos.plugins.bill.prices import Price, PriceBook


@dataclass(frozen=True, slots=True, kw_only=True)
class Repriced:
    """What `reprice` found."""

    priced: int
    cost_usd: Decimal
    """Of those that are priced now."""
    still_unpriced: int


class Ledger:
    """One per process."""

    def __init__(self, ctx: PluginContext, budgets: Budgets, wanted_timezone: str | None) -> None:
        self._ctx = ctx
        self._sql = ctx.statements("ledger")
        self._budgets = budgets
        self._wanted_timezone = wanted_timezone
        self._timezone: str | None = None

    @property
    def database(self) -> PluginDatabase:
        return self._ctx.database

    async def timezone(self, default: str = "UTC") -> str:
        """The zone whose days are counted: the configured one, else the one in use, else `default`.

        Raises:
            DatabaseError: the database does not answer, or does not know the zone.
        """
        if self._timezone is None:
            rows = await self.database.fetch(self._sql["timezone"])
            kept = rows[0]["timezone"] if rows else None
            self._timezone = self._wanted_timezone or kept or default
            if self._timezone != kept:
                await self.database.fetch(self._sql["use_timezone"], {"timezone": self._timezone})
        return self._timezone

    async def open(self, call: Call, unsaved: Sequence[Ending]) -> BudgetState | None:
        """Store that `call` is about to leave; or the budget that forbids it, and then nothing of it is stored.

        `unsaved` are endings that could not be stored before. They are stored first, so that they count.

        Raises:
            DatabaseError: nothing was stored.
        """
        timezone, row = await self.timezone(), call.row(self.database.owner_key)
        if not self._budgets and not unsaved:
            await self.database.fetch(self._sql["open_call"], row)
            return None

        async def work(connection: PluginConnection) -> BudgetState | None:
            await connection.execute(self._sql["lock"])
            for ending in unsaved:
                await self._end(connection, ending)
            states = await self._states(connection, call, timezone)
            spent = next((state for state in states if state.is_spent), None)
            if spent is None:
                await connection.execute(self._sql["open_call"], row)
            return spent

        return await self.database.transaction(work)

    async def allow(self, call: Call, spent: BudgetState, more_usd: Decimal, granted_by: str) -> BudgetState:
        """Let the budget that forbids `call` spend so much more, as `BudgetState.extra_for` counts it; how it is then.

        Raises:
            DatabaseError: nothing was stored.
        """
        timezone = await self.timezone()

        async def work(connection: PluginConnection) -> BudgetState:
            await connection.execute(self._sql["lock"])
            for state in await self._states(connection, call, timezone):
                if (state.budget, state.period_key) == (spent.budget, spent.period_key):
                    extra = max(state.extra_for(more_usd, spent), Decimal(0))
                    if extra:
                        await self._budgets.override(connection, state, extra, granted_by)
                    return replace(state, extra_usd=state.extra_usd + extra)
            return spent  # Its period is over: the next one begins with its own limit.

        return await self.database.transaction(work)

    async def end(self, endings: Sequence[Ending]) -> list[str]:
        """Store how calls ended, each once, and return what budgets have to say about that.

        Raises:
            DatabaseError: nothing was stored.
        """
        timezone = await self.timezone()

        async def work(connection: PluginConnection) -> list[str]:
            await connection.execute(self._sql["lock"])
            sentences: list[str] = []
            for ending in endings:
                await self._end(connection, ending)
                states = await self._states(connection, ending.call, timezone)
                sentences += await self._budgets.new_warnings(connection, states)
            return sentences

        return await self.database.transaction(work)

    async def sweep(self) -> int:
        """Mark the calls of processes that are gone as lost; how many there were."""

        async def work(connection: PluginConnection) -> int:
            await connection.execute(self._sql["lock"])
            key = {"owner_key": self.database.owner_key}
            return len(await (await connection.execute(self._sql["sweep"], key)).fetchall())

        return await self.database.transaction(work)

    async def wrong_sums(self) -> list[str]:
        """Each day whose sum is not that of its calls, as a sentence. There is none: a trigger keeps them equal."""
        return [
            f"The sums of {row['day']} say {row['summed']} calls for ${row['summed_usd']}, the calls themselves are "
            f"{row['counted']} for ${row['counted_usd']}. The calls are right; another bill.timezone sums up anew."
            for row in await self.database.fetch(self._sql["wrong_sums"])
        ]

    async def reprice(self, prices: PriceBook, *, dry_run: bool) -> Repriced:
        """Price the rows that have no price. Rows that have one are never touched.

        One call of each turn is told, whoever reads the turn's cost then has all of it.
        """
        await prices.load()
        told: dict[UUID, CallRecorded] = {}

        async def work(connection: PluginConnection) -> Repriced:
            await connection.execute(self._sql["lock"])
            rows = await (await connection.execute(self._sql["unpriced"])).fetchall()
            found, total = 0, Decimal(0)
            for row in rows:
                price = await prices.price(_question(row), _usage(row), has_ended=True)
                if price.cost_usd is None:
                    continue
                found, total = found + 1, total + price.cost_usd
                if not dry_run:
                    key = {"turn_id": row["turn_id"], "ordinal": row["ordinal"]}
                    await connection.execute(self._sql["price_call"], key | price_row(price))
                    told[row["turn_id"]] = _recorded(row, price)
            return Repriced(priced=found, cost_usd=total, still_unpriced=len(rows) - found)

        repriced = await self.database.transaction(work)
        for event in told.values():
            self._ctx.publish(event)
        return repriced

    async def _states(self, connection: PluginConnection, call: Call, timezone: str) -> list[BudgetState]:
        if not self._budgets:
            return []
        return await self._budgets.of_turn(connection, call.turn, call.parent_session_id, timezone)

    async def _end(self, connection: PluginConnection, ending: Ending) -> None:
        """Also when the row could not be written before the request left."""
        await connection.execute(self._sql["open_call"], ending.call.row(self.database.owner_key))
        await connection.execute(self._sql["end_call"], ending.row())


def _recorded(row: dict[str, Any], price: Price) -> CallRecorded:
    turn = TurnInfo(
        profile_id=row["profile_id"], session_id=row["session_id"], turn_id=row["turn_id"],
        parent_turn_id=row["parent_turn_id"], tags=tuple(Tag(tag) for tag in row["tags"]), depth=row["depth"],
    )  # fmt: skip
    return CallRecorded(
        turn=turn, ordinal=row["ordinal"], model=row["response_model"] or row["model"], cause=row["cause"],
        status=row["status"], cost_usd=price.cost_usd, is_made_up=price.source == MADE_UP,
        input_tokens=row["input_tokens"], output_tokens=row["output_tokens"],
        cache_read_tokens=row["cache_read_tokens"], cache_write_5m_tokens=row["cache_write_5m_tokens"],
        cache_write_1h_tokens=row["cache_write_1h_tokens"], ttft_ms=row["ttft_ms"], duration_ms=row["duration_ms"],
    )  # fmt: skip


def _question(row: dict[str, Any]) -> Question:
    return Question(
        provider=row["provider"], base_url=row["base_url"], model=row["model"], response_model=row["response_model"],
        at=row["started_at"],
    )  # fmt: skip


def _usage(row: dict[str, Any]) -> Usage:
    return Usage(
        input_tokens=row["input_tokens"],
        output_tokens=row["output_tokens"],
        cache_read_tokens=row["cache_read_tokens"],
        cache_write_5m_tokens=row["cache_write_5m_tokens"],
        cache_write_1h_tokens=row["cache_write_1h_tokens"],
        is_partial=row["is_partial"],
    )
