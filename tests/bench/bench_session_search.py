"""What a search over 1,000,000 messages costs, beside bare SQL that only finds the newest ones with a word.

What begins hundreds of words may take longer beside another such beginning or a middling word: the index reads all of
those.
"""

from __future__ import annotations

import asyncio
import gc
import random
import statistics
import time
from collections.abc import Awaitable, Callable, Iterable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import accumulate
from uuid import UUID

import psycopg

from cos.core.postgres.database import Database
from cos.core.postgres.session_search import SessionSearch
from cos.core.postgres.statements import before_schema, core_schema, core_statements
from cos.core.searching import SearchWish
from tests.bench.rows import Row, alone, p95
from tests.bench.stage import Run, fresh_database

COUNT = 1_000_000
IN_A_SESSION, IN_A_TURN = 50, 5
VOCABULARY = 50_000
RUNS = 40
P95_MS = 50.0
CHARACTERS = 3_000
"""Chinese ones that are used, as often as in a language."""
CJK = ("昨天的部署脚本报错问题", "数据库连接超时", "デプロイ手順を更新", "배포 스크립트를 고쳤다")
COMMON, PHRASE = ["w0", "w1", "w2", "w3"], '"needle haystack"'
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


def fill(url: str, count: int) -> str:
    """What is worth saying of it."""
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
        connection.execute(b"VACUUM ANALYZE")
        return (
            f"index of {size[0] / 1e6:,.0f} MB beside {size[1] / 1e6:,.0f} MB of messages, "
            f"built in {time.perf_counter() - started:.0f} s"
        )


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


async def measure_search(url: str, count: int, run: Run) -> list[float]:
    """Milliseconds of every search of an agent."""
    database = await Database(url, size=1).open()
    search, all_spent = SessionSearch(database), list[float]()
    gc.freeze()  # As the program does after its start.
    try:
        for who, wish in {
            "agent": SearchWish(profiles=("home",), limit=3, asking=UUID(int=1), with_undone=True),
            "small profile": SearchWish(profiles=("work",), limit=3),
            "box": SearchWish(profiles=("home", "work"), limit=50),
        }.items():
            for name, words in queries(count).items():
                asked = [words[number % len(words)] for number in range(run.rounds(RUNS))]
                spent = [await _timed(partial(search.find, text, wish)) for text in asked]
                run.say(f"{who:14} {name:24} median {statistics.median(spent):6.1f} ms, p95 {p95(spent):6.1f} ms")
                if who == "agent":
                    all_spent += spent
    finally:
        gc.unfreeze()
        await database.close()
    return all_spent


async def measure_bare(url: str, run: Run) -> list[float]:
    """The newest 300 messages with a word, whatever their sessions."""
    spent = list[float]()
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
        for word in ("rare11", "sometimes", "word1f4", *COMMON):

            async def newest(word: str = word) -> None:
                await (await connection.execute(BARE_NEWEST, (word,))).fetchall()

            spent += [await _timed(newest) for _ in range(run.rounds(5))]
    return spent


async def _timed(work: Callable[[], Awaitable[object]]) -> float:
    began = time.perf_counter()
    await work()
    return (time.perf_counter() - began) * 1000


def measure(run: Run) -> Iterable[Row]:
    count = 20_000 if run.quick else COUNT
    with fresh_database() as url:
        began = time.perf_counter()
        run.say(f"{fill(url, count)}; filled {count:,} messages in {time.perf_counter() - began:.0f} s")
        found, bare = asyncio.run(measure_search(url, count, run)), asyncio.run(measure_bare(url, run))
    yield alone(f"session_search over {COUNT:,} messages, p95", p95(found), P95_MS, baseline=p95(bare))
