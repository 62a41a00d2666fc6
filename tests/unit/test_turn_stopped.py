"""A plugin may stop a turn before a model call; every attempt that was announced has its end."""

from __future__ import annotations

from typing import Any

from cos.agent.errors import CosError
from cos.agent.provider import ProviderUnavailable, StreamStarted, TextChunk
from cos.agent.providers.scripted import called, said
from cos.agent.records import TurnStatus
from tests.agent_bench import bench, tool

STOP = {"action": "stop", "message": "The budget is spent.", "stop_reason": "budget"}


async def test_a_stop_fails_the_turn_with_its_words_and_sends_nothing() -> None:
    b = await bench([called(("c", "echo", {})), said("never")], tool("echo"))
    seen = list[int]()

    async def stops(api_call_count: int) -> dict[str, str] | None:
        seen.append(api_call_count)
        return STOP if api_call_count == 2 else None

    b.on("pre_api_request", stops)
    outcome = await b.run()
    assert (outcome.status, outcome.stop_reason, outcome.error) == (TurnStatus.FAILED, "budget", "The budget is spent.")
    assert (seen, b.provider.unused) == ([1, 2], 1)
    b.assert_whole()


async def test_a_stop_also_ends_the_attempts_of_a_call() -> None:
    b = await bench([ProviderUnavailable("busy"), said("never")])
    b.on("pre_api_request", lambda attempt: STOP if attempt == 2 else None)
    assert (await b.run()).stop_reason == "budget"
    assert b.provider.unused == 1


async def test_a_hook_that_fails_stops_nothing() -> None:
    b = await bench([said("fine")])
    b.on("pre_api_request", lambda: 1 / 0)
    assert (await b.run()).status is TurnStatus.COMPLETED


async def test_every_attempt_that_was_announced_has_its_end_also_when_the_journal_fails() -> None:
    b = await bench([[StreamStarted("m"), TextChunk("half"), ProviderUnavailable("gone")], said("other")])
    fired, append = list[str](), b.journal.append_message
    for name in ("pre_api_request", "post_api_request", "api_request_error"):
        b.on(name, lambda name=name, **_: fired.append(name))

    async def refuses_what_was_replaced(*given: Any, active: bool = True, **more: Any) -> None:
        if not active:
            raise CosError("the disk is full")
        await append(*given, active=active, **more)

    b.journal.append_message = refuses_what_was_replaced  # type: ignore[method-assign]
    outcome = await b.run()
    assert (outcome.status, outcome.error) == (TurnStatus.FAILED, "the disk is full")
    assert fired == ["pre_api_request", "api_request_error"] * 2
