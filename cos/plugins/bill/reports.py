"""What surfaces read of CommonBill. They find it as `plugins.offered("bill")`; None means that it is not enabled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from cos.plugins.bill.figures import (
    FIXED,
    CallRow,
    DayCost,
    Figures,
    Group,
    Report,
    SessionCost,
    Speed,
    TurnCost,
)
from cos.plugins.bill.money import amount_of

if TYPE_CHECKING:
    from cos.core.plugin_api import PluginConnection, PluginContext
    from cos.plugins.bill.budgets import Budgets, BudgetState
    from cos.plugins.bill.ledger import Ledger

_KEY: Final = "key:"
_IN_ORDER: Final = frozenset({"day", "week", "month"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Days, both included, of a time zone; None = no bound, or the zone of the configuration."""

    since: date | None = None
    until: date | None = None
    timezone: str | None = None


ALL_TIME: Final = Span()


class BillReports:
    """Every method raises DatabaseError when the database does not answer."""

    def __init__(self, ctx: PluginContext, ledger: Ledger, budgets: Budgets, tag_key: str) -> None:
        self.tag_key = tag_key
        """The tag key that the panes show, as configured."""
        self._ctx = ctx
        self._sql = ctx.statements("reports")
        self._ledger = ledger
        self._budgets = budgets

    async def report(self, by: str, span: Span = ALL_TIME, *, with_children: bool = False) -> Report:
        """Cost grouped by a tag key or by one of `FIXED`. `with_children` counts for `session` only."""
        kept = await self._ledger.timezone()
        timezone = span.timezone or kept
        kind = _kind(by, with_children=with_children)
        parameters = _bounds(span) | {"timezone": timezone, "kind": kind, "period": by if by in _IN_ORDER else None}
        rows = await self._ctx.database.fetch(self._sql["grouped"], parameters)
        # No tag, no profile and no session has an empty name.
        groups = [Group(label=row["label"] or None, figures=Figures.of(row)) for row in rows if not row["is_total"]]
        total = next(Figures.of(row) for row in rows if row["is_total"])
        if kind.startswith(_KEY):
            rest = total.less(group.figures for group in groups)
            groups += [Group(label=None, figures=rest)] if rest.calls else []
        if by == "session":
            groups = await self._titled(groups)
        running = await self._ctx.database.fetch(self._sql["running"])
        return Report(
            by=by,
            groups=tuple(sorted(groups, key=_by_day if by in _IN_ORDER else _by_cost)),
            total=total,
            timezone=timezone,
            overlaps=by == "tag",
            running=running[0]["calls"],
        )

    async def sessions_of(self, by: str, label: str | None, span: Span = ALL_TIME) -> list[Group]:
        """The sessions whose calls make up a group of `report(by, span)`, the most costly first."""
        timezone = span.timezone or await self._ledger.timezone()
        parameters = _bounds(span) | {"timezone": timezone, "kind": _kind(by, with_children=False), "name": label or ""}
        rows = await self._ctx.database.fetch(self._sql["sessions_of"], parameters)
        groups = [Group(label=row["label"], figures=Figures.of(row)) for row in rows]
        return sorted(await self._titled(groups), key=_by_cost)

    async def today(self, key: str | None = None) -> Report:
        """Today's cost by a tag key (None = the configured one)."""
        day = await self.today_is()
        return await self.report(f"tag:{key or self.tag_key}", Span(since=day, until=day))

    async def today_is(self) -> date:
        """The day it is in the time zone of the reports."""
        parameters = {"timezone": await self._ledger.timezone()}
        rows = await self._ctx.database.fetch(self._sql["today"], parameters)
        day = rows[0]["day"]
        assert isinstance(day, date)
        return day

    async def session(self, session_id: UUID) -> SessionCost:
        """What one session cost by itself, and with every session below it."""
        none = SessionCost(own=Figures.none(), with_children=Figures.none())
        return (await self.sessions([session_id])).get(session_id, none)

    async def sessions(self, session_ids: Sequence[UUID]) -> dict[UUID, SessionCost]:
        """The same for many; a session without a call is left out."""
        parameters = {"ids": [str(session_id) for session_id in session_ids]}
        rows = await self._ctx.database.fetch(self._sql["sessions"], parameters)
        return {
            session_id: SessionCost(own=own, with_children=whole)
            for session_id, (own, whole) in _own_and_whole(rows, "session_id").items()
        }

    async def turns(self, turn_ids: Sequence[UUID]) -> list[TurnCost]:
        """What these turns and those above them cost; a turn without an ended call is left out."""
        rows = await self._ctx.database.fetch(self._sql["turns"], {"ids": list(turn_ids)})
        sessions = {row["turn_id"]: row["session_id"] for row in rows}
        return [
            TurnCost(turn_id=turn_id, session_id=sessions[turn_id], own=own, with_children=whole)
            for turn_id, (own, whole) in _own_and_whole(rows, "turn_id").items()
            if sessions[turn_id] is not None
        ]

    async def costing(
        self, connection: PluginConnection, session_ids: Sequence[UUID], operator: str, usd: Decimal
    ) -> Set[UUID]:
        """Those of the sessions whose known cost, children included, is `operator` (>, >=, <, <=) `usd`."""
        parameters = {"ids": [str(session_id) for session_id in session_ids], "operator": operator, "usd": usd}
        rows = await (await connection.execute(self._sql["costing"], parameters)).fetchall()
        return {row["session_id"] for row in rows}

    @staticmethod
    def amount(text: str) -> Decimal:
        """The dollars above 0 that a person wrote.

        Raises:
            AmountError: it is no such amount.
        """
        return amount_of(text)

    async def tag_keys(self) -> list[str]:
        """The keys of all tags that recorded calls have, sorted."""
        return [row["key"] for row in await self._ctx.database.fetch(self._sql["tag_keys"])]

    async def budgets(self, session_id: UUID | None = None) -> list[BudgetState]:
        """Every budget in its present period; those per session only for `session_id`."""
        timezone = await self._ledger.timezone()

        async def work(connection: PluginConnection) -> list[BudgetState]:
            return await self._budgets.now(connection, session_id, timezone)

        return await self._ctx.database.transaction(work)

    async def override(self, state: BudgetState, extra_usd: Decimal, granted_by: str) -> None:
        """Let a budget spend more, once, in the period of `state`."""

        async def work(connection: PluginConnection) -> None:
            await self._budgets.override(connection, state, extra_usd, granted_by)

        await self._ctx.database.transaction(work)

    async def last_days(self, count: int = 14) -> list[DayCost]:
        """The cost of each of the last days up to today, also of those without a call, oldest first."""
        parameters = {"timezone": await self._ledger.timezone(), "count": count}
        rows = await self._ctx.database.fetch(self._sql["days"], parameters)
        return [DayCost(**row) for row in rows]

    async def total(self, span: Span = ALL_TIME) -> Figures:
        """All calls of the span; `cache_hit_rate` and `cache_saved_usd` of it say what caching did."""
        return (await self.report("month", span)).total

    async def speed(self, span: Span = ALL_TIME, session_id: UUID | None = None) -> list[Speed]:
        """Time to the first token and tokens per second of each model, of one session or (None) of all."""
        timezone = span.timezone or await self._ledger.timezone()
        parameters = _bounds(span) | {"timezone": timezone, "session_id": session_id}
        return [Speed(**row) for row in await self._ctx.database.fetch(self._sql["speed"], parameters)]

    async def calls(self, session_id: UUID, *, with_children: bool = False, limit: int = 200) -> list[CallRow]:
        """The newest calls of a session, those under way included."""
        parameters = {"session_id": session_id, "with_children": with_children, "limit": limit}
        return [CallRow(**row) for row in await self._ctx.database.fetch(self._sql["calls"], parameters)]

    async def _titled(self, groups: Sequence[Group]) -> list[Group]:
        ids = [UUID(group.label) for group in groups if group.label]
        titles = await self._ctx.session_titles(ids) if ids else {}
        return [replace(group, title=titles.get(UUID(group.label or ""))) for group in groups]


def _own_and_whole(rows: Sequence[Mapping[str, Any]], key: str) -> dict[UUID, tuple[Figures, Figures]]:
    """Of each `key` the figures of its row `is_own`, if it has one, and of the other."""
    found = {(row[key], row["is_own"]): Figures.of(row) for row in rows}
    return {name: (found.get((name, True), Figures.none()), found[name, False]) for name, is_own in found if not is_own}


def _bounds(span: Span) -> dict[str, Any]:
    return {"since": span.since, "until": None if span.until is None else span.until + timedelta(days=1)}


def _kind(by: str, *, with_children: bool) -> str:
    """The kind of the groups in `bill_groups`."""
    if by == "session":
        return "root" if with_children else "session"
    if by in _IN_ORDER:
        return "all"
    return by if by in FIXED else _KEY + by.removeprefix("tag:")


def _by_cost(group: Group) -> tuple[bool, Decimal, str]:
    """What belongs to no group comes last."""
    return group.label is None, -group.figures.cost_usd, group.label or ""


def _by_day(group: Group) -> tuple[bool, Decimal, str]:
    return group.label is None, Decimal(0), group.label or ""
