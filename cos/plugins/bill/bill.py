"""CommonBill put together: prices, ledger, budgets, the hooks that write and the reports that read."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from cos.plugins.bill.budgets import Budgets
from cos.plugins.bill.cli import run_cost
from cos.plugins.bill.events import CallRecorded
from cos.plugins.bill.ledger import Ledger
from cos.plugins.bill.prices import PriceBook
from cos.plugins.bill.recorder import Recorder
from cos.plugins.bill.reports import BillReports
from cos.plugins.bill.settings import BillSettings
from cos.plugins.bill.tables import usage_lines
from cos.plugins.bill.zones import local_timezone

if TYPE_CHECKING:
    from uuid import UUID

    from cos.core.plugin_api import CliAnswer, PluginContext

SWEEP_SECONDS = 60.0
FIRST_SWEEP_SECONDS = 6.0
"""After the start: a process that died just before may not have lost its connections then."""


class Bill:
    """One per process."""

    def __init__(self, ctx: PluginContext) -> None:
        self.settings = ctx.settings(BillSettings)
        self.prices = PriceBook(self.settings)
        self.budgets = Budgets(self.settings.budgets, ctx.statements("budgets"))
        self.ledger = Ledger(ctx, self.budgets, self.settings.timezone)
        self.reports = BillReports(ctx, self.ledger, self.budgets, self.settings.tag_key)
        self.recorder = Recorder(self.ledger, self.prices, ctx.publish, has_budgets=bool(self.budgets))

    def register(self, ctx: PluginContext) -> None:
        self.recorder.register(ctx)
        ctx.offer("bill", self.reports)
        ctx.stored_events.append(CallRecorded)
        ctx.register_cli("cost", self.cost)
        ctx.offer("usage", self.usage)
        ctx.repeat(SWEEP_SECONDS, "CommonBill's ledger", self.keep, first=FIRST_SWEEP_SECONDS)
        ctx.register_check(self.ledger.wrong_sums, of_tables=True)
        ctx.on_close(self.recorder.save)

    async def prepare(self) -> None:
        """Settle the time zone, and mark what dead processes left."""
        await self.ledger.timezone(local_timezone())
        await self.ledger.sweep()

    async def keep(self) -> None:
        """Store what could not be stored before, and mark what dead processes left."""
        await self.recorder.save()
        await self.ledger.sweep()

    async def usage(self, session_id: UUID) -> list[str]:
        """What a session cost, and how fast its models answered."""
        cost = await self.reports.session(session_id)
        return usage_lines(cost, await self.reports.speed(session_id=session_id))

    async def cost(self, options: Namespace) -> CliAnswer:
        return await run_cost(self, options)
