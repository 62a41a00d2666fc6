"""The database is away from the middle of a reply until after its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cos.agent.events import MessageDelta, TurnCompleted
from cos.agent.provider import StreamStarted, TextChunk
from cos.agent.providers.scripted import ScriptedProvider, ScriptedStream
from cos.core.errors import DatabaseError
from tests.core_bench import core_bench


class Gated(ScriptedProvider):
    """Says one word, and the rest when the gate opens."""

    def __init__(self, *words: str) -> None:
        super().__init__([])
        self.gate = asyncio.Event()
        self.words = words
        """After the first ones, which come before the gate opens."""

    @asynccontextmanager
    async def stream(self, request: Any) -> AsyncIterator[Any]:
        gate, words = self.gate, self.words

        class Stream(ScriptedStream):
            async def __aiter__(self) -> AsyncIterator[Any]:
                yield StreamStarted("m")
                yield TextChunk("First half. ")
                await gate.wait()
                for word in words:
                    yield TextChunk(word)
                self._reply = replace(
                    self._reply, text="First half. " + "".join(words), stop_reason="end_turn", is_complete=True
                )

        yield Stream([])


@pytest.mark.parametrize("words", [("Second half.",), ()])
async def test_what_was_shown_while_the_database_was_away_is_stored_when_it_is_back(
    core_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setattr("cos.core.running_turns._CLOSE_LOST_SECONDS", 0.01)
    provider = Gated(*words)
    async with core_bench(core_url, tmp_path, provider=provider) as core:
        session = (await core.send("hi")).session_id
        assert session is not None
        await core.when(1, MessageDelta)
        once = core.database._once

        async def away(*_: Any) -> Any:
            raise DatabaseError("the database did not answer within 10 s")

        monkeypatch.setattr(core.database, "_once", away)
        provider.gate.set()
        await core.when(1 + len(words), MessageDelta)  # It is on screen.
        await core.when(1, TurnCompleted)
        monkeypatch.setattr(core.database, "_once", once)
        while not await core.rows("SELECT id FROM turns WHERE completed_at IS NOT NULL"):
            await asyncio.sleep(0.01)
        assert await core.texts(session) == ["hi", "First half. " + "".join(words)]
