"""Compaction against the strict API server: every request around it is one that the real API takes."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from cos.agent.cancellation import CancelToken
from cos.agent.providers.anthropic import AnthropicProvider
from cos.agent.records import TurnStatus
from tests.agent_bench import Bench, bench, tool
from tests.api_server import ApiServer, Reply, http_error, reply, text, thinking, usage
from tests.api_server import tool as call
from tests.api_server.server import KEY

FULL = usage(100_000, 10, cache_read=750_000)


@pytest.fixture
async def b(api: ApiServer) -> AsyncIterator[Bench]:
    """An agent whose model binds its thinking to the exact bytes before it."""
    made = await bench([], tool("echo"))
    provider = AnthropicProvider(api_key=KEY, key_source="ANTHROPIC_API_KEY", base_url=api.url)
    made.model = "claude-sonnet-5-5"
    made.agent._model._provider = provider
    yield made
    await provider.close()


def step(number: int, *, figures: Any = None, say: str = "x") -> Reply:
    return reply(thinking("hm"), text("I look."), call("echo", {"say": say}, id=f"toolu_{number}"), usage=figures)


def blocks(api: ApiServer, index: int) -> list[Any]:
    return [block for message in api.requests[index].messages for block in message["content"]]


def accepted(api: ApiServer) -> None:
    assert [request.refusal for request in api.requests] == [None] * len(api.requests)


async def test_in_the_middle_of_a_turn_with_thinking(api: ApiServer, b: Bench) -> None:
    summary = reply(thinking("what matters"), text("It was x."))
    api.push(step(1, figures=FULL), summary, step(2), reply(thinking("so"), text("Done.")))
    assert (await b.run("look")).text == "Done."
    api.push(reply(text("And more.")))
    await b.run("go on")
    accepted(api)
    first, ask, after, last, turn = (blocks(api, index) for index in range(5))
    assert ask[: len(first)] == first
    assert [block["type"] for block in ask] == ["text", "thinking", "text", "tool_use", "tool_result", "text"]
    assert "tool_choice" not in api.requests[1].body
    assert [block["type"] for block in after] == ["text"]
    assert last[:1] == after and [block["type"] for block in last[1:]] == [
        "thinking", "text", "tool_use", "tool_result",
    ]  # fmt: skip
    assert turn[: len(last)] == last
    for request in api.requests:
        assert (request.body["system"], request.body["tools"]) == (
            api.requests[0].body["system"],
            api.requests[0].body["tools"],
        )
    b.assert_whole()


async def test_by_hand_and_the_turn_after_it(api: ApiServer, b: Bench) -> None:
    api.push(step(1), reply(thinking("so"), text("Done.")), reply(text("It was x.")), reply(text("Good.")))
    await b.run("look")
    assert (await b.agent.compact(b.turn(), b.context(), None, CancelToken())).status is TurnStatus.COMPLETED
    await b.run("go on")
    accepted(api)
    (message,) = api.requests[3].messages
    assert [block["text"][-9:] for block in message["content"]] == ["It was x.", "go on"]


async def test_a_conversation_that_is_too_long_is_shortened_into_a_request_that_is_accepted(
    api: ApiServer, b: Bench
) -> None:
    long = http_error(400, "invalid_request_error", "prompt is too long: 208310 tokens > 200000 maximum")
    api.push(*(step(number, say="y" * 9_000) for number in range(6)), long, long, long, long)
    api.push(reply(text("It was y.")), reply(thinking("so"), text("Done.")))
    assert (await b.run("look")).text == "Done."
    accepted(api)
    assert [block["type"] for block in blocks(api, -2)][-3:] == ["tool_use", "tool_result", "text"]
    whole, shortest = api.requests[-5], api.requests[-2]
    assert len(shortest.raw) < len(whole.raw) / 10
    b.assert_whole()


async def test_a_long_conversation_with_two_compactions_is_append_only_between_them(api: ApiServer, b: Bench) -> None:
    turns, compacts_after = 100, {33, 66}
    for number in range(turns):
        api.push(
            step(number), reply(thinking("so"), text(f"{number}"), usage=FULL if number in compacts_after else None)
        )
        if number in compacts_after:
            api.push(reply(thinking("what matters"), text(f"Up to {number}.")))
    for number in range(turns):
        assert (await b.run(f"prompt {number}")).text == f"{number}"
    accepted(api)
    sent = [blocks(api, index) for index in range(len(api.requests))]
    restarts = [index for index in range(1, len(sent)) if sent[index][: len(sent[index - 1])] != sent[index - 1]]
    assert [sent[index][0]["text"].split("\n\n")[1] for index in restarts] == ["Up to 33.", "Up to 66."]
    assert all(request.body["system"] == api.requests[0].body["system"] for request in api.requests)
    assert len(b.journal.sessions[b.session_id].messages) == turns * 4 + 2, "nothing is deleted"
    b.assert_whole()
