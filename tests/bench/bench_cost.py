"""What reports cost with 1,000,000 model calls of one year, and what a call costs to record."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from cos.agent.events import Usage
from cos.core.postgres.database import Database
from cos.core.postgres.schema import apply_core_schema
from cos.plugins.bill.reports import Span
from tests.bench.rows import Row, alone
from tests.bench.stage import Run, fresh_database, home_folder
from tests.bill_bench import BillBench, bill_bench

SESSIONS = 20_000
WHAT, TAG_MS = "cost by tag over 1,000,000 calls", 100.0
BY = ("client", "tag", "profile", "model", "day", "month")
BARE = b"SELECT tag, sum(cost_usd) FROM model_calls, unnest(tags) AS tag GROUP BY tag"
# 20,000 sessions of 50 calls, 12 clients (and none), 3 models, 3 profiles, in the working hours of a year.
FILL = b"""
INSERT INTO model_calls (turn_id, ordinal, session_id, session_path, profile_id, depth, tags, provider, model, cause,
                         attempt, status, input_tokens, output_tokens, cache_read_tokens, cache_write_5m_tokens,
                         cache_write_1h_tokens, cost_usd, cache_saved_usd, ttft_ms, duration_ms, started_at, ended_at,
                         owner_key)
SELECT gen_random_uuid(), 1, s.id, ARRAY[s.id], 'p' || n %% 3, 0,
       CASE WHEN s.number %% 13 = 0 THEN ARRAY['area:work']
            ELSE ARRAY['area:work', 'client:c' || s.number %% 13, 'project:q' || s.number %% 40] END,
       'anthropic', 'claude-' || s.number %% 3, 'turn', 1, 'ok', n %% 5000, n %% 800, n %% 90000, n %% 3000, 0,
       (n %% 1000) / 100000.0, 0.0001, 300 + n %% 900, 2000 + n %% 9000, s.at + n %% 50 * interval '40 seconds',
       s.at + n %% 50 * interval '40 seconds', 1
FROM (SELECT number, gen_random_uuid() AS id,
             %(start)s::timestamptz + (number * 364.0 / %(sessions)s) * interval '1 day' AS at
      FROM generate_series(0, %(sessions)s - 1) AS number) AS s
CROSS JOIN generate_series(1, 50) AS n
"""
WRITES = 200


async def fill(bill: BillBench, sessions: int) -> str:
    """What is worth saying of it."""
    start = datetime.now(UTC) - timedelta(days=364)
    await bill.rows("ALTER TABLE model_calls DISABLE TRIGGER model_calls_sums")
    await bill.database.fetch(FILL, {"start": start, "sessions": sessions})
    await bill.rows("ALTER TABLE model_calls ENABLE TRIGGER model_calls_sums")
    await bill.rows("DELETE FROM bill_state")
    began = time.perf_counter()
    await bill.rows("SELECT bill_use_timezone('UTC')")
    days = (await bill.rows("SELECT count(*) AS n FROM bill_sums"))[0]["n"]
    await bill.rows("ANALYZE model_calls")
    await bill.rows("ANALYZE bill_sums")
    return f"summing all days up again: {time.perf_counter() - began:.1f} s, {days:,} rows"


async def timed(read: Callable[[], Awaitable[object]], times: int) -> list[float]:
    spent = []
    for _ in range(times):
        began = time.perf_counter()
        await read()
        spent.append((time.perf_counter() - began) * 1000)
    return spent


async def measure_reports(url: str, home: Path, run: Run) -> Row:
    async with bill_bench(url, home) as bill:
        run.say(await fill(bill, 200 if run.quick else SESSIONS))
        reports, year = bill.reports, Span(since=(datetime.now(UTC) - timedelta(days=364)).date())
        busy = (await bill.rows("SELECT session_id FROM model_calls LIMIT 1"))[0]["session_id"]
        some = await bill.rows("SELECT DISTINCT ON (session_id) session_id, turn_id FROM model_calls LIMIT 2000")
        page, turns = [row["session_id"] for row in some], [row["turn_id"] for row in some[:100]]
        tokyo = Span(since=year.since, timezone="Asia/Tokyo")
        reads: dict[str, Callable[[], Awaitable[object]]] = {
            **{f"a year by {by}": partial(reports.report, by, year) for by in BY},
            "today by client": reports.today,
            "the last 14 days": reports.last_days,
            "one session with its children": partial(reports.session, busy),
            "a page of 100 sessions with their children": partial(reports.sessions, page[:100]),
            "a page of 100 turns with those below them": partial(reports.turns, turns),
            "2,000 sessions filtered by cost": partial(filtered, bill, page),
            "a year by session": partial(reports.report, "session", year),
            "a year by client in another time zone": partial(reports.report, "client", tokyo),
            "a year of speed": partial(reports.speed, year),
        }
        spent = {name: await timed(read, run.rounds(5)) for name, read in reads.items()}
        for name, times in spent.items():
            run.say(f"{name}: best {min(times):.0f} ms, worst {max(times):.0f} ms")
        bare = await timed(partial(bill.database.fetch, BARE), run.rounds(5))
        return alone(WHAT, statistics.median(spent["a year by tag"]), TAG_MS, baseline=statistics.median(bare))


async def measure_all(url: str, home: Path, run: Run) -> Row:
    core = await Database(url).open()
    await apply_core_schema(core)
    await core.close()
    row = await measure_reports(url, home, run)
    budgets = "".join(
        f"[[bill.budgets]]\nperiod = '{period}'\nlimit_usd = 1e9\n{scope}\n"
        for period in ("day", "month", "session")
        for scope in ("", "key = 'client'")
    )
    for name, settings in (("", ""), (" with six budgets", budgets)):
        async with bill_bench(url, home, settings) as bill:
            await recording(bill, name, run)
    return row


def measure(run: Run) -> Iterable[Row]:
    with home_folder() as home, fresh_database() as url:
        yield asyncio.run(measure_all(url, home, run))


async def filtered(bill: BillBench, session_ids: list[UUID]) -> None:
    async def work(connection: Any) -> object:
        return await bill.reports.costing(connection, session_ids, ">", Decimal("0.2"))

    await bill.database.transaction(work)


async def recording(bill: BillBench, name: str, run: Run) -> None:
    turn = bill.turn("client:c1", "area:work")
    await bill.call(turn, Usage(input_tokens=1, output_tokens=1))
    before, after = [], []
    for _ in range(run.rounds(WRITES)):
        given = bill.arguments(turn)
        before += await timed(partial(bill.begin, given), 1)
        after += await timed(partial(bill.end, given, Usage(input_tokens=1, output_tokens=1)), 1)
    for when, spent in (("before", before), ("after", after)):
        run.say(f"recording {when} a call{name}: median {statistics.median(spent):.1f} ms, worst {max(spent):.1f} ms")
