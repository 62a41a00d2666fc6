"""The core of a process that shows the app and serves the dashboard: both work on it, and both end with it."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Final, Self

from cos.cli.running_core import Core
from cos.core.commands import Command, CommandAnswer

if TYPE_CHECKING:
    from cos.core.commands import CommandCall
    from cos.web.server import Dashboard

log = logging.getLogger("cos.web")

ORIGIN: Final = "serve"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedCore(Core):
    """A core whose dashboard runs until it is closed."""

    dashboard: Dashboard
    task: asyncio.Task[None]

    @classmethod
    def serving(cls, core: Core, dashboard: Dashboard) -> Self:
        task = asyncio.create_task(dashboard.run(), name="dashboard")
        task.add_done_callback(_say_failure)
        served = cls(
            **{field.name: getattr(core, field.name) for field in fields(core)}, dashboard=dashboard, task=task
        )
        summary = "the address of the dashboard in the browser"
        core.dispatcher.commands.add(
            Command(name="dashboard", summary=summary, run=served.address, needs_session=False, origin=ORIGIN)
        )
        return served

    async def address(self, call: CommandCall) -> CommandAnswer:
        """Whoever asks over the web has it already; the token of a log-in is not for a conversation there."""
        return CommandAnswer(text=f"The dashboard is at {self.dashboard.url}" if call.source == "cli" else "Here.")

    async def findings(self) -> list[str]:
        address = f"The dashboard is at {self.dashboard.url} (/dashboard says it again)"
        return [address, *await Core.findings(self)]

    async def close(self) -> None:
        self.task.cancel()
        await asyncio.wait({self.task})
        await Core.close(self)


def _say_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        log.error("the dashboard has ended; the app goes on", exc_info=task.exception())
