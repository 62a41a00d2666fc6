"""Searching all conversations on a real database: what is found, in which order, and what is not."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import psycopg
import pytest

from cos.agent.identity import NewSession, TurnInfo
from cos.agent.ids import new_id
from cos.agent.messages import AssistantMessage, Message, ToolCall, ToolResultMessage, UserMessage
from cos.agent.providers.scripted import said
from cos.agent.records import TurnStatus
from cos.core.errors import SearchError
from cos.core.postgres import session_search
from cos.core.postgres.database import Database
from cos.core.postgres.journal import PostgresJournal
from cos.core.postgres.schema import apply_core_schema
from cos.core.postgres.session_search import SessionSearch
from cos.core.searching import SearchHit, SearchWish, Sort
from tests.core_bench import core_bench

CJK = ("昨天的部署脚本报错问题", "デプロイ手順を更新", "배포 스크립트를 고쳤다")


async def talk(
    database: Database, *texts: str, title: str | None = "t", profile: str = "home", parent: UUID | None = None
) -> UUID:
    """A session with a turn for each text: the user says it, the model says nothing worth finding."""
    journal = PostgresJournal(database)
    session = NewSession(profile_id=profile, source="cli", title=title, parent_session_id=parent)
    made = await journal.create_session(session)
    for text in texts:
        await turn_of(database, made, UserMessage(text=text), AssistantMessage(text="fine"), profile=profile)
    return made


async def turn_of(database: Database, session_id: UUID, *messages: Message, profile: str = "home") -> TurnInfo:
    journal = PostgresJournal(database)
    turn = TurnInfo(profile_id=profile, session_id=session_id, turn_id=new_id())
    await journal.start_turn(turn)
    for message in messages:
        await journal.append_message(turn, message)
    await journal.finish_turn(turn, TurnStatus.COMPLETED)
    return turn


async def find(database: Database, text: str, *, asking: UUID | None = None, **wish: object) -> list[SearchHit]:
    wanted = SearchWish(**{"profiles": ("home",), "limit": 10, "asking": asking} | wish)  # type: ignore[arg-type]
    return list((await SessionSearch(database).find(text, wanted)).hits)


@pytest.mark.parametrize(
    ("typed", "marked"),
    [
        ("部署脚本", "昨天的>>>部署脚本<<<报错问题"),
        ("手順", "デプロイ>>>手順<<<を更新"),
        ("스크립트", "배포 >>>스크립트<<<를 고쳤다"),
        ("deploy 部署", ">>>deploy<<< after >>>部署<<<"),
        ("本", "昨天的部署脚>>>本<<<报错问题"),
    ],
)
async def test_scripts_without_spaces_are_found_and_marked_H_055(database: Database, typed: str, marked: str) -> None:
    await talk(database, *CJK)
    await talk(database, "deploy after 部署")
    assert marked in [hit.snippet.marked for hit in await find(database, typed)]
    assert await find(database, "署部") == []


@pytest.mark.parametrize(
    ("typed", "titles"),
    [
        ("部署 OR test-run OR errors", ["chinese", "errors", "hyphen"]),
        ("test-run", ["hyphen"]),
        ("test run", ["hyphen"]),
        ('"exact phrase" -not', ["phrase"]),
        ('"phrase exact"', []),
        ("AND AND", ["and", "escape"]),
        ("OR", []),
        ('"unclosed', []),
        ("a & | b", []),
        ("'; DROP TABLE messages; --", []),
        ("%", []),
        ("\\u0000", ["escape"]),
        ("loader_part", ["path"]),
        ("loader.part.py", ["path"]),
        ("loader.py", []),
        ("part.py", ["path"]),
        ("oader_pa", ["path"]),
        ("ÜBER", ["umlaut"]),
        ("err*", ["errors"]),
        pytest.param("x " * 5_000, [], id="10 kB"),
        pytest.param("\x00\ud800", [], id="unstorable"),
        ("🎉", ["party"]),
        ("🎉 -many", ["party"]),
        ("🎉 -done", []),
        ('🎉 -"so done"', ["party"]),
        ("🎉 -done OR missing", []),
        ("🎉 OR über", ["umlaut"]),
    ],
)
async def test_no_text_is_an_error_and_operators_work_H_056(database: Database, typed: str, titles: list[str]) -> None:
    for title, text in {
        "chinese": CJK[0], "hyphen": "a test-run of it", "errors": "many errors came",
        "phrase": "the exact phrase is here", "both": "the exact phrase is not here", "and": "this and that",
        "escape": "keep \\u0000 and \\\\u0000 as typed", "path": "see src/loader_part.py:12", "umlaut": "über uns",
        "party": "done 🎉",
    }.items():  # fmt: skip
        await talk(database, text, title=f"{title}!")
    found = await find(database, typed)
    assert sorted((hit.title or "").rstrip("!") for hit in found) == titles


async def test_what_only_spells_an_escape_comes_back_as_it_was_typed_H_009(database: Database) -> None:
    await talk(database, "keep \\u0000 and \\\\u0000 and C:\\u0000dir as typed")
    (hit,) = await find(database, "u0000 typed")
    assert hit.snippet.text == "keep \\u0000 and \\\\u0000 and C:\\u0000dir as typed"


async def test_a_title_comes_first_then_what_fits_best_then_the_newest(database: Database) -> None:
    loose = await talk(database, "deploy, and much later, after many other words, the " + "x " * 50 + "script")
    close = await talk(database, "deploy script deploy script")
    named = await talk(database, "nothing of it", title="Deploy the script")
    newest = await talk(database, "deploy, and much later, after many other words, the " + "x " * 50 + "script")
    found = await find(database, "deploy script")
    assert [hit.root_session_id for hit in found] == [named, close, newest, loose]
    assert [hit.in_title for hit in found] == [True, False, False, False]

    async def by(sort: Sort) -> list[UUID]:
        return [hit.root_session_id for hit in await find(database, '"deploy" script', sort=sort)]

    assert await by("newest") == [newest, named, close, loose]
    assert await by("oldest") == [loose, close, named, newest]


async def test_a_session_and_its_children_are_one_hit(database: Database) -> None:
    root = await talk(database, "duck", title="root")
    child = await talk(database, "duck duck duck", title="child", parent=root)
    grandchild = await talk(database, "goose", title="grandchild", parent=child)
    (hit,) = await find(database, "duck")
    assert (hit.root_session_id, hit.session_id, hit.found) == (root, child, 2)
    assert (hit.title, hit.own_title, hit.is_in_child) == ("root", "child", True)
    (hit,) = await find(database, "goose")
    assert (hit.root_session_id, hit.session_id) == (root, grandchild)


async def test_only_what_the_asking_model_has_before_it_is_left_out(core_url: str, tmp_path: Path) -> None:
    async with core_bench(core_url, tmp_path, [said("one"), said("All about geese"), said("two"), said("x")]) as core:
        session = (await core.ask("find the duck")).turn.session_id
        assert await find(core.database, "duck", asking=session) == []
        assert len(await find(core.database, "duck")) == 1
        await core.idle(session)
        await core.ended(await core.dispatcher.compact(session, ""))
        (hit,) = await find(core.database, "duck", asking=session)
        assert (hit.root_session_id, hit.is_active) == (session, False)
        assert await find(core.database, "geese", asking=session) == []


async def test_what_was_rewound_is_found_only_by_who_asks_for_it(database: Database) -> None:
    session = await talk(database, "duck")
    await database.fetch(b"UPDATE turns SET undone_at = now()")
    await database.fetch(b"UPDATE messages SET active = false")
    assert await find(database, "duck") == []
    (hit,) = await find(database, "duck", asking=session, with_undone=True)
    assert hit.is_undone


async def test_profiles_are_apart_and_roles_are_as_wanted(database: Database) -> None:
    await talk(database, "duck at work", profile="work")
    session = await talk(database, title="mine")
    call = ToolCall(id="c", name="terminal", args={})
    await turn_of(
        database, session, AssistantMessage(tool_calls=[call]),
        ToolResultMessage(call_id="c", content="duck of a tool", is_error=False), AssistantMessage(text="a duck"),
    )  # fmt: skip
    assert [hit.role for hit in await find(database, "duck")] == ["assistant"]
    assert [hit.role for hit in await find(database, "duck", roles=("tool_result",))] == ["tool_result"]
    assert await find(database, "duck", roles=("user",)) == []
    assert [hit.profile_id for hit in await find(database, "duck", profiles=("work",))] == ["work"]
    assert len(await find(database, "duck", profiles=("home", "work"))) == 2
    assert await find(database, "duck", profiles=()) == []
    assert await find(database, "duck", profiles=("home' | 'work",)) == []


@pytest.mark.parametrize(
    ("newest", "named"),
    [
        (0, ["0"]),
        (8_192, ["0", "1"]),
        (131_071, [str(number) for number in range(16)]),
        (131_072, ["large 0", *(str(number) for number in range(8, 17))]),
        (200_000, ["large 0", "large 1", *(str(number) for number in range(16, 25))]),
    ],
)
def test_every_message_is_in_one_place(newest: int, named: list[str]) -> None:
    assert session_search.places(newest, 1) == [[block] for block in named]
    assert session_search.places(newest, -1) == [[block] for block in named[::-1]]


def test_beginnings_are_looked_for_nearby_then_in_few_places() -> None:
    newest = 400_000
    assert session_search.few_places(newest, 1) == [[f"large {n}" for n in range(4)], ["large 4", "large 5", "large 6"]]
    assert session_search.few_places(newest, -1)[1] == ["large 2", "large 1", "large 0"]
    assert session_search.near_places(newest, -1) == [["48", "47"], ["46", "45", "44", "43", "42", "41"]]
    assert session_search.near_places(8_191, 1) == [["0"], []]


@pytest.mark.parametrize("typed", ["duc*", "duc* said", "duc* -old", "nothing OR duc*"])
@pytest.mark.parametrize("candidates", [1, 2, 300])
async def test_of_a_frequent_beginning_the_newest_are_found_wherever_they_are(
    database: Database, monkeypatch: pytest.MonkeyPatch, typed: str, candidates: int
) -> None:
    """With few candidates the first place is enough; with many, the words beside the beginning or the index lead."""
    old = await talk(database, "ducks said quack")
    await database.fetch(b"SELECT setval(pg_get_serial_sequence('messages', 'number'), 500000)")
    new = [await talk(database, f"duck {number} said so") for number in range(2)]
    monkeypatch.setattr(session_search, "CANDIDATES", candidates)
    found = await find(database, typed, sort="newest")
    assert [hit.root_session_id for hit in found] == [*new[::-1], old][:candidates]


async def test_older_blocks_are_searched_when_the_newest_holds_too_little(database: Database) -> None:
    old = await talk(database, "duck of old")
    await database.fetch(b"SELECT setval(pg_get_serial_sequence('messages', 'number'), 500000)")
    new = await talk(database, "duck of now")
    assert [hit.root_session_id for hit in await find(database, "duck", sort="newest")] == [new, old]
    assert [hit.root_session_id for hit in await find(database, "duck", sort="oldest")] == [old, new]
    for typed in ("uck of", "duc*"):
        assert [hit.root_session_id for hit in await find(database, typed)] == [new, old]
        assert [hit.root_session_id for hit in await find(database, typed, sort="oldest")] == [old, new]


async def test_of_many_matches_the_newest_are_ranked_and_that_is_said(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_search, "CANDIDATES", 3)
    await talk(database, "duck duck duck duck", title="oldest")
    for number in range(3):
        await talk(database, "a duck", title=f"{number}")
    result = await SessionSearch(database).find("duck", SearchWish(profiles=("home",), limit=10))
    assert result.is_capped
    assert sorted(hit.title or "" for hit in result.hits) == ["0", "1", "2"]


async def test_a_search_that_takes_too_long_ends_in_a_sentence(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await talk(database, *(f"duck number {number}" for number in range(100)))
    monkeypatch.setattr(session_search, "MILLISECONDS", 1)
    search = SessionSearch(database)
    search._sql = {**search._sql, "search_words": "SELECT pg_sleep(5)::text AS id"}
    with pytest.raises(SearchError, match="took too long"):
        await search.find("duck", SearchWish(profiles=("home",)))
    assert (await database.fetch(b"SHOW statement_timeout"))[0]["statement_timeout"] == "0"


async def test_without_pg_trgm_words_and_the_newest_parts_are_found(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a server that does not ship it: its operator class is out of sight while the schema is applied."""
    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA hidden")
        connection.execute("CREATE EXTENSION pg_trgm SCHEMA hidden")
    database = await Database(database_url, size=2).open()
    try:
        await apply_core_schema(database)
        await database.fetch(b"INSERT INTO profiles (id) VALUES ('home')")
        await talk(database, *CJK, "redeployed test-run")
        for typed in ("手順", "test-run", "deploye"):
            assert len(await find(database, typed)) == 1, typed
        rows = await database.fetch(b"SELECT pg_get_indexdef('messages_words'::regclass) AS made")
        assert "trgm" not in rows[0]["made"]
    finally:
        await database.close()


async def test_a_database_of_an_older_version_gets_its_words(database_url: str) -> None:
    database = await Database(database_url, size=2).open()
    try:
        await apply_core_schema(database)
        await database.fetch(b"INSERT INTO profiles (id) VALUES ('home')")
        await talk(database, "a duck")
        with psycopg.connect(database_url, autocommit=True) as connection:
            connection.execute("ALTER TABLE messages DROP COLUMN words, DROP COLUMN number")
            connection.execute(
                "ALTER TABLE messages ADD COLUMN search tsvector"
                " GENERATED ALWAYS AS (to_tsvector('simple', left(search_text, 100000))) STORED"
            )
            connection.execute("CREATE INDEX messages_search ON messages USING gin (search)")
            connection.execute("DELETE FROM applied_schemas")
        await apply_core_schema(database)
        assert len(await find(database, "duck")) == 1
        assert await database.fetch(b"SELECT 1 FROM pg_attribute WHERE attname = 'search' AND attnum > 0") == []
    finally:
        await database.close()
