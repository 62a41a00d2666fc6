"""The turn loop with the real adapter against the strict API server: what is steered, and a model that is changed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from cos.agent.ids import new_id
from cos.agent.memory_journal import StoredWaiting
from cos.agent.messages import UserMessage
from cos.agent.providers.anthropic import AnthropicProvider
from cos.agent.records import TurnStatus
from cos.agent.session_context import SessionContext
from cos.agent.turn import Agent, TurnInputs
from tests.agent_bench import Bench, bench, tool
from tests.api_server import ApiServer, redacted, reply, text, thinking
from tests.api_server import tool as call
from tests.api_server.server import KEY

SONNET, OPUS = "claude-sonnet-5-5", "claude-opus-5-5"


@pytest.fixture
async def provider(api: ApiServer) -> AsyncIterator[AnthropicProvider]:
    provider = AnthropicProvider(api_key=KEY, key_source="test", base_url=api.url)
    yield provider
    await provider.close()


async def with_api(provider: AnthropicProvider, *tools: Any) -> Bench:
    b = await bench([], *tools)
    b.agent = Agent(
        provider=provider, hooks=b.hooks, journal=b.journal, approver=b.approver, publish=b.events.append,
        inputs=TurnInputs(steers=b.journal),
    )  # fmt: skip
    return b


def answered_by(b: Bench, model: str) -> SessionContext:
    context = b.context()
    return replace(context, prompt=replace(context.prompt, model=model))


async def test_a_steer_stands_behind_the_results_in_what_the_api_is_sent(
    api: ApiServer, provider: AnthropicProvider
) -> None:
    async def run(args: Any, turn: Any, ctx: Any) -> Any:
        waiting = StoredWaiting(new_id(), UserMessage(text=f"note {args['n']}"), "steer")
        b.journal.sessions[b.session_id].queue.append(waiting)
        return await tool("t").run({"say": f"ran {args['n']}"}, turn, ctx)

    b = await with_api(provider, tool("t", run))
    api.push(
        reply(thinking("a"), call("t", {"n": 1}), call("t", {"n": 2})),
        reply(thinking("b"), call("t", {"n": 3})),
        reply(text("Done.")),
    )
    outcome = await b.agent.run_turn(b.turn(), UserMessage(text="go"), answered_by(b, SONNET))
    assert (outcome.status, outcome.text) == (TurnStatus.COMPLETED, "Done.")
    assert [request.refusal for request in api.requests] == [None] * 3
    first, second = (api.requests[-1].messages[place]["content"] for place in (2, 4))
    assert [block["type"] for block in first] == ["tool_result", "tool_result", "text", "text"]
    assert [block["text"] for block in first[2:]] == ["note 1", "note 2"]
    assert [block["type"] for block in second] == ["tool_result", "text"]
    for before, after in zip(api.requests, api.requests[1:], strict=False):
        assert after.messages[: len(before.messages)] == before.messages


async def test_the_model_of_a_session_may_change_between_its_turns(api: ApiServer, provider: AnthropicProvider) -> None:
    """The server refuses thinking of another model, and thinking whose prefix is not what it was."""
    b = await with_api(provider, tool("t"))
    for number, model in enumerate([SONNET, OPUS, OPUS, SONNET, OPUS]):
        api.push(
            reply(thinking(f"a{number}"), text("I look."), redacted(f"r{number}"), call("t", {})),
            reply(thinking(f"b{number}"), text(f"answer {number}")),
        )
        outcome = await b.agent.run_turn(b.turn(), UserMessage(text=f"q{number}"), answered_by(b, model))
        assert outcome.error is None
    assert {request.refusal for request in api.requests} == {None}
    sent = [request.raw.decode() for request in api.requests[::2]]
    kept = [[f"b{number}" in body for number in range(index)] for index, body in enumerate(sent)]
    assert kept == [[], [False], [False, True], [True, False, False], [False, True, True, False]]
    assert all("answer 3" in body for body in sent[4:])
