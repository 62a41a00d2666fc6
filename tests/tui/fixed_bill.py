"""A bill with fixed figures, made of the plugin's own records: what pictures of the cost pane and view show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from cos.agent.events import Usage
from cos.plugins.bill.budgets import Budget, BudgetState
from cos.plugins.bill.figures import CallRow, DayCost, Figures, Group, Report, SessionCost, TurnCost
from cos.plugins.bill.money import amount_of
from cos.plugins.bill.reports import BillReports
from cos.tui.cost_keeper import CostFigures, CostShown
from cos.tui.cost_port import Bill
from tests.tui.picture import NOW, numbered

TOKENS = Usage(input_tokens=12_300, output_tokens=450)
SPENT = ("0", "0.5", "1.25", "0", "0", "3", "4.5", "2", "0.004", "6", "5.5", "0", "2.25", "4.12")


def fits(reports: BillReports) -> Bill:
    """The plugin's reports are what the app expects."""
    return reports


def figures(usd: str = "0", calls: int = 4, **more: Any) -> Figures:
    fields: dict[str, Any] = {
        "calls": calls, "unpriced": 0, "lost": 0, "partial": 0, "cost_usd": Decimal(usd),
        "cache_saved_usd": Decimal("0.35"), "input_tokens": 4_100, "output_tokens": 450, "cache_read_tokens": 8_200,
        "cache_write_5m_tokens": 0, "cache_write_1h_tokens": 0,
    }  # fmt: skip
    return Figures(**fields | more)


def budget(tag: str | None, spent: str, limit: str) -> BudgetState:
    return BudgetState(
        budget=Budget(tag=tag, profile=None, period="day", limit_usd=Decimal(limit)),
        period_key="2026-11-30", spent_usd=Decimal(spent), extra_usd=Decimal(0), unpriced=0,
    )  # fmt: skip


GROUPS = (
    Group(label="acme", figures=figures("3.2")),
    Group(label="昨天的部署脚本报错问题", figures=figures("0.4")),
    Group(label="gamma", figures=figures("0.02")),
    Group(label="delta", figures=figures("0.00001")),
    Group(label="mock", figures=figures(unpriced=4)),
    Group(label=None, figures=figures("0.5")),
)
TODAY = Report(
    by="tag:client", groups=GROUPS, total=figures("4.12", 23, unpriced=3), timezone="UTC", overlaps=False, running=0
)
DAYS = [DayCost(day=date(2026, 11, 17) + timedelta(days=day), cost_usd=Decimal(usd)) for day, usd in enumerate(SPENT)]
BUDGETS = [budget("client:acme", "3.2", "4"), budget(None, "4.12", "4"), budget("client:gamma", "0.02", "5")]
SESSION = SessionCost(own=figures("0.1"), with_children=figures("0.75", 9))
SHOWN = CostShown(
    is_on=True,
    tokens=TOKENS,
    figures=CostFigures(
        today=TODAY, tag_key="client", days=DAYS, budgets=BUDGETS, session_id=numbered(1), session=SESSION
    ),
    is_of_session=True,
)


def call(number: int, **more: Any) -> CallRow:
    fields: dict[str, Any] = {
        "turn_id": numbered(50), "ordinal": number, "session_id": numbered(1),
        "started_at": NOW - timedelta(minutes=number), "model": "claude-sonnet-5-5", "response_model": None,
        "cause": "turn", "attempt": 1, "status": "ok", "is_partial": False, "input_tokens": 4_100, "output_tokens": 450,
        "cache_read_tokens": 8_200, "cache_write_5m_tokens": None, "cache_write_1h_tokens": None,
        "cost_usd": Decimal("0.0123"), "price_source": "genai-prices", "ttft_ms": 640, "duration_ms": 4_000,
        "error": None,
    }  # fmt: skip
    return CallRow(**fields | more)


class FixedBill:
    """Fits `Bill`."""

    tag_key = "client"

    def __init__(self) -> None:
        self.given: list[tuple[str, Decimal, str]] = []

    async def report(self, by: str, span: Any = None) -> Report:
        return Report(by=by, groups=GROUPS, total=TODAY.total, timezone="UTC", overlaps=by == "tag", running=0)

    async def sessions_of(self, by: str, label: str | None, span: Any = None) -> Sequence[Group]:
        titled = Group(label=str(numbered(1)), figures=figures("3.1"), title="fix the retry \x1b[31m[bold]昨天[/]")
        return [titled, Group(label=str(numbered(2)), figures=figures("0.1"))]

    async def total(self, span: Any = None) -> Figures:
        return TODAY.total

    async def today(self, key: str | None = None) -> Report:
        return TODAY

    async def today_is(self) -> date:
        return DAYS[-1].day

    async def session(self, session_id: object) -> SessionCost:
        return SESSION

    async def sessions(self, session_ids: Sequence[UUID]) -> Mapping[UUID, SessionCost]:
        return dict.fromkeys(session_ids, SESSION)

    async def turns(self, turn_ids: Sequence[UUID]) -> Sequence[TurnCost]:
        return []

    async def budgets(self, session_id: object = None) -> Sequence[BudgetState]:
        return BUDGETS

    def amount(self, text: str) -> Decimal:
        return amount_of(text)

    async def override(self, state: BudgetState, extra_usd: Decimal, granted_by: str) -> None:
        self.given.append((state.budget.name, extra_usd, granted_by))

    async def last_days(self, count: int = 14) -> Sequence[DayCost]:
        return DAYS

    async def calls(self, session_id: object) -> Sequence[CallRow]:
        unknown = {"input_tokens": None, "output_tokens": None, "cache_read_tokens": None, "cost_usd": None}
        return [
            call(0, status="running", ttft_ms=None, **unknown), call(1), call(2, cause="retry", attempt=2),
            call(3, status="error", cause="child", ttft_ms=None, **unknown), call(4, status="lost", **unknown),
            call(5, model="some-own-model", cost_usd=None, cause="compaction"),
        ]  # fmt: skip
