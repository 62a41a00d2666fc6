"""CommonBill on a real database: the plugin as it is loaded, its hooks fired as the loop fires them."""

from __future__ import annotations

import contextlib
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

from cos.agent.events import Notice, Usage
from cos.agent.hook_rules import first_action
from cos.agent.hooks import HookBus
from cos.agent.identity import TurnInfo
from cos.agent.ids import new_id
from cos.agent.tags import merge_tags
from cos.core.config import load_config
from cos.core.live import CoreEvent
from cos.core.paths import Paths
from cos.core.plugins import LoadedPlugins, load_plugins
from cos.core.postgres.database import Database, Row
from cos.core.postgres.plugin_loans import plugin_host
from cos.core.postgres.schema import apply_plugin_schemas
from cos.plugins.bill.figures import Figures, Report
from cos.plugins.bill.reports import BillReports

PRICES = """
[bill.prices.a]
input = 3
output = 15
cache_read = 0.30
cache_write_5m = 3.75
cache_write_1h = 6
[bill.prices.b]
input = 1
output = 5
[bill.prices.dollar]
input = 1_000_000
output = 0
"""
"""`dollar`: a token costs a dollar."""


@dataclass
class BillBench:
    """One process with the plugin."""

    database: Database
    hooks: HookBus
    plugins: LoadedPlugins
    reports: BillReports
    events: list[CoreEvent]
    counts: defaultdict[UUID, int] = field(default_factory=lambda: defaultdict(int))

    def turn(self, *tags: str, session: UUID | None = None, parent: TurnInfo | None = None, **more: Any) -> TurnInfo:
        if parent is not None:
            return parent.child(session or new_id())
        given: dict[str, Any] = {"profile_id": "home", "session_id": session or new_id(), "tags": merge_tags(tags)}
        return TurnInfo(**given | {"turn_id": new_id()} | more)

    def arguments(self, turn: TurnInfo, *, parent: TurnInfo | None = None, **more: Any) -> dict[str, Any]:
        """What the loop says of the turn's next attempt."""
        self.counts[turn.turn_id] += 1
        ids = {"turn": turn, "session_id": str(turn.session_id), "task_id": "", "turn_id": str(turn.turn_id)}
        attempt = {
            "api_request_id": "", "platform": "cli", "model": "a", "provider": "anthropic", "base_url": None,
            "api_call_count": self.counts[turn.turn_id], "message_count": 1, "started_at": datetime.now(UTC),
            "attempt": 1, "purpose": "turn", "parent_session_id": str(parent.session_id) if parent else None,
        }  # fmt: skip
        return ids | attempt | more

    async def begin(self, given: dict[str, Any]) -> str | None:
        """Fire `pre_api_request`; the message when the turn is stopped."""
        stop = first_action(await self.hooks.fire("pre_api_request", **given), frozenset({"stop"}))
        return None if stop is None else stop["message"]

    async def end(self, given: dict[str, Any], usage: Usage, **more: Any) -> None:
        ending = {
            "ended_at": datetime.now(UTC), "api_duration": 2.0, "first_token_seconds": 0.5, "finish_reason": "end_turn",
            "response_model": given["model"], "usage": usage, "assistant_tool_call_count": 0,
        }  # fmt: skip
        await self.hooks.fire("post_api_request", **given | ending | more)

    async def fail(self, given: dict[str, Any], usage: Usage, **more: Any) -> None:
        failure = {
            "ended_at": datetime.now(UTC), "api_duration": 1.0, "first_token_seconds": None, "status_code": None,
            "retry_count": 0, "max_retries": 4, "retryable": True, "reason": "broke", "usage": usage,
            "response_model": None, "error": {"type": "ProviderUnavailable", "message": "secret words"},
        }  # fmt: skip
        await self.hooks.fire("api_request_error", **given | failure | more)

    async def call(self, turn: TurnInfo, usage: Usage, **more: Any) -> str | None:
        """A whole call; the message when it was stopped."""
        given = self.arguments(turn, **more)
        stopped = await self.begin(given)
        if stopped is None:
            await self.end(given, usage)
        return stopped

    async def dollars(self, turn: TurnInfo, dollars: int, **more: Any) -> str | None:
        """A call that costs so much."""
        return await self.call(turn, Usage(input_tokens=dollars), model="dollar", **more)

    async def rows(self, query: str) -> list[Row]:
        """Rows of a query that the test itself wrote."""
        return await self.database.fetch(query.encode())

    async def calls(self) -> list[Row]:
        return await self.rows("SELECT * FROM model_calls ORDER BY started_at, ordinal")

    @property
    def notices(self) -> list[str]:
        return [event.text for event in self.events if isinstance(event, Notice)]

    async def assert_rollup_equals_rows(self) -> None:
        """The days that are kept are those that the rows add up to, in every figure."""
        statement = b"SELECT * FROM bill_facts(NULL, NULL, NULL, %(tz)s) ORDER BY kind, name, day"
        kept = await self.database.fetch(statement, {"tz": "UTC"})
        # The same days under another name, so that they are counted from the rows.
        assert kept == await self.database.fetch(statement, {"tz": "Etc/UTC"})
        days = await self.rows("SELECT sum(calls) AS calls FROM bill_sums")
        assert sum(row["calls"] for row in kept) == days[0]["calls"]


@contextlib.asynccontextmanager
async def bill_bench(
    url: str, folder: Path, toml: str = "", *, timezone: str = "UTC", size: int = 4
) -> AsyncIterator[BillBench]:
    """The plugin with the settings `toml` (below the table `[bill]`) and the prices above."""
    database = await Database(url, size=size).open()
    try:
        folder.mkdir(exist_ok=True)
        (folder / "commonos.toml").write_text(f'plugins = ["bill"]\n[bill]\ntimezone = "{timezone}"\n{toml}\n{PRICES}')
        await apply_plugin_schemas(database, ["bill"])
        config = load_config(Paths.from_environment({"COS_HOME": str(folder)}))
        events, hooks = list[CoreEvent](), HookBus()
        host = plugin_host(database, config, ["home", "work"], events.append)
        plugins = await load_plugins(["bill"], config.plugin_settings, folder, hooks, host=host)
        reports = plugins.offered("bill")
        assert isinstance(reports, BillReports)
        yield BillBench(database, hooks, plugins, reports, events)
        await plugins.close()
    finally:
        await database.close()


def costs(report: Report) -> dict[str | None, Decimal]:
    return {group.label: group.figures.cost_usd for group in report.groups}


def added(figures: Sequence[Figures]) -> Decimal:
    return sum((it.cost_usd for it in figures), Decimal(0))
