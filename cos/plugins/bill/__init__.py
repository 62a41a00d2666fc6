"""The plugin `bill`, CommonBill: what every model call cost, by tag, profile, model, session and day, and budgets."""

from __future__ import annotations

from cos.core.plugin_api import PluginContext
from cos.plugins.bill.bill import Bill

__all__ = ["Bill", "register"]


async def register(ctx: PluginContext) -> None:
    """Bring the hooks, `cos cost` and the reports."""
    bill = Bill(ctx)
    bill.register(ctx)
    if ctx.has_database:
        await bill.prepare()
