"""What a search over 1,000,000 messages costs, beside the bare SQL that has all of them counted or sorted.

Run it on a quiet machine: `python -m tests.bench.bench_session_search [MESSAGES]`. Target: p95 below 50 ms. What
begins hundreds of words may take longer beside another such beginning or a middling word: the index reads all of those.
"""

from __future__ import annotations

import asyncio
import gc
import os
import random
import shutil
import statistics
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import accumulate
from pathlib import Path
from uuid import UUID

import psycopg
from psycopg.conninfo import make_conninfo

from cos.core.embedded import EmbeddedPostgres
from cos.core.postgres.database import Database
from cos.core.postgres.session_search import SessionSearch
from cos.core.postgres.statements import before_schema, core_schema, core_statements
from cos.core.searching import SearchWish
from tests.fix_database import shared_folder

COUNT = 1_000_000
IN_A_SESSION, IN_A_TURN = 50, 5
VOCABULARY = 50_000
RUNS = 40
CHARACTERS = 3_000
"""Chinese ones that are used, as often as in a language."""
CJK = ("昨天的部署脚本报错问题", "数据库连接超时", "デプロイ手順を更新", "배포 스크립트를 고쳤다")
COMMON, PHRASE = ["w0", "w1", "w2", "w3"], '"needle haystack"'
BARE_COUNT = b"SELECT count(*) FROM messages WHERE words @@ plainto_tsquery('pg_catalog.simple', %s)"
BARE_NEWEST = (
    b"SELECT id FROM messages WHERE words @@ plainto_tsquery('pg_catalog.simple', %s) ORDER BY number DESC LIMIT 300"
)
START = datetime(2026, 1, 1, tzinfo=UTC)


def texts(count: int) -> Iterator[tuple[str, str]]:
    """Role and text of each message: words as often as in a language (the n-th most frequent 1/n as often)."""
    chance = random.Random(7)
    words = [f"w{number}" if number < 100 else f"word{number:x}" for number in range(VOCABULARY)]
    weights = list(accumulate(1 / (number + 1) for number in range(VOCABULARY)))
    characters = [chr(0x4E00 + number * 6) for number in range(CHARACTERS)]
    usual = list(accumulate(1 / (number + 10) for number in range(CHARACTERS)))
    for number in range(count):
        role = ("user", "assistant", "assistant", "tool_result", "assistant")[number % IN_A_TURN]
        length = {"user": 12, "assistant": 45, "tool_result": 90}[role]
        text = chance.choices(words, cum_weights=weights, k=chance.randint(length // 2, length * 2))
        if number % 20 == 0:
            sentence = "".join(chance.choices(characters, cum_weights=usual, k=chance.randint(5, 60)))
            text += [sentence, CJK[number // 20 % 4] if number % 500 == 0 else ""]
        if number % 10_000 == 11:
            text += ["needle", "haystack", f"rare{number}"]
        if number % 1_000 == 1:
            text.append("sometimes src/loader_part.py")
        yield role, " ".join(text)


def fill(url: str, count: int) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(before_schema())
        connection.execute(core_schema().text)
        connection.execute(b"SET synchronous_commit = off; SET maintenance_work_mem = '512MB'")
        definition = connection.execute(b"SELECT pg_get_indexdef('messages_words'::regclass)").fetchall()[0][0]
        connection.execute(b"DROP INDEX messages_words")
        for profile in ("home", "work"):
            connection.execute(core_statements("start")["add_profile"], {"id": profile})
        connection.execute(
            b"INSERT INTO sessions (id, profile_id, source, title, root_session_id, created_at, last_activity_at)"
            b" SELECT id, CASE WHEN mod(n, 10) = 0 THEN 'work' ELSE 'home' END, 'cli',"
            b" 'session ' || n || ' about w' || mod(n, 9), id, at, at"
            b" FROM (SELECT n, ('00000000-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid AS id,"
            b" timestamptz '2026-01-01Z' + make_interval(mins => n) AS at FROM generate_series(0, %s) n) made",
            (count // IN_A_SESSION,),
        )
        connection.execute(
            b"INSERT INTO turns (id, session_id, profile_id, ordinal, status, owner_boot_id, started_at, completed_at)"
            b" SELECT ('00000000-0000-7000-9000-' || lpad(to_hex(n), 12, '0'))::uuid, s.id, s.profile_id,"
            b" mod(n, 10) + 1, 'completed', s.id, s.created_at, s.created_at FROM generate_series(0, %s) n"
            b" JOIN sessions s ON s.id = ('00000000-0000-7000-8000-' || lpad(to_hex(n / 10), 12, '0'))::uuid",
            (count // IN_A_TURN,),
        )
        _fill_messages(connection, count)
        started = time.perf_counter()
        connection.execute(definition.encode())
        size = connection.execute(b"SELECT pg_relation_size('messages_words'), pg_table_size('messages')").fetchall()[0]
        print(
            f"index of {size[0] / 1e6:,.0f} MB beside {size[1] / 1e6:,.0f} MB of messages, "
            f"built in {time.perf_counter() - started:.0f} s"
        )
        connection.execute(b"VACUUM ANALYZE")


def _fill_messages(connection: psycopg.Connection, count: int) -> None:
    statement = (
        b"COPY messages (id, session_id, turn_id, profile_id, ordinal, role, call_id, body, search_text, created_at)"
        b" FROM STDIN"
    )
    with connection.cursor() as cursor, cursor.copy(statement) as copy:
        for number, (role, text) in enumerate(texts(count)):
            session, turn = number // IN_A_SESSION, number // IN_A_TURN
            copy.write_row(
                (
                    UUID(int=(0x7000_A000 << 64) + number), _id(0x8000, session), _id(0x9000, turn),
                    "work" if session % 10 == 0 else "home", number % IN_A_SESSION + 1, role,
                    f"c{number}" if role == "tool_result" else None, "{}", text, START + timedelta(seconds=number),
                )
            )  # fmt: skip


def _id(kind: int, number: int) -> UUID:
    return UUID(int=(0x7000 << 64) + (kind << 48) + number)


def queries(count: int) -> dict[str, list[str]]:
    chance = random.Random(8)
    rare = [f"rare{number}" for number in range(11, count, 10_000)]
    return {
        "rare word": rare,
        "word in 1 of 1,000": ["sometimes"],
        "common word": COMMON,
        "two common words": ["w0 w1", "w2 w5", "w1 w7"],
        "common and rare": [f"w0 {word}" for word in rare],
        "middling words": [f"word{chance.randint(100, 5000):x}" for _ in range(20)],
        "two middling words": [f"word{chance.randint(100, 900):x} word{chance.randint(100, 900):x}" for _ in range(20)],
        "phrase": [PHRASE],
        "phrase of common words": ['"w0 w3"', '"w1 w0"'],
        "phrase that never was": ['"w3 w2 w1 w0 w1 w2"', '"sometimes needle"'],
        "exclusion": ["needle -w0", "w0 -w1"],
        "CJK": ["部署脚本", "数据", "手順", "스크립트", "报错", "脚本报错问题"],
        "CJK, two characters": ["".join(chr(0x4E00 + 6 * chance.randint(0, 200)) for _ in range(2)) for _ in range(20)],
        "CJK, one character": [chr(0x4E00), chr(0x4E00 + 600), chr(0x4E00 + 6000)],
        "CJK and a word": ["w1 部署", "needle 部署"],
        "path": ["src/loader_part.py"],
        "part of a word": ["oader_par", "ometim"],
        "rare beginning": ["needl*", "someti*"],
        "beginning": ["word3f*", "word3f0*", "wor*"],
        "beginning and rare": ["needle word3f*", "needle wor*"],
        "no hit": ["nowhere", "zzzz qqqq", "不存在的词语"],
        "either": ["needle OR sometimes", "nowhere OR w0"],
    }


class Clock:
    """Times a search on the wall and in the processors: here and in the server's process, which take turns.

    What others do on the machine makes only the first one longer.
    """

    def __init__(self, backend: int) -> None:
        self._work = Path(f"/proc/{backend}/schedstat")
        """Its first number is the nanoseconds that the process ran (Linux)."""

    async def timed(self, runs: Sequence[Callable[[], Awaitable[object]]]) -> str:
        wall, work = [], []
        for run in runs:
            started, worked = time.perf_counter(), self._worked()
            await run()
            wall.append((time.perf_counter() - started) * 1000)
            work.append(self._worked() - worked)
        return f"{_told(wall)}; processor {_told(work)}"

    def _worked(self) -> float:
        """Milliseconds."""
        return time.process_time() * 1000 + int(self._work.read_text().split()[0]) / 1e6


def _told(spent: list[float]) -> str:
    spent.sort()
    p95 = spent[min(len(spent) - 1, int(len(spent) * 0.95))]
    return f"median {statistics.median(spent):6.1f} ms, p95 {p95:6.1f} ms"


async def measure(url: str, count: int) -> None:
    database = await Database(url, size=1).open()
    search = SessionSearch(database)
    gc.freeze()  # As the program does after its start.
    clock = Clock((await database.fetch(b"SELECT pg_backend_pid() AS pid"))[0]["pid"])
    print(f"load of the machine: {os.getloadavg()[0]:.1f}")
    try:
        for who, wish in {
            "agent": SearchWish(profiles=("home",), limit=3, asking=UUID(int=1), with_undone=True),
            "small profile": SearchWish(profiles=("work",), limit=3),
            "box": SearchWish(profiles=("home", "work"), limit=50),
        }.items():
            for name, words in queries(count).items():
                asked = [words[number % len(words)] for number in range(RUNS)]
                found = await search.find(asked[0], wish)
                times = await clock.timed([partial(search.find, text, wish) for text in asked])
                print(f"{who:14} {name:24} {times}, {len(found.hits)} sessions")
    finally:
        await database.close()


async def measure_bare(url: str) -> None:
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        clock = Clock(connection.info.backend_pid)
        for word in ("rare11", "sometimes", "word1f4", *COMMON):

            async def counted(word: str = word) -> None:
                await (await connection.execute(BARE_COUNT, (word,))).fetchall()

            async def newest(word: str = word) -> None:
                await (await connection.execute(BARE_NEWEST, (word,))).fetchall()

            print(f"bare SQL       {word:9} all counted    {await clock.timed([counted] * 5)}")
            print(f"bare SQL       {word:9} the newest 300 {await clock.timed([newest] * 5)}")


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else COUNT
    folder = shared_folder()
    server = EmbeddedPostgres(Path(folder) / "pg")
    try:
        target = server.attach()
        with psycopg.connect(make_conninfo(**target.conninfo_parameters("postgres")), autocommit=True) as connection:
            connection.execute("CREATE DATABASE many")
        url = make_conninfo(**target.conninfo_parameters("many"))
        started = time.perf_counter()
        fill(url, count)
        print(f"filled {count:,} messages in {time.perf_counter() - started:.0f} s", flush=True)
        asyncio.run(measure(url, count))
        asyncio.run(measure_bare(url))
    finally:
        server.leave()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
