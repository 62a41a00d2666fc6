"""Messages that come again because their sender heard nothing, and messages to a paused queue."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from cos.agent.events import MessageDelta, TurnCompleted
from cos.agent.provider import StreamStarted, TextChunk
from cos.agent.providers.scripted import Script, said
from tests.core_bench import core_bench

WAITS: Script = [StreamStarted("m"), TextChunk("so far"), "hang"]


async def test_a_resent_message_does_not_let_a_stopped_session_go_on(core_url: str, tmp_path: Path) -> None:
    """Esc pauses the queue. The client's second try of the message whose turn is being stopped is no new message."""
    async with core_bench(core_url, tmp_path, [WAITS, said("b")]) as core:
        first = await core.send("first", client_message_id="m1")
        session = first.session_id
        assert session is not None
        await core.when(1, MessageDelta)
        await core.send("second", session)
        core.dispatcher.cancel(session)
        again = await core.send("first", session, client_message_id="m1")
        assert again.turn_id == first.turn_id
        await core.when(1, TurnCompleted)
        await core.idle(session)
        assert [row.message.text for row in await core.sessions.queue(session)] == ["second"]
        assert (await core.sessions.get(session)).queue_paused


async def test_a_resent_message_brings_no_archived_session_back(core_url: str, tmp_path: Path) -> None:
    async with core_bench(core_url, tmp_path, [said("a"), said("b")]) as core:
        first = await core.send("first", client_message_id="m1")
        session = first.session_id
        assert session is not None
        await core.when(1, TurnCompleted)
        await core.idle(session)
        await core.rows(f"UPDATE sessions SET archived_at = clock_timestamp() WHERE id = '{session}'")
        assert (await core.send("first", session, client_message_id="m1")).turn_id == first.turn_id
        (row,) = await core.rows(f"SELECT archived_at IS NOT NULL AS archived FROM sessions WHERE id = '{session}'")
        assert row["archived"]


async def test_what_is_sent_to_a_paused_queue_ends_the_pause_also_when_its_turn_cannot_start_yet(
    core_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else no other cos, and no later one, goes on with what the user has sent."""
    async with core_bench(core_url, tmp_path, [WAITS, said("b"), said("c")]) as core:
        session = (await core.send("first")).session_id
        assert session is not None
        await core.when(1, MessageDelta)
        await core.send("second", session)
        core.dispatcher.cancel(session)
        while not (await core.sessions.get(session)).queue_paused:
            await asyncio.sleep(0.002)

        async def broken(*_: object) -> None:
            raise RuntimeError("no context today")

        monkeypatch.setattr(core.dispatcher._contexts, "of", broken)
        accepted = await core.send("third", session)
        assert "no context today" in accepted.trouble
        assert not (await core.sessions.get(session)).queue_paused


async def test_a_message_that_comes_again_leaves_a_paused_queue_paused(core_url: str, tmp_path: Path) -> None:
    async with core_bench(core_url, tmp_path, [WAITS, said("b")]) as core:
        session = (await core.send("first")).session_id
        assert session is not None
        await core.when(1, MessageDelta)
        first = await core.send("second", session, client_message_id="m1")
        core.dispatcher.cancel(session)
        while not (await core.sessions.get(session)).queue_paused:
            await asyncio.sleep(0.002)
        again = await core.send("second", session, client_message_id="m1")
        assert (again.message_id, again.turn_id) == (first.message_id, None)
        await core.idle(session)
        assert (await core.sessions.get(session)).queue_paused
        assert len(await core.sessions.queue(session)) == 1
