"""What 100,000 sessions cost, one of 10,000 messages, and 20 of 200 that work at once."""

from __future__ import annotations

import asyncio
import itertools
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from uuid import UUID

import psycopg
from textual import events

from cos.agent.events import MessageDelta, ToolFinished, ToolStarted, TurnStarted
from cos.agent.identity import NewSession, TurnInfo
from cos.agent.ids import new_id
from cos.agent.records import ToolCallRecord, ToolCallStatus
from cos.core.postgres.database import Database
from cos.core.postgres.journal import PostgresJournal
from cos.core.postgres.session_list import Place, SessionList
from cos.core.postgres.statements import core_schema, core_statements
from cos.core.session_query import SessionQuery, parse_session_query
from tests.bench.rows import Row, alone, in_turns_async, p95
from tests.bench.stage import Run, fresh_database
from tests.fix_home import CoreHome
from tests.tui.chat import Chat, chat_in
from tests.tui.long_session import PER_TURN, long_session

COUNT, MESSAGES = 100_000, 10_000
RUNS, KEYS = 20, 200
PAGE_MS, OPEN_MS, ECHO_MS = 50.0, 300.0, 50.0
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
DEEP = b"""
SELECT last_activity_at, id FROM sessions ORDER BY 1, 2 OFFSET (SELECT count(*) / 20 FROM sessions) LIMIT 1
"""
BARE_MESSAGES = b"SELECT body FROM messages WHERE session_id = %(id)s ORDER BY ordinal DESC LIMIT 100"


def fill(url: str, count: int) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(core_schema().text)
        connection.execute(core_statements("start")["add_profile"], {"id": "home"})
        for statement in FILL.split(";\n"):
            if statement.strip():
                connection.execute(statement.encode(), {"count": count} if "%(count)s" in statement else None)


async def measure_pages(url: str, run: Run) -> Iterable[Row]:
    database = await Database(url).open()
    listing, rows = SessionList(database), list[Row]()
    try:
        found = await database.fetch(DEEP)
        deep: Place = (found[0]["last_activity_at"], found[0]["id"])
        with psycopg.connect(url) as connection:

            async def bare() -> float:
                began = time.perf_counter()
                connection.execute(BARE, deep).fetchall()
                return (time.perf_counter() - began) * 1000

            async def page() -> float:
                began = time.perf_counter()
                await listing.page(SessionQuery(), deep)
                return (time.perf_counter() - began) * 1000

            bares, pages = await in_turns_async(run.rounds(RUNS), bare, page)
        what = f"a page of {COUNT:,} sessions, deep in the list, p95"
        rows.append(alone(what, p95(pages), PAGE_MS, baseline=p95(bares)))
        worst = 0.0
        for text in FILTERS:
            query = parse_session_query(text, now=datetime.now(UTC), profiles=["home"])
            spent = statistics.median([await _timed(partial(listing.page, query)) for _ in range(run.rounds(RUNS))])
            run.say(f"first page of {text!r}: {spent:.1f} ms")
            worst = max(worst, spent)
        rows.append(alone("the slowest first page with a filter", worst, PAGE_MS, baseline=statistics.median(bares)))
    finally:
        await database.close()
    return rows


async def _timed(work: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await work()
    return (time.perf_counter() - began) * 1000


async def measure_opening(url: str, run: Run) -> Row:
    """From the wish to open a session of 10,000 messages until it is drawn, beside the bare SQL for as many of them."""
    with tempfile.TemporaryDirectory() as folder:
        home = CoreHome(Path(folder), url)
        core = await home.open()
        opened, bares = list[float](), list[float]()
        ids = [await long_session(core.database, MESSAGES // PER_TURN, f"long {n}") for n in range(run.rounds(5))]
        with psycopg.connect(url) as connection:
            async with chat_in(home) as chat:
                for session_id in ids:
                    began = time.perf_counter()
                    connection.execute(BARE_MESSAGES, {"id": session_id}).fetchall()
                    bares.append((time.perf_counter() - began) * 1000)
                    drawn, began = asyncio.Event(), time.perf_counter()
                    await chat.control.open(session_id)
                    chat.main.conversation.call_after_refresh(drawn.set)
                    await drawn.wait()
                    opened.append((time.perf_counter() - began) * 1000)
        await core.close()
        await home.opened[-1].close()
    return alone(f"open a session of {MESSAGES:,} messages, p95", p95(opened), OPEN_MS, baseline=p95(bares))


async def echo(url: str, *, live: int) -> list[float]:
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
            times = [await one_key(chat) for _ in range(KEYS)]
            busy.cancel()
        await core.close()
        await home.opened[-1].close()
    return times


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


def measure(run: Run) -> Iterable[Row]:
    with fresh_database() as url:
        count = 2_000 if run.quick else COUNT
        fill(url, count)
        yield from asyncio.run(measure_pages(url, run))
    with fresh_database() as url:
        yield asyncio.run(measure_opening(url, run))
    with fresh_database() as url:
        quiet = asyncio.run(echo(url, live=0))
        busy = asyncio.run(echo(url, live=20))
    yield alone("key echo while 20 of 200 sessions work, p95", p95(busy), ECHO_MS, baseline=p95(quiet))
