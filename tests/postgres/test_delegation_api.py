"""A long conversation with child agents against the strict API server: valid requests, each a prefix of the next."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

from cos.agent.providers.anthropic import AnthropicProvider
from cos.agent.records import TurnStatus
from cos.core.settings import DelegationSettings
from tests.api_server import ApiServer, RecordedRequest, Reply, reply, text, thinking, tool
from tests.api_server.server import KEY
from tests.core_bench import core_bench

TURNS, EVERY, COMPACTED_EVERY = 500, 10, 50


def answer(request: RecordedRequest) -> Reply:
    """A model that thinks, and gives every tenth turn to a child."""
    last = request.messages[-1]["content"]
    blocks = [{"type": "text", "text": last}] if isinstance(last, str) else last
    said = blocks[-1].get("text", "")
    if said.startswith("turn") and int(said.split()[1]) % EVERY == 0:
        return reply(thinking("too much for me"), tool("delegate_task", {"goal": f"goal of {said}"}))
    if "summary" in said.lower():
        return reply(text("All was well."))
    if said.startswith("goal"):
        return reply(thinking("alone"), text(f"{said} is reached"))
    return reply(text("All is well."))


def conversations(api: ApiServer) -> dict[str, list[list[Any]]]:
    """What each conversation was sent, by its first words."""
    found: dict[str, list[list[Any]]] = {}
    for request in api.requests:
        first = request.messages[0]["content"]
        words = first if isinstance(first, str) else first[0]["text"]
        found.setdefault(words, []).append(request.messages)
    return found


async def test_500_turns_with_50_children_are_append_only_and_every_request_is_valid(
    core_url: str, tmp_path: Path, api: ApiServer
) -> None:
    api.answer = answer
    provider = AnthropicProvider(api_key=KEY, key_source="test", base_url=api.url)
    limits, settings = DelegationSettings(), {"model": "claude-sonnet-5-5"}
    async with core_bench(core_url, tmp_path, provider=provider, limits=limits, settings=settings) as core:
        session = None
        for number in range(TURNS):
            done = await core.ask(f"turn {number}", session)
            session = done.turn.session_id
            assert (done.status, done.text) == (TurnStatus.COMPLETED, "All is well.")
            await core.idle(session)
            if number % COMPACTED_EVERY == COMPACTED_EVERY - 1 and number < TURNS - 1:
                assert (await core.ended(await core.dispatcher.compact(session))).status is TurnStatus.COMPLETED
                await core.idle(session)
            core.events.clear()
        await provider.close()
    assert [request.refusal for request in api.requests if request.refusal] == []
    sent = conversations(api)
    goals = [f"goal of turn {number}" for number in range(0, TURNS, EVERY)]
    assert {words: len(sent[words]) for words in goals} == dict.fromkeys(goals, 1)
    parents = {words: requests for words, requests in sent.items() if words not in goals}
    compactions = TURNS // COMPACTED_EVERY - 1
    assert sum(map(len, parents.values())) == TURNS + TURNS // EVERY + compactions
    assert len(parents) == 2, "the conversation, and what stands after a summary"
    starts = 0
    for before, after in pairwise([it for requests in parents.values() for it in requests]):
        if after[: len(before)] != before:
            starts += 1
            assert len(after) == 1, "only a compaction begins anew"
    assert starts == compactions
