"""What 100,000 sessions cost: a page of the list against its bare SQL, filters, and keys while 20 of 200 sessions work.

Run it on a quiet machine: `python -m tests.bench.bench_sessions`. Targets: 50 ms a page, 50 ms for a key.
"""

from __future__ import annotations

import asyncio
import itertools
import shutil
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import psycopg
from psycopg.conninfo import make_conninfo
from textual import events

from cos.agent.events import MessageDelta, ToolFinished, ToolStarted, TurnStarted
from cos.agent.identity import NewSession, TurnInfo
from cos.agent.ids import new_id
from cos.agent.records import ToolCallRecord, ToolCallStatus
from cos.core.embedded import EmbeddedPostgres
from cos.core.postgres.database import Database
from cos.core.postgres.journal import PostgresJournal
from cos.core.postgres.session_list import Place, SessionList
from cos.core.postgres.statements import core_schema, core_statements
from cos.core.session_query import SessionQuery, parse_session_query
from tests.fix_database import shared_folder
from tests.fix_home import CoreHome
from tests.tui.chat import Chat, chat_in

COUNT = 100_000
RUNS = 20
KEYS = 200
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
        connection.execute(core_schema().text)
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


async def echo(url: str, *, live: int) -> None:
    """Keys into the composer while `live` of 200 sessions stream, call tools and begin turns."""
    with tempfile.TemporaryDirectory() as folder:
        home = CoreHome(Path(folder), url)
        core = await home.open()
        journal = PostgresJournal(core.database)
        ids = [
            await journal.create_session(NewSession(profile_id="home", source="cli", title=f"session {number}"))
            for number in range(200 if live == 0 else 0)
        ] or [row.id for row in (await core.session_list.page(SessionQuery(), limit=200)).rows]
        async with chat_in(home) as chat:
            busy = asyncio.create_task(keep_busy(chat, ids[:live]))
            cpu, started = time.process_time(), time.perf_counter()
            times = [await one_key(chat) for _ in range(KEYS)]
            share = (time.process_time() - cpu) / (time.perf_counter() - started)
            busy.cancel()
        await core.close()
        await home.opened[-1].close()
    times.sort()
    print(
        f"key echo, {live:2} of 200 live      median {times[len(times) // 2]:6.1f} ms, "
        f"p95 {times[int(len(times) * 0.95)]:6.1f} ms, worst {times[-1]:6.1f} ms, {share:.0%} of a core"
    )


async def one_key(chat: Chat) -> float:
    """Milliseconds from a key until the screen with it was made."""
    composer, drawn = chat.main.composer, asyncio.Event()
    before = len(composer.text)
    started = time.perf_counter()
    composer.post_message(events.Key("x", "x"))
    while len(composer.text) == before:
        await asyncio.sleep(0)
    composer.call_after_refresh(drawn.set)
    await drawn.wait()
    spent = (time.perf_counter() - started) * 1000
    await asyncio.sleep(0.03)
    return spent


async def keep_busy(chat: Chat, ids: Sequence[UUID]) -> None:
    """20 deltas a second each, a tool call every second, and a change of its row every second."""
    publish = chat.core.feed.publish
    turns = [TurnInfo(profile_id="home", session_id=session_id, turn_id=new_id()) for session_id in ids]
    for number in itertools.count():
        for place, turn in enumerate(turns):
            message_id = turn.turn_id
            publish(MessageDelta(turn=turn, message_id=message_id, text="some words of the answer "))
            match (number + place) % 20:
                case 0:
                    publish(TurnStarted(turn=turn, started_at=datetime.now(UTC)))
                case 5:
                    publish(ToolStarted(turn=turn, call_id=f"c{number}", name="terminal"))
                case 15:
                    record = ToolCallRecord(
                        call_id=f"c{number - 10}", name="terminal", args={}, status=ToolCallStatus.OK
                    )
                    publish(ToolFinished(turn=turn, call_id=record.call_id, name="terminal", record=record))
        await asyncio.sleep(0.05)


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
        with psycopg.connect(admin, autocommit=True) as connection:
            connection.execute("CREATE DATABASE few")
        for live in (0, 20):
            asyncio.run(echo(make_conninfo(**target.conninfo_parameters("few")), live=live))
    finally:
        server.leave()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
