"""The database goes away just as a turn ends: what waits behind that turn goes on when it is back."""

from __future__ import annotations

import asyncio

from cos.agent.identity import TurnInfo
from cos.agent.providers.scripted import said
from tests.fix_home import CoreHome
from tests.outage import Outage
from tests.tui.chat import chat_in


async def test_what_waits_goes_on_after_an_outage(core_home: CoreHome, outage: Outage) -> None:
    core_home.script(*(said(f"answer {number}") for number in range(2)))
    async with chat_in(core_home) as chat:
        dispatcher = chat.core.dispatcher
        after, begun, may = dispatcher._after, asyncio.Event(), asyncio.Event()

        async def late(turn: TurnInfo, *, was_cancelled: bool) -> None:
            begun.set()
            await may.wait()
            await after(turn, was_cancelled=was_cancelled)

        dispatcher._after = late  # type: ignore[method-assign]
        await chat.say("one")
        await chat.until(begun.is_set)
        await chat.say("two")
        await chat.shows("1 waiting")
        chat.core.database._pool.timeout = 0.1
        outage.begin()
        may.set()
        await chat.database_goes()
        await chat.until(dispatcher._stuck.all)
        outage.end()
        await chat.until(lambda: "answer 1" in chat.text())
        await chat.rests()
        assert not await chat.core.database.fetch(b"SELECT id FROM queued_messages")
        assert not dispatcher._stuck.all()
