"""A long conversation with children and memory against the strict API server: each request a prefix of the next."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from cos.agent.providers.anthropic import AnthropicProvider
from cos.agent.records import TurnStatus
from tests.api_server import ApiServer, RecordedRequest, Reply, reply, text, thinking, tool
from tests.api_server.server import KEY
from tests.fix_home import CoreHome, asked

if TYPE_CHECKING:
    from uuid import UUID

    from cos.cli.running_core import Core

TURNS, EVERY, COMPACTED_EVERY = 500, 10, 50
OLD_FACT = "The user has a dog"


def answer(request: RecordedRequest) -> Reply:
    """A model that thinks, gives every tenth turn to a child, and in others adds to memory, corrects it and forgets."""
    last = request.messages[-1]["content"]
    blocks = [{"type": "text", "text": last}] if isinstance(last, str) else last
    said = blocks[-1].get("text", "")
    if said.startswith("turn"):
        return begun(said, int(said.split()[1]))
    if "summary" in said.lower():
        return reply(text("All was well."))
    if said.startswith("goal"):
        return reply(thinking("alone"), text(f"{said} is reached"))
    return reply(text("All is well."))


def begun(said: str, number: int) -> Reply:
    match number % EVERY:
        case 0:
            return reply(thinking("too much for me"), tool("delegate_task", {"goal": f"goal of {said}"}))
        case 3:
            return reply(thinking("new"), tool("memory", {"action": "add", "content": f"fact {number}"}))
        case 5:
            old, new = f"fact {number - 2}", f"fact {number - 2}, corrected"
            return reply(tool("memory", {"action": "replace", "old_text": old, "content": new}))
        case 7 if number % COMPACTED_EVERY != 47:
            return reply(thinking("old"), tool("memory", {"action": "remove", "old_text": f"fact {number - 4},"}))
    return reply(text("All is well."))


def conversations(api: ApiServer) -> dict[str, list[RecordedRequest]]:
    """The requests of each conversation, by its first words."""
    found: dict[str, list[RecordedRequest]] = {}
    for request in api.requests:
        first = request.messages[0]["content"]
        words = first if isinstance(first, str) else first[0]["text"]
        found.setdefault(words, []).append(request)
    return found


async def compacted(core: Core, session: UUID) -> None:
    done = await core.dispatcher.compact(session)
    statement = b"SELECT status FROM turns WHERE id = %(id)s"
    while (status := (await core.database.fetch(statement, {"id": done}))[0]["status"]) == "running":
        await idle(core, session)
    assert status == "completed"
    await idle(core, session)


async def idle(core: Core, session: UUID) -> None:
    while core.dispatcher.running(session) is not None or core.dispatcher.turns.admission[session].locked():
        await asyncio.sleep(0.002)


async def stored(core: Core) -> list[str]:
    return [row["content"] for row in await core.database.fetch(b"SELECT content FROM memory_entries ORDER BY number")]


def memory_results(requests: list[RecordedRequest]) -> list[dict[str, Any]]:
    """What the tool `memory` told the model, call by call."""
    found: dict[str, Any] = {}
    for request in requests:
        for message in request.messages:
            blocks = message["content"] if isinstance(message["content"], list) else []
            found |= {block["tool_use_id"]: block for block in blocks if block["type"] == "tool_result"}
    contents = [block["content"] for block in found.values()]
    texts = [content if isinstance(content, str) else content[0]["text"] for content in contents]
    return [told for told in map(json.loads, texts) if "target" in told]


async def test_500_turns_with_50_children_and_140_memory_writes_are_append_only_and_every_request_is_valid(
    core_home: CoreHome, api: ApiServer
) -> None:
    api.answer = answer
    core_home.write_profile("home", 'provider = "anthropic"\nmodel = "claude-sonnet-5-5"\n')
    core_home.providers["home"] = AnthropicProvider(api_key=KEY, key_source="test", base_url=api.url)
    core = await core_home.open()
    await core.database.fetch(
        b"INSERT INTO memory_entries (profile_id, target, content) VALUES ('home', 'user', %(fact)s)",
        {"fact": OLD_FACT},
    )
    session = None
    for number in range(TURNS):
        done = await asked(core, f"turn {number}", session)
        session = done.turn.session_id
        assert (done.status, done.text) == (TurnStatus.COMPLETED, "All is well.")
        await idle(core, session)
        if number % COMPACTED_EVERY == COMPACTED_EVERY - 1 and number < TURNS - 1:
            await compacted(core, session)
    assert [request.refusal for request in api.requests if request.refusal] == []
    sent = conversations(api)
    goals = [f"goal of turn {number}" for number in range(0, TURNS, EVERY)]
    assert {words: len(sent[words]) for words in goals} == dict.fromkeys(goals, 1)
    parents = [request for words, requests in sent.items() if words not in goals for request in requests]
    compactions, writes = TURNS // COMPACTED_EVERY - 1, 3 * TURNS // EVERY - TURNS // COMPACTED_EVERY
    assert len(parents) == TURNS + TURNS // EVERY + writes + compactions
    assert len(sent) - len(goals) == 2, "the conversation, and what stands after a summary"
    starts = 0
    for before, after in pairwise(request.messages for request in parents):
        if after[: len(before)] != before:
            starts += 1
            assert len(after) == 1, "only a compaction begins anew"
    assert starts == compactions
    told = memory_results(parents)
    assert (len(told), {it["success"] for it in told}) == (writes, {True})
    kept = [f"fact {number}, corrected" for number in range(43, TURNS, COMPACTED_EVERY)]
    assert await stored(core) == [OLD_FACT, *kept]
    first, *later = [json.dumps([request.body["system"], request.body["tools"]]) for request in parents]
    assert set(later) == {first}, "what was remembered meanwhile stands in the messages, not in the frozen context"
    assert OLD_FACT in first and "fact 43" not in first
    await asked(core, "turn 1")
    fresh = json.dumps(api.requests[-1].body["system"])
    assert all(fact in fresh for fact in kept)
