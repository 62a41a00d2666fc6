"""Drafts and the history of prompts on a real Postgres."""

from __future__ import annotations

from uuid import UUID

from cos.agent.identity import NewSession, TurnInfo
from cos.agent.ids import new_id
from cos.agent.messages import Origin, UserMessage
from cos.agent.records import TurnStatus
from cos.core.postgres.database import Database
from cos.core.postgres.drafts import Drafts
from cos.core.postgres.journal import PostgresJournal
from cos.core.postgres.prompts import Prompts


async def session_in(database: Database, profile_id: str = "home", parent: UUID | None = None) -> UUID:
    new = NewSession(profile_id=profile_id, source="cli", title="t", tags=(), parent_session_id=parent)
    return await PostgresJournal(database).create_session(new)


async def send(database: Database, session_id: UUID, text: str, origin: Origin | None = None) -> None:
    journal = PostgresJournal(database)
    turn = TurnInfo(profile_id="home", session_id=session_id, turn_id=new_id(), tags=())
    await journal.start_turn(turn)
    await journal.append_message(turn, UserMessage(text=text, origin=origin))
    await journal.finish_turn(turn, TurnStatus.COMPLETED)


async def test_a_draft_is_one_text_a_place_and_an_empty_one_is_gone(database: Database) -> None:
    drafts, session = Drafts(database), await session_in(database)
    await drafts.save("home", session, "of the session\x00")
    await drafts.save("home", None, "first")
    await drafts.save("home", None, "of the next one")
    await drafts.save("work", None, "work")
    assert await drafts.of_session("home", session) == "of the session\ufffd"
    assert await drafts.of_new_sessions() == {"home": "of the next one", "work": "work"}
    await drafts.save("home", None, "")
    await drafts.save("home", session, "")
    assert await drafts.of_new_sessions() == {"work": "work"} and await drafts.of_session("home", session) == ""


async def test_a_draft_for_a_session_that_is_gone_is_no_error(database: Database) -> None:
    await Drafts(database).save("home", new_id(), "too late")
    assert await database.fetch("SELECT * FROM drafts") == []


async def test_prompts_of_a_profile_over_its_sessions_by_pages_without_what_nobody_typed(database: Database) -> None:
    first, second = await session_in(database), await session_in(database)
    child = await session_in(database, parent=first)
    await send(database, first, "one")
    await send(database, second, "two", "queued")
    await send(database, child, "delegated", "delegation")
    await send(database, first, "the loop", "loop")
    await send(database, first, "three", "steered")
    prompts = Prompts(database)
    page = await prompts.page("home", limit=2)
    assert [prompt.text for prompt in page] == ["three", "two"]
    assert [prompt.text for prompt in await prompts.page("home", before=page[-1].id)] == ["one"]
    assert await prompts.page("work") == []


async def test_prompts_are_found_by_words_and_a_percent_sign_is_one(database: Database) -> None:
    session = await session_in(database)
    for text in ("Deploy 100% of it", "deploy 100 of it", "something"):
        await send(database, session, text)
    prompts = Prompts(database)
    assert [prompt.text for prompt in await prompts.search("home", ["OF", "deploy", "0%"])] == ["Deploy 100% of it"]
    assert len(await prompts.search("home", [])) == 3
