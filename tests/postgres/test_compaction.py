"""Compaction on a real database: by hand through the Dispatcher, what is refused, what waits, and the stored meter."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from cos.agent.events import MessageAdded, TurnCompleted, Usage
from cos.agent.ids import new_id
from cos.agent.messages import UserMessage
from cos.agent.provider import ProviderRefused, StreamStarted
from cos.agent.providers.scripted import MODEL, Script, called, said
from cos.agent.records import ContextMeter, TurnStatus
from cos.core.errors import SessionError
from tests.agent_bench import tool
from tests.core_bench import CoreBench, core_bench

USED = Usage(input_tokens=150_000, output_tokens=500)
METER = ContextMeter(model=MODEL, used=150_500, window=200_000)
HANGS: Script = [StreamStarted(MODEL), "hang"]
NOTHING = "there is nothing to compact in this session yet"
LATER = "a turn runs in this session; compact it when the turn has ended"


async def asking(core: CoreBench, count: int) -> None:
    """Wait until the model was called `count` times."""
    while len(core.provider.requests) < count:
        await asyncio.sleep(0.002)


async def meter(core: CoreBench, session: UUID) -> ContextMeter | None:
    (row,) = await core.sessions.page()
    stored = (await core.sessions.get(session)).context
    assert row.context == stored
    return stored


async def test_by_hand_it_is_a_visible_tagged_turn_and_the_session_goes_on_from_the_summary(
    core_url: str, tmp_path: Path
) -> None:
    scripts = [replace(said("one"), usage=USED), replace(said("All about ducks"), usage=USED), said("two")]
    async with core_bench(core_url, tmp_path, scripts) as core:
        first = await core.ask("hi", tags=("client:acme",))
        session = first.turn.session_id
        assert await meter(core, session) == METER
        await core.idle(session)
        turn_id = await core.dispatcher.compact(session, "keep the ducks")
        assert core.dispatcher.running(session) == turn_id
        done = await core.ended(turn_id)
        assert (done.status, done.usage, done.turn.tags) == (TurnStatus.COMPLETED, USED, first.turn.tags)
        (summary,) = await core.history(session)
        assert isinstance(summary, UserMessage) and "All about ducks" in summary.text
        assert await meter(core, session) is None
        transcript = await core.sessions.transcript(session)
        assert [(row.active, row.turn_id) for row in transcript.messages] == [
            (False, first.turn.turn_id), (False, first.turn.turn_id), (True, turn_id),
        ]  # fmt: skip
        assert transcript.turns[turn_id].stop_reason == "compacted"
        by = await core.rows("SELECT put_away_by FROM messages ORDER BY ordinal")
        assert [row["put_away_by"] for row in by] == [transcript.messages[2].id] * 2 + [None]
    async with core_bench(core_url, tmp_path, [said("two")]) as later:
        await later.ask("again", session)
        assert later.provider.requests[0].messages == (summary, UserMessage(text="again"))


async def test_a_session_with_nothing_to_compact_is_refused_and_unchanged(core_url: str, tmp_path: Path) -> None:
    async with core_bench(core_url, tmp_path, [ProviderRefused("no"), said("one"), said("short")]) as core:
        with pytest.raises(SessionError, match="there is no session"):
            await core.dispatcher.compact(new_id())
        session = (await core.ask("hi")).turn.session_id
        await core.idle(session)
        with pytest.raises(SessionError, match=NOTHING):
            await core.dispatcher.compact(session)
        await core.ask("hi again", session)
        await core.idle(session)
        await core.ended(await core.dispatcher.compact(session))
        await core.idle(session)
        with pytest.raises(SessionError, match=NOTHING):
            await core.dispatcher.compact(session)
        assert len(await core.rows("SELECT id FROM turns")) == 3


async def test_while_a_turn_runs_here_or_elsewhere_it_is_refused(core_url: str, tmp_path: Path) -> None:
    async with core_bench(core_url, tmp_path, [said("one"), HANGS]) as core:
        session = (await core.ask("hi")).turn.session_id
        await core.idle(session)
        await core.send("second", session)
        await asking(core, 2)
        with pytest.raises(SessionError, match=LATER):
            await core.dispatcher.compact(session)
        async with core_bench(core_url, tmp_path) as other:
            with pytest.raises(SessionError, match=LATER):
                await other.dispatcher.compact(session)
            assert other.events == []


async def test_messages_sent_meanwhile_wait_and_go_on_afterwards(core_url: str, tmp_path: Path) -> None:
    sent = asyncio.Event()
    async with core_bench(core_url, tmp_path, [said("one"), said("short"), said("two")]) as core:
        session = (await core.ask("hi")).turn.session_id
        await core.idle(session)
        core.hooks.register("pre_api_request", sent.wait, source="p")
        turn_id = await core.dispatcher.compact(session)
        accepted = await core.send("second", session)
        assert accepted.turn_id is None
        sent.set()
        await core.ended(turn_id)
        await core.when(3, TurnCompleted)
        await core.idle(session)
        assert [text[-6:] for text in await core.texts(session)] == ["\nshort", "second", "two"]


@pytest.mark.parametrize("cancels", [True, False])
async def test_cancelled_or_failed_it_changes_nothing(core_url: str, tmp_path: Path, cancels: bool) -> None:
    ending: Script = HANGS if cancels else replace(said("cut"), stop_reason="max_tokens", usage=USED)
    scripts = [replace(called(("c", "t", {})), usage=USED), said("one"), ending, said("two")]
    async with core_bench(core_url, tmp_path, scripts, tool("t")) as core:
        session = (await core.ask("hi")).turn.session_id
        await core.idle(session)
        before = await core.history(session)
        turn_id = await core.dispatcher.compact(session)
        if cancels:
            await asking(core, 3)
            assert core.dispatcher.cancel(session)
        done = await core.ended(turn_id)
        assert done.status is (TurnStatus.CANCELLED if cancels else TurnStatus.FAILED)
        assert await core.history(session) == before
        assert await core.rows("SELECT id FROM messages WHERE NOT active") == []
        assert await meter(core, session) == METER
        await core.idle(session)
        await core.ask("again", session)
        assert list(core.provider.requests[-1].messages) == [*before, UserMessage(text="again")]


async def test_a_reopened_session_knows_that_it_is_full(core_url: str, tmp_path: Path) -> None:
    async with core_bench(core_url, tmp_path, [replace(said("one"), usage=USED + USED)]) as core:
        session = (await core.ask("hi")).turn.session_id
    async with core_bench(core_url, tmp_path, [said("short"), said("two")]) as later:
        done = await later.ask("again", session)
        assert done.text == "two"
        (summary, reply) = await later.history(session)
        assert isinstance(summary, UserMessage) and summary.text.endswith("word for word:\n\nagain")
        added: list[Any] = [event.message for event in later.events if isinstance(event, MessageAdded)]
        assert added == [UserMessage(text="again"), summary, reply]
