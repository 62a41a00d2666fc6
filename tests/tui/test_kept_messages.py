"""A message that is stored is accepted: when its turn cannot start yet, it waits, and nobody says `Not sent`."""

from __future__ import annotations

from uuid import UUID

import pytest

from cos.agent.providers.scripted import said
from cos.core.errors import DatabaseError
from tests.fix_home import CoreHome
from tests.tui.chat import Chat, chat_in


def start_fails_twice(chat: Chat) -> None:
    start, failed = chat.core.dispatcher.start_waiting, list[UUID]()

    async def away(session_id: UUID, wanted: UUID | None = None) -> UUID | None:
        if len(failed) < 2:
            failed.append(session_id)
            raise DatabaseError("the database refused: canceling statement due to lock timeout")
        return await start(session_id, wanted)

    chat.core.dispatcher.start_waiting = away  # type: ignore[method-assign]


@pytest.mark.parametrize("begins", [True, False], ids=["new", "open"])
async def test_a_kept_message_whose_turn_cannot_start_waits_and_is_sent_once(core_home: CoreHome, begins: bool) -> None:
    core_home.script(*(said(f"answer {number}") for number in range(3)))
    soul = core_home.folder / "profiles" / "home" / "SOUL.md"
    async with chat_in(core_home) as chat:
        if begins:
            soul.write_bytes(b"\xff\xfe bad")
        else:
            await chat.ask("before")
            start_fails_twice(chat)
        await chat.say("pay the bill")
        await chat.told("The message is kept and waits")
        assert chat.main.composer.text == ""
        soul.write_text("You are home.")
        await chat.until(lambda: f"answer {0 if begins else 1}" in chat.text())
        await chat.rests()
        database = chat.core.database
        sent = await database.fetch(b"SELECT id FROM messages WHERE role = 'user' AND search_text = 'pay the bill'")
        assert len(sent) == 1
        assert not await database.fetch(b"SELECT id FROM queued_messages")
        assert len(await database.fetch(b"SELECT id FROM sessions")) == 1
