"""What things cost, as CommonBill says it; without CommonBill nothing is known. It is found by name, never imported."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

if TYPE_CHECKING:
    from cos.web.objects import Json

CALL_RECORDED: Final = "bill.call_recorded"
"""The type of the event that says that the cost of a model call is stored."""


@dataclass(frozen=True, slots=True)
class Spent:
    """By a session or a turn with its children."""

    cost_usd: Decimal | None
    """None = no call of them has a price, or none reported anything. As in the app."""
    unpriced: int
    lost: int
    """Calls whose process ended first."""
    made_up_usd: Decimal
    """The part that nobody pays, at the demo's prices."""

    @classmethod
    def of(cls, figures: Any) -> Spent:
        is_counted = figures.prompt_tokens or figures.output_tokens
        is_unknown = not figures.cost_usd and (figures.unpriced or figures.lost or not is_counted)
        cost_usd = None if figures.calls and is_unknown else figures.cost_usd
        return cls(cost_usd, figures.unpriced, figures.lost, figures.made_up_usd)

    @property
    def fields(self) -> Json:
        """As they stand in a `Session` and a `Turn`."""
        return asdict(self)


UNKNOWN: Final[Json] = dict.fromkeys(("cost_usd", "unpriced", "lost", "made_up_usd"))
"""The same where nothing is known."""


@dataclass(frozen=True, slots=True)
class Days:
    """Days that a report is about, both included; None = no bound."""

    since: date | None
    until: date | None
    timezone: None = None
    """That of the reports."""


class Money:
    """Every method raises CosError when the database does not answer."""

    def __init__(self, bill: Any | None) -> None:
        """`bill`: the reports that the plugin offers."""
        self._bill = bill

    async def of_sessions(self, session_ids: Collection[UUID]) -> dict[UUID, Spent]:
        if self._bill is None or not session_ids:
            return {}
        found = await self._bill.sessions(list(session_ids))
        return {key: Spent.of(cost.with_children) for key, cost in found.items()}

    async def of_turns(self, turn_ids: Collection[UUID]) -> dict[UUID, Spent]:
        """Without those that called no model."""
        if self._bill is None or not turn_ids:
            return {}
        wanted = set(turn_ids)
        costs = await self._bill.turns(list(wanted))
        return {cost.turn_id: Spent.of(cost.with_children) for cost in costs if cost.turn_id in wanted}

    async def report(self, by: str | None, days: Days) -> Json:
        """The answer of `/api/cost`; empty figures without CommonBill."""
        if self._bill is None:
            return {"by": by, "groups": [], "total": None, "days": []}
        by = by or self._bill.tag_key
        report = await self._bill.report(by, days)
        last_days = await self._bill.last_days()
        return {
            "by": by,
            "groups": [_group(group.label, group.title, group.figures) for group in report.groups],
            "total": _group(None, None, report.total),
            "days": [{"day": day.day.isoformat(), "cost_usd": day.cost_usd} for day in last_days],
        }


def _group(label: str | None, title: str | None, figures: Any) -> Json:
    return {"label": label, "title": title, "calls": figures.calls} | Spent.of(figures).fields
