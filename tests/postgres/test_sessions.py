"""Sessions as the surfaces read them: lists, ids, histories by page, tokens."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from uuid import UUID

import pytest

from cos.agent.events import Usage
from cos.agent.identity import NewSession, TurnInfo
from cos.agent.ids import new_id
from cos.agent.messages import AssistantMessage, UserMessage
from cos.agent.records import TurnStatus
from cos.agent.tags import merge_tags
from cos.core.errors import SessionError
from cos.core.postgres.database import Database
from cos.core.postgres.journal import PostgresJournal
from cos.core.postgres.sessions import Sessions
from cos.core.sessions import TakenIn


async def session(
    journal: PostgresJournal, title: str = "t", profile: str = "home", parent: UUID | None = None
) -> UUID:
    new = NewSession(
        profile_id=profile, source="cli", title=title, tags=merge_tags(["client:acme"]), parent_session_id=parent
    )
    return await journal.create_session(new)


async def test_a_session_is_found_by_the_beginning_of_its_id(database: Database) -> None:
    journal, sessions = PostgresJournal(database), Sessions(database)
    one, two = await session(journal), await session(journal)
    assert await sessions.find(str(one)) == one
    assert await sessions.find(f" {str(two).upper()} ") == two
    for wrong in ("", "%", "zz", "ffffffff"):
        with pytest.raises(SessionError, match="no session whose id begins with"):
            await sessions.find(wrong)
    await sessions.set_title(two, "which colour?")
    with pytest.raises(SessionError) as ambiguous:
        await sessions.find(str(one)[:6])
    assert str(ambiguous.value).split("\n") == [
        f"more than one session id begins with {str(one)[:6]!r}; give more of it:",
        f"  {two}  which colour?",
        f"  {one}  t",
    ]
    for _ in range(5):
        await session(journal)
    with pytest.raises(SessionError, match=r"…$"):
        await sessions.find("0")


async def test_the_latest_session_is_the_profiles_own_and_no_child(database: Database) -> None:
    journal, sessions = PostgresJournal(database), Sessions(database)
    parent = await session(journal)
    child = await session(journal, parent=parent)
    await session(journal, profile="work")
    assert await sessions.latest("home") == parent
    assert (await sessions.get(child)).root_session_id == parent
    assert await sessions.latest("nobody") is None


async def test_a_history_pages_backwards_with_its_turns_and_inactive_messages(database: Database) -> None:
    journal, sessions = PostgresJournal(database), Sessions(database)
    turn = TurnInfo(profile_id="home", session_id=await session(journal), turn_id=new_id())
    turns = [turn, replace(turn, turn_id=new_id(), parent_turn_id=turn.turn_id)]
    spans: dict[UUID, list[datetime]] = {}
    for number, each in enumerate(turns):
        spans[each.turn_id] = [await journal.start_turn(each, UserMessage(text=f"q{number}"))]
        await journal.append_message(each, AssistantMessage(text=f"cut{number}", partial=True), active=False)
        await journal.append_message(each, AssistantMessage(text=f"a{number}"))
        used = Usage(input_tokens=number + 1)
        end = await journal.finish_turn(each, TurnStatus.COMPLETED, stop_reason="end_turn", usage=used)
        spans[each.turn_id].append(end.at)
    newest = await sessions.transcript(turn.session_id, limit=4)
    assert [row.message.model_dump()["text"] for row in newest.messages] == ["a0", "q1", "cut1", "a1"]
    assert [row.active for row in newest.messages] == [True, True, False, True]
    assert newest.has_older
    assert {(row.ordinal, row.usage) for row in newest.turns.values()} == {
        (1, Usage(input_tokens=1)), (2, Usage(input_tokens=2)),
    }  # fmt: skip
    assert {row.id: [row.started_at, row.completed_at] for row in newest.turns.values()} == spans
    older = await sessions.transcript(turn.session_id, before=newest.messages[0].ordinal, limit=4)
    assert [row.message.model_dump()["text"] for row in older.messages] == ["q0", "cut0"]
    assert not older.has_older
    assert await sessions.usage(turn.session_id) == Usage(input_tokens=3)


async def test_titles_and_frozen_prompts_are_kept(database: Database) -> None:
    journal, sessions = PostgresJournal(database), Sessions(database)
    id_ = await session(journal)
    await sessions.set_title(id_, "new \x00 \ud800")
    await sessions.freeze_prompt(id_, '{"z": 1.0, "a": 2}', "/tmp")
    await sessions.freeze_prompt(id_, '{"late": 1}', "/elsewhere")
    row = await sessions.get(id_)
    assert (row.title, row.frozen_prompt, row.cwd) == ("new \ufffd \ufffd", '{"z": 1.0, "a": 2}', "/tmp")
    assert (row.has_turns, row.queue_paused) == (False, False)


async def test_the_queue_is_first_in_first_out_and_keeps_one_of_the_same(database: Database) -> None:
    journal, sessions = PostgresJournal(database), Sessions(database)
    row = await sessions.get(await session(journal))
    ids = [new_id() for _ in range(4)]
    for id_, text, client in zip(ids, "abcd", ["m1", None, "m1", None], strict=True):
        await sessions.enqueue(row, id_, UserMessage(text=text), "cli", client)
    assert [(waiting.id, waiting.message.text) for waiting in await sessions.queue(row.id)] == [
        (ids[0], "a"), (ids[1], "b"), (ids[3], "d"),
    ]  # fmt: skip
    await sessions.dequeue(ids[1])
    turn = TurnInfo(profile_id="home", session_id=row.id, turn_id=new_id())
    await journal.start_turn(turn, UserMessage(text="a"), message_id=ids[0])
    assert [waiting.message.text for waiting in await sessions.queue(row.id)] == ["d"]
    assert await sessions.taken_in(row.id, "m1") == TakenIn(message_id=ids[0], turn_id=turn.turn_id)
    assert await sessions.taken_in(row.id, "m2") is None
