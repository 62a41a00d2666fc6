"""What 100,000 sessions cost: a page of the list against its bare SQL, filters, and keys while 20 of 200 sessions work.

Run it on a quiet machine: `python -m tests.bench.bench_sessions`. Targets: 50 ms a page, 50 ms for a key.
"""

from __future__ import annotations

import asyncio
import shutil
import statistics
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from pathlib import Path

import psycopg
from psycopg.conninfo import make_conninfo

from cos.core.embedded import EmbeddedPostgres
from cos.core.postgres.database import Database
from cos.core.postgres.session_list import Place, SessionList
from cos.core.postgres.statements import core_schema, core_statements
from cos.core.session_query import SessionQuery, parse_session_query
from tests.fix_database import shared_folder

COUNT = 100_000
RUNS = 20
FILL = """
INSERT INTO sessions (id, profile_id, source, title, tags, root_session_id, parent_session_id, created_at,
                      last_activity_at, seen_at)
SELECT id, 'home', 'cli', 'session ' || n || ' about ' || md5(n::text),
       ARRAY['client:c' || mod(n, 50), 'ticket:' || n], CASE WHEN mod(n, 10) = 9 THEN before_id ELSE id END,
       CASE WHEN mod(n, 10) = 9 THEN before_id END, at, at, now()
FROM (SELECT n, ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid AS id,
             ('00000000-0000-7000-8000-' || lpad(to_hex(n - 1), 12, '0'))::uuid AS before_id,
             now() - make_interval(mins => %(count)s - n) AS at
      FROM generate_series(1, %(count)s) n) made;
INSERT INTO turns (id, session_id, profile_id, ordinal, status, owner_boot_id, started_at, completed_at)
SELECT gen_random_uuid(), s.id, s.profile_id, n, CASE WHEN s.title ~ '9 about' THEN 'failed' ELSE 'completed' END,
       gen_random_uuid(), s.created_at, s.created_at
FROM sessions s, generate_series(1, 2) n;
ANALYZE;
"""
FILTERS = ("", "about", "session 17 ", "#ticket:100", "#client", "state:failed", "state:running", "since:2h", "nowhere")
BARE = b"""
SELECT id, title, last_activity_at FROM sessions
WHERE (last_activity_at, id) < (%s, %s) ORDER BY last_activity_at DESC, id DESC LIMIT 100
"""


def fill(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(core_schema())
        connection.execute(core_statements("start")["add_profile"], {"id": "home"})
        for statement in FILL.split(";\n"):
            if statement.strip():
                connection.execute(statement.encode(), {"count": COUNT} if "%(count)s" in statement else None)


async def timed(work: Callable[[], Awaitable[object]]) -> str:
    spent = []
    for _ in range(RUNS):
        started = time.perf_counter()
        await work()
        spent.append((time.perf_counter() - started) * 1000)
    return f"median {statistics.median(spent):6.1f} ms, worst {max(spent):6.1f} ms"


async def measure_pages(url: str) -> None:
    database = await Database(url).open()
    listing = SessionList(database)
    try:
        rows = await database.fetch(b"SELECT last_activity_at, id FROM sessions ORDER BY 1, 2 OFFSET 5000 LIMIT 1")
        deep: Place = (rows[0]["last_activity_at"], rows[0]["id"])
        with psycopg.connect(url) as bare:
            connection = bare

            async def bare_page() -> None:
                connection.execute(BARE, deep).fetchall()

            print(f"bare SQL, page at 95,000      {await timed(bare_page)}")
        print(f"page at 95,000                {await timed(lambda: listing.page(SessionQuery(), deep))}")
        print(f"those that need you           {await timed(lambda: listing.pressing(SessionQuery()))}")
        ids = [row.id for row in (await listing.page(SessionQuery())).rows]
        print(f"one row again                 {await timed(lambda: listing.refreshed(SessionQuery(), ids[:1]))}")
        for text in FILTERS:
            query = parse_session_query(text, now=datetime.now(UTC), profiles=["home"])
            first = await listing.page(query)
            print(
                f"first page of {text!r:15} {await timed(lambda query=query: listing.page(query))}"  # type: ignore[misc]
                f", {len(first.rows)} rows{', goes on' if first.next else ''}"
            )
    finally:
        await database.close()


def main() -> None:
    folder = shared_folder()
    server = EmbeddedPostgres(Path(folder) / "pg")
    try:
        target = server.attach()
        admin = make_conninfo(**target.conninfo_parameters("postgres"))
        with psycopg.connect(admin, autocommit=True) as connection:
            connection.execute("CREATE DATABASE many")
        url = make_conninfo(**target.conninfo_parameters("many"))
        started = time.perf_counter()
        fill(url)
        print(f"filled {COUNT:,} sessions in {time.perf_counter() - started:.0f} s")
        asyncio.run(measure_pages(url))
    finally:
        server.leave()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
