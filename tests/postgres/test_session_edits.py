"""What a user does with whole sessions, on a real database: renames, tags, archives, undoes and deletes."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from cos.agent.errors import TagError
from cos.agent.events import MessageDelta, TurnCompleted
from cos.agent.identity import NewSession, TurnInfo
from cos.agent.ids import new_id
from cos.agent.messages import UserMessage
from cos.agent.provider import StreamStarted, TextChunk
from cos.agent.providers.scripted import Script, called, said
from cos.agent.records import TurnStatus
from cos.agent.tags import merge_tags
from cos.core.errors import SessionError
from cos.core.live import CoreEvent, Resync, SessionDeleted, SessionRewound, SessionTouched, SessionUpdated
from cos.core.neighbours import CHANNEL, Neighbours
from cos.core.postgres.database import Database
from cos.core.postgres.journal import PostgresJournal
from cos.core.postgres.listener import Listener
from cos.core.postgres.sessions import Sessions
from cos.core.session_edits import SessionEdits
from tests.agent_bench import tool
from tests.core_bench import CoreBench, core_bench, listening

WAITS: Script = [StreamStarted("m"), TextChunk("so far"), "hang"]
TABLES = "sessions", "turns", "messages", "tool_calls", "approvals", "approval_grants", "queued_messages", "drafts"


def edits_of(core: CoreBench) -> SessionEdits:
    return SessionEdits(core.database, core.dispatcher, core.events.append)


async def session(database: Database, title: str = "t", parent: UUID | None = None, text: str = "hi") -> UUID:
    """A session with one ended turn."""
    journal = PostgresJournal(database)
    made = await journal.create_session(
        NewSession(profile_id="home", source="cli", title=title, tags=merge_tags(["a:b"]), parent_session_id=parent)
    )
    turn = TurnInfo(profile_id="home", session_id=made, turn_id=new_id())
    await journal.start_turn(turn, UserMessage(text=text))
    await journal.finish_turn(turn, TurnStatus.COMPLETED)
    return made


class NoTurns:
    """A process that runs none."""

    async def stop(self, session_id: UUID, turn_id: UUID | None = None, reason: str = "") -> bool:
        return False


def edits_on(database: Database, events: list[CoreEvent] | None = None) -> SessionEdits:
    return SessionEdits(database, NoTurns(), (events if events is not None else list[CoreEvent]()).append)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("\n\n  line one\nline two", "line one line two"),
        ("a\x1b[31mred\x1b]0;x\x07", "ared]0;x"),
        (59 * "漢" + "👩‍👩‍👧‍👦 fix", 59 * "漢" + "👩‍👩‍👧‍👦"),
    ],
)
async def test_a_title_is_one_clean_line_cut_between_characters_H_053(
    database: Database, given: str, kept: str
) -> None:
    events = list[CoreEvent]()
    renamed = await session(database)
    assert await edits_on(database, events).rename(renamed, given) == kept
    assert (await Sessions(database).get(renamed)).title == kept
    assert [(type(event), event.session_id) for event in events] == [(SessionUpdated, renamed)]  # type: ignore[union-attr]


async def test_an_empty_title_and_an_unknown_session_are_refused(database: Database) -> None:
    edits, renamed = edits_on(database), await session(database, "stays")
    for empty in ("", " \n", "\x07\u200b"):
        with pytest.raises(SessionError, match="is empty"):
            await edits.rename(renamed, empty)
    assert (await Sessions(database).get(renamed)).title == "stays"
    nobody = new_id()
    for work in (
        edits.rename(nobody, "x"), edits.set_tags(nobody, []), edits.archive(nobody), edits.fork(nobody),
        edits.undo(nobody), edits.what_goes([renamed, nobody]), edits.delete([nobody]),
    ):  # fmt: skip
        with pytest.raises(SessionError, match=f"there is no session {nobody}"):
            await work


async def test_new_tags_are_the_next_turns_and_past_turns_keep_theirs(core_url: str, tmp_path: Path) -> None:
    async with core_bench(core_url, tmp_path, [said("1"), said("2")]) as core:
        first = await core.ask("hi", tags=("client:acme",))
        edits, tagged = edits_of(core), first.turn.session_id
        assert await edits.set_tags(tagged, ["client:beta", "z:1", "client:beta"]) == ("client:beta", "z:1")
        assert await edits.change_tags(tagged, add=["b:2"], remove=["z:1"]) == ("b:2", "client:beta")
        second = await core.ask("again", tagged)
        assert second.turn.tags == ("area:home", "b:2", "client:beta", "team:core")
        rows = await core.rows("SELECT tags FROM turns ORDER BY ordinal")
        assert [row["tags"] for row in rows] == [list(first.turn.tags), list(second.turn.tags)]
        with pytest.raises(TagError, match=r"'Client:x': the key takes only lower-case"):
            await edits.set_tags(tagged, ["Client:x"])
        with pytest.raises(SessionError, match=r"has no tag z:1 to remove; its own tags: b:2 client:beta"):
            await edits.change_tags(tagged, add=["c:3"], remove=["z:1"])
        assert (await core.sessions.get(tagged)).tags == ("b:2", "client:beta")


async def test_an_archived_session_leaves_the_lists_until_a_message_brings_it_back(
    core_url: str, tmp_path: Path
) -> None:
    async with core_bench(core_url, tmp_path, [said("1"), said("2")]) as core:
        archived = (await core.ask("hi")).turn.session_id
        child = await session(core.database, "child", archived)
        edits = edits_of(core)
        await edits.archive(archived)
        assert (await core.listed(), await core.sessions.latest(None)) == ([], None)
        assert await core.sessions.find(str(archived)) == archived
        await edits.archive(archived, False)
        assert len(await core.listed()) == 2
        await edits.archive(archived)
        await core.ask("again", archived)
        assert {row.id for row in await core.listed()} == {archived, child}


async def test_seeing_changes_something_only_when_there_is_news(database: Database) -> None:
    events = list[CoreEvent]()
    edits, looked_at = edits_on(database, events), await session(database)
    for _ in range(3):
        await edits.seen(looked_at)
    assert len(events) == 1
    rows = await database.fetch(b"SELECT bool_and(s.seen_at > t.completed_at) AS ok FROM sessions s, turns t")
    assert rows[0]["ok"]


async def test_undone_turns_leave_the_conversation_and_stay_in_the_database(core_url: str, tmp_path: Path) -> None:
    async with core_bench(core_url, tmp_path, [said("1"), said("2"), said("3"), said("4")]) as core:
        undone = (await core.ask("first")).turn.session_id
        for text in ("second", "third"):
            await core.ask(text, undone)
        edits, spent = edits_of(core), await core.sessions.usage(undone)
        taken = await edits.undo(undone, 2)
        assert [taken.turns, *(prompt.text for prompt in taken.prompts)] == [2, "second", "third"]
        assert isinstance(core.events[-1], SessionRewound)
        assert len(core.events[-1].turn_ids) == 2
        assert await core.texts(undone) == ["first", "1"]
        page = await core.sessions.transcript(undone, limit=2)
        assert [row.message.model_dump()["text"] for row in page.messages] == ["first", "1"]
        assert not page.has_older
        assert await core.sessions.usage(undone) == spent
        assert len(await core.rows("SELECT id FROM messages")) == 6
        await core.ask("instead", undone)
        assert [message.model_dump()["text"] for message in core.provider.requests[-1].messages] == [
            "first", "1", "instead",
        ]  # fmt: skip
        assert [prompt.text for prompt in (await edits.undo(undone, 99)).prompts] == ["first", "instead"]
        with pytest.raises(SessionError, match="no turn to undo"):
            await edits.undo(undone)
        with pytest.raises(SessionError, match="cannot undo 0 turns"):
            await edits.undo(undone, 0)


async def test_a_model_may_use_the_call_ids_of_undone_turns_again(core_url: str, tmp_path: Path) -> None:
    scripts = [script for n in range(3) for script in (called(("c1", "t", {"say": f"r{n}"})), said(f"a{n}"))]
    async with core_bench(core_url, tmp_path, scripts, tool("t")) as core:
        edits, undone = edits_of(core), (await core.ask("q0")).turn.session_id
        for n in (1, 2):
            await edits.undo(undone)
            assert (await core.ask(f"q{n}", undone)).status is TurnStatus.COMPLETED
        page = await core.sessions.transcript(undone)
        assert list(page.calls) == ["c1"]
        assert (page.calls["c1"].args, page.calls["c1"].result) == ({"say": "r2"}, "r2")
        results = [message.model_dump().get("content") for message in await core.history(undone)]
        assert results == [None, None, "r2", None]
        rows = await core.rows("SELECT result FROM tool_calls ORDER BY created_at")
        assert [row["result"] for row in rows] == ["r0", "r1", "r2"]


async def test_undo_waits_for_no_running_turn_but_refuses(core_url: str, tmp_path: Path) -> None:
    async with core_bench(core_url, tmp_path, [said("1"), WAITS]) as core:
        busy = (await core.ask("first")).turn.session_id
        await core.send("second", busy)
        await core.when(2, MessageDelta)
        with pytest.raises(SessionError, match="a turn runs in session"):
            await edits_of(core).undo(busy)
        assert await core.texts(busy) == ["first", "1", "second"]


async def left(core: CoreBench) -> dict[str, int]:
    """How many rows each table holds that has any."""
    counts = {name: (await core.rows(f"SELECT count(*) AS n FROM {name}"))[0]["n"] for name in TABLES}
    return {name: count for name, count in counts.items() if count}


async def test_deleting_a_parent_and_its_child_takes_all_of_the_family_and_nothing_else_H_058(
    core_url: str, tmp_path: Path
) -> None:
    async with core_bench(core_url, tmp_path, [called(("c", "t", {})), said("ok"), said("other")], tool("t")) as core:
        parent = (await core.ask("find me")).turn.session_id
        child = await session(core.database, "child", parent)
        grandchild = await session(core.database, "grandchild", child)
        other = (await core.ask("other")).turn.session_id
        edits = edits_of(core)
        doomed = await edits.what_goes([child, parent, child])
        assert [one.title for one in doomed.named] == ["child", "find me"]
        assert [(one.title, one.turns, one.messages) for one in doomed.children] == [("grandchild", 1, 1)]
        assert (doomed.turns, doomed.messages, doomed.forks_kept) == (3, 6, 0)
        await edits.delete([child, parent])
        assert [event.session_id for event in core.events if isinstance(event, SessionDeleted)] == [
            parent, child, grandchild,
        ]  # fmt: skip
        assert [row.id for row in await core.listed()] == [other]
        assert await left(core) == {"sessions": 1, "turns": 1, "messages": 2}


async def test_a_running_session_is_stopped_first_and_cannot_write_itself_back_H_058(
    core_url: str, tmp_path: Path
) -> None:
    async with core_bench(core_url, tmp_path, [called(("c", "w", {})), said("n")], tool("w", risk="write")) as core:
        core.hooks.register("pre_tool_call", lambda: {"action": "approve", "message": "writes"}, source="p")
        busy = (await core.send("first")).session_id
        assert busy is not None
        await core.requested()
        await core.send("waits", busy)
        await core.database.fetch(
            b"INSERT INTO drafts (profile_id, session_id, body) SELECT 'home', id, 'draft' FROM sessions"
        )
        await edits_of(core).delete([busy])
        kinds = [type(event) for event in core.events]
        assert kinds.index(TurnCompleted) < kinds.index(SessionDeleted)
        await core.idle(busy)
        assert await left(core) == {}
        with pytest.raises(SessionError, match="there is no session"):
            await core.send("again", busy)
        assert await left(core) == {}


async def test_a_session_is_deleted_when_the_turn_of_another_process_has_ended(core_url: str, tmp_path: Path) -> None:
    """H-058"""
    async with listening(core_url, tmp_path, [WAITS]) as one, core_bench(core_url, tmp_path, []) as two:
        parent = await session(two.database, "parent")
        child = await session(two.database, "busy child", parent)
        await one.send("go", child)
        await one.when(1, MessageDelta)
        assert [row.is_running for row in (await edits_of(two).what_goes([parent])).children] == [True]
        await edits_of(two).delete([parent])
        (end,) = await one.when(1, TurnCompleted)
        assert end.status is TurnStatus.CANCELLED
        assert await left(two) == {}
        await one.idle(child)
        assert await left(two) == {}, "nothing was written after it was gone"


async def test_a_turn_that_does_not_end_keeps_its_session(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cos.core.session_edits.STOP_SECONDS", 0.05)
    stuck = await session(database, "stuck")
    turn = TurnInfo(profile_id="home", session_id=stuck, turn_id=new_id())
    await PostgresJournal(database).start_turn(turn, UserMessage(text="x"))
    with pytest.raises(SessionError, match=r"in stuck \(.*did not end within 0.05 s, so nothing was deleted"):
        await edits_on(database).delete([stuck])
    assert (await Sessions(database).get(stuck)).title == "stuck"


async def test_another_process_hears_of_every_change(core_url: str, database: Database) -> None:
    heard, there = list[CoreEvent | Resync](), await Database(core_url, size=2).open()
    listener, neighbours = Listener(core_url), Neighbours(there.boot_id, heard.append)
    connected = asyncio.Event()

    async def look() -> None:
        connected.set()

    listener.on(CHANNEL, neighbours.hear, look=look)
    listening = asyncio.create_task(listener.listen())
    try:
        await connected.wait()
        changed = await session(database)
        heard.clear()
        edits = edits_on(database)
        await edits.rename(changed, "new")
        (taken,) = (await Sessions(there).transcript(changed)).turns
        await edits.undo(changed)
        fork = await edits.fork(changed)
        await edits.delete([changed])
        while not (heard and isinstance(heard[-1], SessionDeleted)):
            await asyncio.sleep(0.002)
        told: list[Any] = [event for event in heard if not isinstance(event, SessionTouched | SessionRewound)]
        assert [(type(event), event.session_id) for event in told] == [
            (SessionUpdated, changed), (SessionUpdated, fork), (SessionDeleted, changed),
        ]  # fmt: skip
        assert isinstance(heard[-3], SessionRewound)
        assert heard[-3].turn_ids == (taken,)
        assert [row["id"] for row in await there.fetch(b"SELECT id FROM sessions")] == [fork]
        assert (await Sessions(there).transcript(changed)).messages == []
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)
        await there.close()
