"""What reports cost with 1,000,000 model calls of one year, and what a call costs to record.

Run it on a quiet machine: `python -m tests.bench.bench_cost`.
"""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

from psycopg.conninfo import make_conninfo

from cos.agent.events import Usage
from cos.core.embedded import EmbeddedPostgres
from cos.core.postgres.database import Database
from cos.core.postgres.schema import apply_core_schema
from cos.plugins.bill.reports import Span
from tests.bill_bench import BillBench, bill_bench
from tests.fix_database import shared_folder

CALLS = 1_000_000
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
             %(start)s::timestamptz + (number * 365.0 / 20000) * interval '1 day' AS at
      FROM generate_series(0, 19999) AS number) AS s
CROSS JOIN generate_series(1, 50) AS n
"""
WRITES = 200


async def fill(bill: BillBench) -> None:
    start = datetime.now(UTC) - timedelta(days=364)
    await bill.rows("ALTER TABLE model_calls DISABLE TRIGGER model_calls_sums")
    await bill.database.fetch(FILL, {"start": start})
    await bill.rows("ALTER TABLE model_calls ENABLE TRIGGER model_calls_sums")
    await bill.rows("DELETE FROM bill_state")
    began = time.perf_counter()
    await bill.rows("SELECT bill_use_timezone('UTC')")
    days = (await bill.rows("SELECT count(*) AS n FROM bill_sums"))[0]["n"]
    print(f"summing all days up again: {time.perf_counter() - began:.1f} s, {days:,} rows")
    await bill.rows("ANALYZE model_calls")
    await bill.rows("ANALYZE bill_sums")


async def measure(name: str, read: Callable[[], Awaitable[object]], times: int = 5) -> None:
    spent = []
    for _ in range(times):
        began = time.perf_counter()
        await read()
        spent.append(time.perf_counter() - began)
    print(f"{name}: best {min(spent) * 1000:.0f} ms, worst {max(spent) * 1000:.0f} ms")


async def main(state: Path) -> None:
    server = EmbeddedPostgres(state / "pg")
    target = server.attach()
    try:
        url = make_conninfo(**target.conninfo_parameters("postgres"))
        core = await Database(url).open()
        await apply_core_schema(core)
        await core.close()
        async with bill_bench(url, state / "home") as bill:
            await fill(bill)
            reports, year = bill.reports, Span(since=(datetime.now(UTC) - timedelta(days=364)).date())
            busy = (await bill.rows("SELECT session_id FROM model_calls LIMIT 1"))[0]["session_id"]
            for by in ("client", "tag", "profile", "model", "day", "month"):
                await measure(f"a year by {by}", lambda by=by: reports.report(by, year))  # type: ignore[misc]
            await measure("today by client", reports.today)
            await measure("the last 14 days", reports.last_days)
            await measure("one session with its children", lambda: reports.session(busy))
            some = await bill.rows("SELECT DISTINCT ON (session_id) session_id, turn_id FROM model_calls LIMIT 2000")
            page = [row["session_id"] for row in some]
            await measure("a page of 100 sessions with their children", lambda: reports.sessions(page[:100]))
            turns = [row["turn_id"] for row in some[:100]]
            await measure("a page of 100 turns with those below them", lambda: reports.turns(turns))
            await measure("2,000 sessions filtered by cost", lambda: filtered(bill, page))
            await measure("a year by session", lambda: reports.report("session", year), 2)
            tokyo = Span(since=year.since, timezone="Asia/Tokyo")
            await measure("a year by client in another time zone", lambda: reports.report("client", tokyo), 2)
            await measure("a year of speed", lambda: reports.speed(year), 2)
            await recording(bill)
        budgets = "".join(
            f"[[bill.budgets]]\nperiod = '{period}'\nlimit_usd = 1e9\n{scope}\n"
            for period in ("day", "month", "session")
            for scope in ("", "key = 'client'")
        )
        async with bill_bench(url, state / "home", budgets) as bill:
            print("with six budgets:")
            await recording(bill)
    finally:
        server.leave()


async def filtered(bill: BillBench, session_ids: list[UUID]) -> None:
    async def work(connection: Any) -> object:
        return await bill.reports.costing(connection, session_ids, ">", Decimal("0.2"))

    await bill.database.transaction(work)


async def recording(bill: BillBench) -> None:
    turn = bill.turn("client:c1", "area:work")
    await bill.call(turn, Usage(input_tokens=1, output_tokens=1))
    before, after = [], []
    for _ in range(WRITES):
        given = bill.arguments(turn)
        began = time.perf_counter()
        await bill.begin(given)
        middle = time.perf_counter()
        await bill.end(given, Usage(input_tokens=1, output_tokens=1))
        before.append(middle - began)
        after.append(time.perf_counter() - middle)
    for name, spent in (("before", before), ("after", after)):
        spent.sort()
        print(f"recording {name} a call: median {spent[WRITES // 2] * 1000:.1f} ms, worst {spent[-1] * 1000:.1f} ms")


if __name__ == "__main__":
    folder = shared_folder()
    try:
        asyncio.run(main(folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
