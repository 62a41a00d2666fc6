"""The list of sessions: who comes first, pages by key, every filter, rows read again."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from cos.agent.identity import NewSession, TurnInfo
from cos.agent.ids import new_id
from cos.agent.messages import AssistantMessage, UserMessage
from cos.agent.records import ContextMeter, TurnStatus
from cos.agent.tags import merge_tags
from cos.core.postgres import session_list
from cos.core.postgres.database import Database
from cos.core.postgres.journal import PostgresJournal
from cos.core.postgres.listed_sessions import listed_sessions
from cos.core.postgres.session_list import Place, SessionList
from cos.core.postgres.sessions import Sessions
from cos.core.session_query import SessionQuery, parse_session_query
from cos.tui.session_rows import SessionRows
from cos.tui.session_words import state_of

ALL = SessionQuery()


class Sample:
    """Sessions by title."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.journal = PostgresJournal(database)
        self.listing = SessionList(database)
        self.ids: dict[str, UUID] = {}

    async def session(self, title: str, *tags: str, profile: str = "home", parent: str | None = None) -> UUID:
        new = NewSession(
            profile_id=profile, source="cli", title=title, tags=merge_tags(tags),
            parent_session_id=self.ids[parent] if parent else None,
        )  # fmt: skip
        self.ids[title] = await self.journal.create_session(new)
        return self.ids[title]

    async def turn(self, title: str, status: TurnStatus | None = None) -> TurnInfo:
        """One turn of a session; without a status it runs on."""
        turn = TurnInfo(profile_id="home", session_id=self.ids[title], turn_id=new_id())
        await self.journal.start_turn(turn, UserMessage(text="go"))
        if status is not None:
            await self.journal.append_message(turn, AssistantMessage(text="done"))
            await self.journal.finish_turn(turn, status)
        return turn

    async def request(self, turn: TurnInfo, *, kind: str = "tool_call") -> None:
        await self.sql(
            b"""INSERT INTO approvals (id, kind, session_id, root_session_id, turn_id, profile_id, call_id, tool, args,
                                       content_hash, title, detail, risk, reason, expires_at)
                SELECT %(id)s, %(kind)s, id, root_session_id, %(turn)s, profile_id, 'c', 't', '{}', '', '', '', 'write',
                       '', now() + interval '1 h' FROM sessions WHERE id = %(session)s""",
            id=new_id(), kind=kind, turn=turn.turn_id, session=turn.session_id,
        )  # fmt: skip

    async def seen(self, title: str) -> None:
        await self.sql(b"UPDATE sessions SET seen_at = clock_timestamp() WHERE id = %(id)s", id=self.ids[title])

    async def archive(self, title: str) -> None:
        await self.sql(b"UPDATE sessions SET archived_at = now() WHERE id = %(id)s", id=self.ids[title])

    async def sql(self, statement: bytes, **parameters: Any) -> None:
        await self.database.fetch(statement, parameters)

    async def found(self, text: str) -> set[str]:
        """Titles of all that a filter lets through, over all pages and those that press."""
        query = parse_session_query(text, now=datetime.now(UTC), profiles=["home", "work"], knows_cost=True)
        rows = await self.listing.pressing(query)
        before: Place | None = None
        while True:
            page = await self.listing.page(query, before, limit=2)
            rows += page.rows
            if page.next is None:
                return {row.title or "" for row in rows}
            before = page.next


@pytest.fixture
def sample(database: Database) -> Sample:
    return Sample(database)


async def test_pages_go_by_newest_activity_without_a_gap_and_children_stay_with_their_parent(sample: Sample) -> None:
    for number in range(7):
        await sample.session(f"s{number}")
    await sample.session("child", parent="s3")
    await sample.turn("s2", TurnStatus.COMPLETED)
    titles: list[str | None] = []
    page = await sample.listing.page(ALL, limit=3)
    while True:
        titles += [row.title for row in page.rows]
        if page.next is None:
            break
        page = await sample.listing.page(ALL, page.next, limit=3)
    assert titles == ["s2", "s6", "s5", "s4", "s3", "s1", "s0"]
    rows = {row.title: row for row in (await sample.listing.page(ALL)).rows}
    assert (rows["s3"].children, rows["s2"].children) == (1, 0)
    assert [row.title for row in await sample.listing.children(sample.ids["s3"])] == ["child"]


async def test_those_that_need_the_user_come_first_wherever_their_page_is(sample: Sample) -> None:
    for title in ("failed", "asks", "works", "waits", "seen", "cancelled", "old asks", *(f"s{n}" for n in range(5))):
        await sample.session(title)
    await sample.turn("failed", TurnStatus.FAILED)
    await sample.turn("seen", TurnStatus.COMPLETED)
    await sample.seen("seen")
    await sample.turn("cancelled", TurnStatus.CANCELLED)
    await sample.turn("works")
    await sample.request(await sample.turn("old asks"))
    await sample.session("child", parent="asks")
    await sample.turn("asks")
    await sample.request(await sample.turn("child"), kind="question")
    waits = await Sessions(sample.database).get(sample.ids["waits"])
    await Sessions(sample.database).enqueue(waits, new_id(), UserMessage(text="later"), "cli", None)
    # Nothing of the newest page needs anybody.
    await sample.sql(b"UPDATE sessions SET last_activity_at = now() + interval '1 h' WHERE title LIKE 's_'")
    pressing = await sample.listing.pressing(ALL)
    rows = SessionRows()
    rows.begin(pressing, is_nested=True)
    rows.extend((await sample.listing.page(ALL, limit=2)).rows, None)
    assert [one.row.title for one in rows.shown] == ["old asks", "asks", "failed", "works", "waits", "s4", "s3"]
    by_title = {row.title: row for row in pressing}
    assert (by_title["asks"].waiting, by_title["asks"].waiting_kind) == (1, "question")
    assert (by_title["old asks"].waiting_kind, by_title["waits"].queued) == ("tool_call", 1)
    assert by_title["failed"].is_unseen and not by_title["works"].is_unseen


async def test_what_waits_behind_an_interrupted_turn_is_said_to_be_paused(sample: Sample) -> None:
    await sample.session("cut")
    await sample.turn("cut", TurnStatus.INTERRUPTED)
    cut = await Sessions(sample.database).get(sample.ids["cut"])
    await Sessions(sample.database).enqueue(cut, new_id(), UserMessage(text="later"), "cli", None)
    row = (await sample.listing.page(ALL)).rows[0]
    state = state_of(row, None, datetime.now(UTC))
    assert (state.word, state.words) == ("interrupted", "interrupted, 1 waits, paused")
    listed = await listed_sessions(sample.database, profile_id=None, archived=False, limit=9)
    assert [one.state for one in listed] == ["interrupted, 1 waits, paused"]


async def test_a_request_that_expired_is_news_until_somebody_looks(sample: Sample) -> None:
    await sample.session("late")
    turn = await sample.turn("late")
    await sample.request(turn)
    await sample.sql(b"UPDATE approvals SET status = 'expired', answered_at = now()")
    await sample.journal.finish_turn(turn, TurnStatus.COMPLETED)
    words = []
    for _ in range(2):
        row = (await sample.listing.page(ALL)).rows[0]
        words.append(state_of(row, None, datetime.now(UTC)).words)
        await sample.seen("late")
    assert words == ["request expired", "idle"]


async def test_every_state_has_its_filter(sample: Sample) -> None:
    for title in ("new", "done", "news", "failed", "cancelled", "interrupted", "works", "asks", "queue", "gone"):
        await sample.session(title)
    for title, status in {
        "done": TurnStatus.COMPLETED, "news": TurnStatus.COMPLETED, "failed": TurnStatus.FAILED,
        "cancelled": TurnStatus.CANCELLED, "interrupted": TurnStatus.INTERRUPTED,
    }.items():  # fmt: skip
        await sample.turn(title, status)
    for title in ("done", "failed", "interrupted"):
        await sample.seen(title)
    await sample.turn("works")
    await sample.request(await sample.turn("asks"))
    queue = await Sessions(sample.database).get(sample.ids["queue"])
    await Sessions(sample.database).enqueue(queue, new_id(), UserMessage(text="later"), "cli", None)
    await sample.archive("gone")
    assert {state: await sample.found(f"state:{state}") for state in ("waiting", "running", "queued", "failed")} == {
        "waiting": {"asks"}, "running": {"asks", "works"}, "queued": {"queue"}, "failed": {"failed"},
    }  # fmt: skip
    assert await sample.found("state:interrupted") == {"interrupted"}
    assert await sample.found("state:cancelled") == {"cancelled"}
    assert await sample.found("state:idle") == {"new", "done", "news"}
    assert await sample.found("state:unseen") == {"news"}
    assert await sample.found("state:archived") == {"gone"}


async def test_words_tags_profiles_and_times_filter_together(sample: Sample) -> None:
    await sample.session("Fix the Retry 100%", "client:acme", "ticket:12")
    await sample.session("昨天的部署脚本", "client:beta")
    await sample.session("other", "ticket:1", profile="work")
    await sample.session("helper of fix", parent="other")
    assert await sample.found("fix retry") == {"Fix the Retry 100%"}
    assert await sample.found("fix") == {"Fix the Retry 100%", "helper of fix"}
    assert await sample.found("部署") == {"昨天的部署脚本"}
    assert await sample.found("0%") == {"Fix the Retry 100%"}
    assert await sample.found("_") == set()
    assert await sample.found("\x00") == set()
    assert await sample.found("beta") == {"昨天的部署脚本"}
    assert await sample.found("#ticket:1") == {"other"}
    assert await sample.found("#ticket") == {"other", "Fix the Retry 100%"}
    assert await sample.found("#ticket #client:acme") == {"Fix the Retry 100%"}
    assert await sample.found("profile:work") == {"other"}
    long_ago = datetime.now(UTC) - timedelta(days=2)
    await sample.sql(b"UPDATE sessions SET last_activity_at = %(at)s WHERE title = 'other'", at=long_ago)
    assert await sample.found("#ticket since:1d") == {"Fix the Retry 100%"}


class Costs:
    """Keeps account of some sessions."""

    def __init__(self, usd: dict[UUID, int]) -> None:
        self.usd = usd
        self.asked: list[int] = []

    async def costing(
        self, connection: Any, session_ids: Sequence[UUID], operator: str, usd: Decimal
    ) -> Collection[UUID]:
        self.asked.append(len(session_ids))
        found = {one: cost for one in session_ids if (cost := self.usd.get(one)) is not None}
        return {one for one, cost in found.items() if (cost > usd if operator == ">" else cost < usd)}


async def test_sessions_are_found_by_what_they_cost(sample: Sample, monkeypatch: pytest.MonkeyPatch) -> None:
    usd = {await sample.session(f"s{number}"): number for number in range(8)}
    costs = Costs(usd)
    sample.listing = SessionList(sample.database, costs)
    assert await sample.found("cost:>5") == {"s6", "s7"}
    assert await sample.found("cost:<2 s1") == {"s1"}
    assert await sample.found("cost:>2.5 state:idle") == {"s3", "s4", "s5", "s6", "s7"}
    monkeypatch.setattr(session_list, "SCANNED_FOR_STATE", 3)
    costs.asked.clear()
    assert await sample.found("cost:<1") == {"s0"}
    assert max(costs.asked) <= 3, "a page asks for no more than it may scan"


async def test_a_filter_that_finds_little_gives_short_pages_that_go_on(
    sample: Sample, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_list, "SCANNED", 3)
    for number in range(8):
        await sample.session(f"s{number}")
    query = SessionQuery(words=("s0",))
    first = await sample.listing.page(query)
    assert first.rows == [] and first.next is not None
    second = await sample.listing.page(query, first.next)
    assert second.rows == [] and second.next is not None
    third = await sample.listing.page(query, second.next)
    assert [row.title for row in third.rows] == ["s0"] and third.next is None


async def test_a_touched_session_is_read_with_those_above_it(sample: Sample) -> None:
    await sample.session("root")
    await sample.session("child", parent="root")
    await sample.session("other")
    await sample.request(await sample.turn("child"))
    missing = new_id()
    found = await sample.listing.refreshed(ALL, [sample.ids["child"], missing])
    assert {row.title: row.waiting for row in found.rows} == {"root": 1, "child": 1}
    assert found.shown == {sample.ids["root"]}
    assert found.gone == {missing}


async def test_a_row_knows_its_context_and_leaves_rewound_turns_out(sample: Sample) -> None:
    await sample.session("one")
    await sample.turn("one", TurnStatus.COMPLETED)
    await sample.seen("one")
    undone = await sample.turn("one", TurnStatus.FAILED)
    await sample.sql(b"UPDATE turns SET undone_at = now() WHERE id = %(id)s", id=undone.turn_id)
    context = {"model": "m", "used": 10, "window": 100}
    await sample.sql(b"UPDATE sessions SET context = %(context)s", context=json.dumps(context))
    (row,) = (await sample.listing.page(ALL)).rows
    assert (row.context, row.turn_status, row.is_unseen) == (
        ContextMeter(model="m", used=10, window=100),
        TurnStatus.COMPLETED,
        False,
    )


async def test_a_turn_that_ends_without_a_message_is_still_news(sample: Sample) -> None:
    await sample.session("one")
    turn = await sample.turn("one")
    await sample.seen("one")
    await sample.journal.finish_turn(turn, TurnStatus.FAILED)
    (row,) = await sample.listing.pressing(ALL)
    assert row.is_unseen and row.last_activity_at == row.turn_completed_at
