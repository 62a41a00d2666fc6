"""Cancelling a turn at every point of its way: the journal is whole, nothing runs on, the next message works."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, cast

import pytest

from cos.agent.cancellation import CancelToken, uninterrupted
from cos.agent.events import ToolStarted, TurnCompleted, Usage
from cos.agent.hookspecs import HOOKS
from cos.agent.identity import TurnInfo
from cos.agent.memory_journal import MemoryJournal
from cos.agent.messages import UserMessage
from cos.agent.provider import ModelChunk, ModelReply, ModelRequest, ProviderUnavailable, StreamStarted, TextChunk
from cos.agent.providers.scripted import Script, ScriptedProvider, ScriptedStream, called, said
from cos.agent.records import ToolCallStatus, TurnEnd, TurnStatus
from cos.agent.tools import ToolContext, ToolError, ToolOk, ToolOutcome
from tests.agent_bench import ALLOWED, Bench, bench, tool, until

Strike = Callable[[CancelToken, "asyncio.Task[Any]"], None]


class Clock:
    """Counts the interactions of a turn with the world around it, and strikes at one of them."""

    def __init__(self, at: int) -> None:
        self.count = 0
        self.at = at
        self.strike: Callable[[], None] = lambda: None

    async def tick(self) -> None:
        self.count += 1
        if self.count == self.at:
            self.strike()
        await asyncio.sleep(0)


class SteppedJournal(MemoryJournal):
    """As the one in Postgres: every write ends, and a cancellation arrives after it."""

    clock = Clock(0)

    async def append_message(self, *args: Any, **more: Any) -> None:
        await uninterrupted(self._stepped(super().append_message(*args, **more)))

    async def annotate_prompt(self, *args: Any, **more: Any) -> None:
        await uninterrupted(self._stepped(super().annotate_prompt(*args, **more)))

    async def record_tool_call(self, *args: Any, **more: Any) -> None:
        await uninterrupted(self._stepped(super().record_tool_call(*args, **more)))

    async def compact(self, *args: Any, **more: Any) -> None:
        await uninterrupted(self._stepped(super().compact(*args, **more)))

    async def finish_turn(self, *args: Any, **more: Any) -> TurnEnd:
        return cast(TurnEnd, await uninterrupted(self._stepped(super().finish_turn(*args, **more))))

    async def _stepped(self, write: Any) -> Any:
        await self.clock.tick()
        answer = await write
        await self.clock.tick()
        return answer


class SteppedStream:
    def __init__(self, stream: ScriptedStream, clock: Clock) -> None:
        self._stream, self._clock = stream, clock

    def reply(self) -> ModelReply:
        return self._stream.reply()

    async def __aiter__(self) -> AsyncIterator[ModelChunk]:
        async for chunk in self._stream:
            await self._clock.tick()
            yield chunk
        await self._clock.tick()


class SteppedProvider(ScriptedProvider):
    clock = Clock(0)

    @asynccontextmanager
    async def stream(self, request: ModelRequest) -> AsyncIterator[Any]:
        await self.clock.tick()
        async with super().stream(request) as stream:
            yield SteppedStream(stream, self.clock)


async def stepped(clock: Clock) -> Bench:
    """A turn with a retry that differs, two reading calls, one that is asked for, a compaction, and a final reply."""

    async def run(args: dict[str, Any], turn: TurnInfo, ctx: ToolContext) -> ToolOutcome:
        await clock.tick()
        ctx.emit("out")
        await clock.tick()
        return ToolOk(content="did it")

    async def answer(request: object) -> Any:
        await clock.tick()
        return ALLOWED

    dropped: Script = [StreamStarted("m"), TextChunk("Hello"), ProviderUnavailable("lost")]
    reply = called(("a", "read", {}), ("b", "read", {}), ("c", "write", {}), ("d", "nope", {}), text="I look")
    reply = replace(reply, usage=Usage(input_tokens=170_000))
    journal = SteppedJournal()
    journal.clock = clock
    b = await bench(
        [], tool("read", run), tool("write", run, risk="write"), answers=[answer], journal=journal
    )  # fmt: skip
    provider = SteppedProvider([dropped, reply, said("In short"), said("All done")])
    provider.clock = clock
    b.provider = provider
    b.agent._model._provider = provider
    for name in HOOKS:
        b.on(name, clock.tick)
    b.on("pre_llm_call", lambda: "context")
    b.on("pre_tool_call", lambda tool_name: {"action": "approve"} if tool_name == "write" else None)
    return b


def by_token(token: CancelToken, task: asyncio.Task[Any]) -> None:
    token.cancel()


def by_task(token: CancelToken, task: asyncio.Task[Any]) -> None:
    task.cancel()


def by_both_twice(token: CancelToken, task: asyncio.Task[Any]) -> None:
    token.cancel("first")
    task.cancel()
    asyncio.get_running_loop().call_soon(token.cancel, "second")
    asyncio.get_running_loop().call_soon(task.cancel)


async def struck(at: int, strike: Strike) -> int:
    """Run the turn with a strike at interaction `at`; check the end; return the number of interactions."""
    clock = Clock(at)
    b = await stepped(clock)
    token = CancelToken()
    state = await b.agent.open(b.turn(), UserMessage(text="go"), b.context(), token)
    task = asyncio.ensure_future(b.agent.run(state))
    clock.strike = lambda: strike(token, task)
    await asyncio.wait({task})
    where = f"struck at {at} of {clock.count} by {strike.__name__}"
    assert asyncio.all_tasks() == {asyncio.current_task()}, where
    assert [type(event) for event in b.events].index(TurnCompleted) == len(b.events) - 1, where
    b.assert_whole()
    (status,) = b.statuses
    assert status in {TurnStatus.COMPLETED, TurnStatus.CANCELLED}, where
    assert {event.call_id for event in b.of(ToolStarted)} >= {
        call_id for call_id, record in b.records.items() if record.status is ToolCallStatus.OK
    }, where
    if status is TurnStatus.CANCELLED:
        assert b.of(TurnCompleted)[0].stop_reason == "cancelled", where
    b.provider._scripts[:] = [said("fine"), said("fine")]
    assert (await b.run("next")).text == "fine", where
    b.assert_whole()
    return clock.count


@pytest.mark.parametrize("strike", [by_token, by_task, by_both_twice])
async def test_a_cancel_at_any_point_leaves_the_journal_whole(strike: Strike) -> None:
    total = await struck(-1, strike)
    assert total > 60
    for at in range(1, total + 1):
        await struck(at, strike)


async def test_a_running_tool_is_stopped_and_its_result_says_that_it_had_started() -> None:
    ended = list[str]()

    async def hangs(args: dict[str, Any], turn: TurnInfo, ctx: ToolContext) -> ToolOutcome:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("stopped")
        return ToolOk(content="never")

    b = await bench([called(("a", "w", {}), ("b", "w", {}))], tool("w", hangs, risk="write"))
    turn = asyncio.ensure_future(b.run())
    await until(lambda: b.of(ToolStarted))
    b.cancel.cancel()
    b.cancel.cancel("again")
    assert (await turn).status is TurnStatus.CANCELLED
    assert ended == ["stopped"]
    assert [result.content for result in b.results] == [
        "Stopped while it ran (by the user). It may have had a part of its effect.",
        "Not run: the turn ended before this call started (by the user).",
    ]
    assert {record.status for record in b.records.values()} == {ToolCallStatus.CANCELLED}
    b.assert_whole()


async def test_a_tool_that_stops_itself_says_what_it_can() -> None:
    async def stops(args: dict[str, Any], turn: TurnInfo, ctx: ToolContext) -> ToolOutcome:
        await ctx.cancel.wait()
        await asyncio.sleep(0)
        return ToolError(content="stopped; 3 of 5 files were done", status=ToolCallStatus.CANCELLED)

    b = await bench([called(("a", "w", {}))], tool("w", stops, risk="write", stops_itself=True))
    turn = asyncio.ensure_future(b.run())
    await until(lambda: b.of(ToolStarted))
    b.cancel.cancel()
    assert (await turn).status is TurnStatus.CANCELLED
    assert b.results[0].content == "stopped; 3 of 5 files were done"


@pytest.mark.parametrize("beats", range(12))
async def test_escape_in_the_instant_a_tool_ends_leaves_one_result(beats: int) -> None:
    """H-011."""
    release = asyncio.Event()

    async def waits(args: dict[str, Any], turn: TurnInfo, ctx: ToolContext) -> ToolOutcome:
        await release.wait()
        return ToolOk(content="ended")

    b = await bench([called(("a", "w", {})), said("ok")], tool("w", waits))
    turn = asyncio.ensure_future(b.run())
    await until(lambda: b.of(ToolStarted))
    release.set()
    for _ in range(beats):
        await asyncio.sleep(0)
    b.cancel.cancel()
    await turn
    assert len(b.results) == 1
    b.assert_whole()


async def test_a_token_set_before_the_turn_begins_ends_it_without_a_model_call() -> None:
    b = await bench([])
    token = CancelToken()
    token.cancel("too late")
    outcome = await b.agent.run_turn(b.turn(), UserMessage(text="go"), b.context(), token)
    assert (outcome.status, b.provider.requests) == (TurnStatus.CANCELLED, [])
    b.assert_whole()


async def test_partial_text_is_kept_with_its_mark() -> None:
    b = await bench([[StreamStarted("m"), TextChunk("so far"), "hang"]])
    turn = asyncio.ensure_future(b.run())
    await until(lambda: any(event.type == "message.delta" for event in b.events))
    b.cancel.cancel()
    outcome = await turn
    assert (outcome.status, outcome.text, outcome.stop_reason) == (TurnStatus.CANCELLED, "so far", "cancelled")
    assert b.history[-1].model_dump() == {"role": "assistant", "text": "so far", "partial": True}
    b.assert_whole()


class FailingJournal(MemoryJournal):
    """Refuses records of calls once `broken`."""

    broken = False

    async def record_tool_call(self, *args: Any, **more: Any) -> None:
        if self.broken:
            raise OSError("disk full")
        await super().record_tool_call(*args, **more)


async def test_a_journal_that_fails_ends_the_turn_as_failed_with_every_call_answered() -> None:
    journal = FailingJournal()

    async def breaks(args: dict[str, Any], turn: TurnInfo, ctx: ToolContext) -> ToolOutcome:
        journal.broken = True
        return ToolOk(content="ok")

    b = await bench([called(("a", "w", {}), ("b", "w", {}))], tool("w", breaks, risk="write"), journal=journal)
    outcome = await b.run()
    assert (outcome.status, b.statuses) == (TurnStatus.FAILED, [TurnStatus.FAILED])
    assert "disk full" in (outcome.error or "")
    b.assert_whole()
    assert b.records["a"].status is ToolCallStatus.UNKNOWN
