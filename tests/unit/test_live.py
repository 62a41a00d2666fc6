"""The live feed: one order per session, text merged exactly, a slow reader told to read again. And repeating work."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

import pytest

from cos.agent.events import MessageDelta, Notice, ThinkingDelta, ToolOutput
from cos.agent.hooks import HookBus
from cos.agent.ids import new_id
from cos.core.background import Background
from cos.core.live import Live, LiveFeed, QueueChanged, SessionCreated, SessionUpdated, Subscription, session_of
from cos.core.live_feed_hooks import register_live_feed
from tests.agent_bench import until
from tests.tool_context import new_turn
from tests.unit.test_hooks import arguments

if TYPE_CHECKING:
    from cos.core.live import CoreEvent

TURN, OTHER = new_turn(), new_turn()
MESSAGE = new_id()


def said(text: str, message_id: Any = MESSAGE, turn: Any = TURN) -> MessageDelta:
    return MessageDelta(turn=turn, message_id=message_id, text=text)


def notice(text: str, turn: Any = TURN) -> Notice:
    return Notice(turn=turn, level="info", text=text)


async def drained(reader: Subscription) -> list[Live]:
    reader.close()
    return [live async for live in reader]


def seen(lives: list[Live]) -> list[Any]:
    return [(live.seq, live.event.type, getattr(live.event, "text", None)) for live in lives]


async def test_deltas_that_nobody_fetched_are_merged_byte_for_byte() -> None:
    feed = LiveFeed()
    reader = feed.subscribe()
    thought = ThinkingDelta(turn=TURN, message_id=MESSAGE, text="hm")
    out = [
        ToolOutput(turn=TURN, call_id=call, name="t", text=text) for call, text in (("a", "1"), ("a", "2"), ("b", "3"))
    ]
    events: list[CoreEvent] = [
        said("a"),
        said(""),
        said("\U0001f511"),
        thought,
        thought,
        said("b"),
        *out,
        said("c", new_id()),
    ]
    for event in events:
        feed.publish(event)
    assert seen(await drained(reader)) == [
        (3, "message.delta", "a\U0001f511"), (5, "thinking.delta", "hmhm"), (6, "message.delta", "b"),
        (8, "tool.output", "12"), (9, "tool.output", "3"), (10, "message.delta", "c"),
    ]  # fmt: skip


async def test_what_comes_just_after_a_pause_is_read_with_what_ended_it() -> None:
    feed = LiveFeed()
    with feed.subscribe() as reader:
        first = asyncio.ensure_future(anext(reader.gathered(0.01)))
        await asyncio.sleep(0)
        feed.publish(said("one "))
        await asyncio.sleep(0)
        feed.publish(said("two"))
        assert seen([await first]) == [(2, "message.delta", "one two")]


async def test_text_never_moves_past_another_event() -> None:
    feed = LiveFeed()
    reader = feed.subscribe()
    events: list[CoreEvent] = [said("a"), notice("between"), said("b")]
    for event in events:
        feed.publish(event)
    assert [text for _, _, text in seen(await drained(reader))] == ["a", "between", "b"]


async def test_each_session_is_numbered_from_one_for_every_reader() -> None:
    feed = LiveFeed()
    first = feed.subscribe()
    events = [notice("1"), notice("x", OTHER), notice("2")]
    feed.publish(events[0])
    second = feed.subscribe()
    feed.publish(events[1])
    feed.publish(events[2])
    assert [(live.seq, live.event) for live in await drained(second)] == [(1, events[1]), (2, events[2])]
    assert [live.seq for live in await drained(first)] == [1, 1, 2]


async def test_a_reader_that_falls_too_far_behind_is_told_to_read_the_tables() -> None:
    feed = LiveFeed()
    slow, quick = feed.subscribe(limit=3), feed.subscribe()
    for number in range(5):
        feed.publish(notice(str(number)))
    assert seen(await drained(slow)) == [(4, "resync", None), (4, "notice", "3"), (5, "notice", "4")]
    assert len(await drained(quick)) == 5


async def test_merging_needs_no_room() -> None:
    feed = LiveFeed()
    reader = feed.subscribe(limit=1)
    for _ in range(9):
        feed.publish(said("x"))
    assert seen(await drained(reader)) == [(9, "message.delta", "x" * 9)]


async def test_a_waiting_reader_gets_what_comes_and_ends_when_it_is_closed() -> None:
    feed, got = LiveFeed(), list[Live]()

    async def read(reader: Subscription) -> None:
        async for live in reader:
            got.append(live)

    with feed.subscribe() as reader:
        task = asyncio.ensure_future(read(reader))
        await asyncio.sleep(0)
        feed.publish(notice("1"))
        await until(lambda: got)
    await task
    feed.publish(notice("nobody listens"))
    assert len(got) == 1


async def test_a_session_is_shown_anew_when_its_turns_begin_and_end() -> None:
    bus, events = HookBus(), list["CoreEvent"]()
    register_live_feed(bus, events.append)
    for hook in ("on_session_start", "on_session_end", "pre_llm_call"):
        await bus.fire(hook, **arguments(hook, turn=TURN))
    assert [type(event) for event in events] == [SessionUpdated] * 2
    created = SessionCreated(session_id=TURN.session_id, profile_id="home", title=None)
    changed = QueueChanged(session_id=TURN.session_id, profile_id="home", waiting=0, paused=False)
    assert {session_of(event) for event in [*events, created, changed]} == {TURN.session_id}


async def test_repeating_work_goes_on_after_any_failure_and_ends_on_close(caplog: pytest.LogCaptureFixture) -> None:
    runs = list[int]()

    async def work() -> None:
        runs.append(1)
        raise ValueError("this time")

    background = Background()
    background.every(0, "sweep", work)
    await until(lambda: len(runs) > 2)
    await background.close()
    ended = len(runs)
    await asyncio.sleep(0)
    assert len(runs) == ended
    assert all(record.levelno == logging.ERROR and "sweep failed" in record.message for record in caplog.records)
