"""The database goes away while a message begins a session: it is taken in once. A command behind it comes back."""

from __future__ import annotations

from typing import Any

import pytest

from cos.agent.providers.scripted import said
from cos.core.inbound import Inbound
from cos.core.sessions import Session
from tests.fix_home import CoreHome
from tests.outage import Outage
from tests.tui.chat import Chat, chat_in


async def assert_sent_once(chat: Chat, sessions: int = 1) -> None:
    await chat.rests()
    database = chat.core.database
    sent = await database.fetch(b"SELECT id FROM messages WHERE role = 'user' AND search_text = 'pay the bill'")
    assert len(sent) == 1
    assert len(await database.fetch(b"SELECT id FROM sessions")) == sessions
    assert not await database.fetch(b"SELECT id FROM queued_messages")


@pytest.mark.parametrize("begins", [True, False], ids=["new session", "open session"])
async def test_a_message_whose_turn_could_not_start_is_taken_in_once(
    core_home: CoreHome, outage: Outage, begins: bool
) -> None:
    core_home.script(*(said(f"answer {number}") for number in range(3)))
    async with chat_in(core_home) as chat:
        if not begins:
            await chat.ask("before")
        chat.core.database._pool.timeout = 0.1
        sessions, kept = chat.core.dispatcher._sessions, list[bool]()
        enqueue = sessions.enqueue

        async def then_goes(*given: Any) -> bool:
            kept.append(await enqueue(*given))
            if len(kept) == 1:
                outage.begin()
            return kept[-1]

        sessions.enqueue = then_goes  # type: ignore[method-assign, assignment]
        await chat.say("pay the bill")
        await chat.until(lambda: kept, "stored")
        await chat.database_goes()
        await chat.until(chat.core.dispatcher._stuck.all)
        outage.end()
        await chat.until(lambda: f"answer {0 if begins else 1}" in chat.text())
        await assert_sent_once(chat)


async def test_an_outage_after_the_session_was_made_leaves_no_second_session(
    core_home: CoreHome, outage: Outage
) -> None:
    core_home.script(*(said(f"answer {number}") for number in range(3)))
    async with chat_in(core_home) as chat:
        gateway, made = chat.core.dispatcher._gateway, list[Session]()
        new = gateway._new_session
        chat.core.database._pool.timeout = 0.1

        async def then_goes(inbound: Inbound) -> Session:
            made.append(await new(inbound))
            if len(made) == 1:
                outage.begin()
            return made[-1]

        gateway._new_session = then_goes  # type: ignore[method-assign]
        await chat.say("pay the bill")
        await chat.until(lambda: made, "made")
        await chat.database_goes()
        await chat.shows("not stored yet · pay the bill")
        outage.end()
        await chat.until(lambda: "answer 0" in chat.text())
        await assert_sent_once(chat)


async def test_a_command_behind_a_waiting_message_comes_back(core_home: CoreHome, outage: Outage) -> None:
    core_home.script(*(said(f"answer {number}") for number in range(3)))
    async with chat_in(core_home) as chat:
        await chat.ask("before")
        outage.begin()
        await chat.database_goes()
        await chat.say("hello")
        await chat.shows("not stored yet · hello")
        await chat.say("/title changed behind your back")
        await chat.told("a command is not carried out later")
        assert chat.main.composer.text == "/title changed behind your back"
        outage.end()
        await chat.until(lambda: "answer 1" in chat.text())
        await chat.rests()
        rows = await chat.core.database.fetch(b"SELECT title FROM sessions")
        assert [row["title"] for row in rows] == ["before"]
