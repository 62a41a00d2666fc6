"""The turn loop over replies: what is stored, what stop reasons mean, limits, nudges and hooks around them."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest

from cos.agent import step
from cos.agent.errors import TurnBusyError
from cos.agent.events import ContextUpdated, MessageAdded, MessageDelta, TurnCompleted, TurnStarted, Usage
from cos.agent.hookspecs import HOOKS
from cos.agent.messages import AssistantMessage, UserMessage
from cos.agent.provider import ContextTooLong, ModelReply, ProposedCall, StreamStarted, TextChunk, ThinkingChunk
from cos.agent.providers.scripted import Script, called, said
from cos.agent.records import TurnStatus
from cos.agent.replies import received
from tests.agent_bench import bench, tool


async def test_a_plain_reply_is_stored_published_and_completes_the_turn() -> None:
    b = await bench([ModelReply(text="Hello", stop_reason="end_turn", usage=Usage(input_tokens=3), is_complete=True)])
    outcome = await b.run("hi")
    assert (outcome.status, outcome.text, outcome.stop_reason) == (TurnStatus.COMPLETED, "Hello", "end_turn")
    assert b.history == [UserMessage(text="hi"), AssistantMessage(text="Hello")]
    kinds = [TurnStarted, MessageAdded, MessageDelta, ContextUpdated, MessageAdded, TurnCompleted]
    assert [type(event) for event in b.events] == kinds
    ended = b.events[-1]
    assert isinstance(ended, TurnCompleted)
    assert (ended.usage, ended.had_output, ended.error) == (Usage(input_tokens=3), True, None)
    b.assert_whole()


async def test_a_stream_that_is_there_already_leaves_everything_else_its_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(step, "_BREATH_SECONDS", 0.0)
    b = await bench([[TextChunk("word ")] * 50])
    turns_of_others = 0

    async def work() -> None:
        nonlocal turns_of_others
        while True:
            streams = bool(b.provider.open_streams)
            turns_of_others += streams
            await asyncio.sleep(0)

    others = asyncio.ensure_future(work())
    await b.run("hi")
    others.cancel()
    assert turns_of_others > 40


async def test_every_request_begins_with_the_one_before() -> None:
    b = await bench(
        [called(("a", "echo", {"say": "x"}), text="look"), said("done"), said(""), said("more"), said("end")],
        tool("echo"),
    )
    b.on("pre_llm_call", lambda: {"context": "remember"})
    for text in ("one", "two", "three"):
        await b.run(text)
    requests = [request.messages for request in b.provider.requests]
    for before, after in itertools.pairwise(requests):
        assert after[: len(before)] == before
    assert all(request.prompt == b.provider.requests[0].prompt for request in b.provider.requests)
    assert list(requests[-1]) == b.history[:-1]
    b.assert_whole()


async def test_context_of_hooks_goes_into_the_models_copy_of_the_prompt_and_is_stored() -> None:
    b = await bench([said("ok")])
    b.on("pre_llm_call", lambda: "first")
    b.on("pre_llm_call", lambda: {"context": "second"})
    await b.run("hi")
    prompt = UserMessage(text="hi", context="first\n\nsecond")
    assert b.provider.requests[0].messages == (prompt,)
    assert b.history[0] == prompt


async def test_pause_turn_calls_again_with_what_came_and_transforms_only_the_end() -> None:
    b = await bench([said("half ", stop="pause_turn"), said("whole")])
    b.on("transform_llm_output", lambda response_text: response_text.upper())
    outcome = await b.run()
    assert [message.model_dump()["text"] for message in b.history] == ["go", "half ", "WHOLE"]
    assert (outcome.text, len(b.provider.requests)) == ("WHOLE", 2)


async def test_pauses_are_bounded() -> None:
    b = await bench([said("again", stop="pause_turn")] * 6)
    outcome = await b.run()
    assert (outcome.status, b.provider.unused) == (TurnStatus.COMPLETED, 0)


async def test_a_refusal_is_shown_and_never_retried() -> None:
    reply = ModelReply(text="", stop_reason="refusal", stop_details="policy", is_complete=True)
    b = await bench([reply])
    outcome = await b.run()
    assert (outcome.status, outcome.stop_reason, outcome.text) == (TurnStatus.COMPLETED, "refusal", "")
    assert b.notices == ["The model refused to answer (policy). Rephrase the message before you go on."]


async def test_max_tokens_keeps_the_text_and_says_so() -> None:
    b = await bench([said("cut", stop="max_tokens")])
    outcome = await b.run()
    assert outcome.text == "cut"
    assert b.history[-1] == AssistantMessage(text="cut", stop_reason="max_tokens")
    assert "output limit" in b.notices[0]


async def test_an_empty_reply_is_nudged_once_and_then_said_honestly() -> None:
    b = await bench([said(" \n"), said("here")])
    assert (await b.run()).text == "here"
    assert b.history[1].model_dump()["origin"] == "loop"
    b = await bench([said(""), said("")])
    outcome = await b.run()
    assert (outcome.status, outcome.text) == (TurnStatus.COMPLETED, "")
    assert b.notices == ["The model returned nothing."]
    b.assert_whole()


async def test_thinking_alone_counts_as_empty_and_is_kept_but_never_sent() -> None:
    thinking: Script = [StreamStarted("m"), ThinkingChunk("hmm"), ModelReply(stop_reason="end_turn", is_complete=True)]
    b = await bench([thinking, said("words")])
    assert (await b.run()).text == "words"
    kept = [row for row in b.journal.sessions[b.session_id].messages if not row.active]
    assert [row.message.model_dump()["blocks"] for row in kept] == [[{"type": "thinking", "thinking": "hmm"}]]
    b.assert_whole()


async def test_the_step_limit_asks_for_a_summary_without_tools() -> None:
    steps: list[Script] = [called((f"c{n}", "echo", {})) for n in range(90)]
    b = await bench([*steps, said("summary")], tool("echo"))
    outcome = await b.run()
    assert (outcome.status, outcome.text, outcome.stop_reason) == (TurnStatus.COMPLETED, "summary", "max_steps")
    assert [request.allow_tools for request in b.provider.requests] == [True] * 90 + [False]
    assert "The limit of 90 steps" in b.notices[0]
    b.assert_whole()


async def test_calls_in_the_summary_at_the_limit_are_answered_and_not_run() -> None:
    ran = list[int]()

    async def run(args: dict[str, Any], turn: object, ctx: object) -> None:
        ran.append(1)

    b = await bench([called(("late", "act", {}), text="sum")], tool("act", run), max_steps=0)
    await b.run()
    assert (ran, b.results[0].is_error) == ([], True)
    b.assert_whole()


async def test_a_context_that_is_too_long_fails_with_the_providers_sentence() -> None:
    b = await bench([ContextTooLong("the prompt is too long: 3 > 2")])
    outcome = await b.run()
    assert (outcome.status, outcome.error) == (TurnStatus.FAILED, "the prompt is too long: 3 > 2")
    b.assert_whole()


async def test_an_unforeseen_error_fails_the_turn_in_a_sentence() -> None:
    b = await bench([RuntimeError("boom")])
    outcome = await b.run()
    assert outcome.error == "internal error (RuntimeError: boom); see the log"
    b.assert_whole()


async def test_a_session_takes_one_turn_at_a_time() -> None:
    b = await bench([])
    cancel = b.cancel
    state = await b.agent.open(b.turn(), UserMessage(text="x"), b.context(), cancel)
    with pytest.raises(TurnBusyError):
        await b.run()
    cancel.cancel()
    assert (await b.agent.run(state)).status is TurnStatus.CANCELLED
    b.assert_whole()


async def test_hooks_of_a_turn_fire_in_order_with_every_argument() -> None:
    b = await bench([said("", stop="end_turn"), called(("c", "echo", {})), said("bye"), said("again")], tool("echo"))
    fired = list[str]()
    for name in HOOKS:

        async def callback(name: str = name, **given: Any) -> None:
            assert set(given) == {*HOOKS[name].arguments, "telemetry_schema_version"} - {"name"}
            fired.append(name)

        b.on(name, callback)
    await b.run()
    call = ["pre_api_request", "post_api_request"]
    tools = ["pre_tool_call", "post_tool_call", "transform_tool_result"]
    ending = ["transform_llm_output", "post_llm_call", "on_session_end"]
    assert fired == ["on_session_start", "pre_llm_call", *call, *call, *tools, *call, *ending]
    fired.clear()
    await b.run()
    assert fired == ["pre_llm_call", *call, *ending], "on_session_start is for a session's first turn"


async def test_a_transformed_reply_keeps_the_providers_other_blocks() -> None:
    thinking = {"type": "thinking", "thinking": "t", "signature": "s"}
    reply = ModelReply(
        text="secret", blocks=(thinking, {"type": "text", "text": "secret"}), stop_reason="end_turn", is_complete=True
    )
    b = await bench([reply])
    b.on("transform_llm_output", lambda: "")
    b.on("transform_llm_output", lambda: "masked")
    assert (await b.run()).text == "masked"
    assert b.history[-1].model_dump()["blocks"] == [thinking, {"type": "text", "text": "masked"}]


def call(id_: str, name: str = "t", args: Any = None) -> ProposedCall:
    return ProposedCall(id=id_, name=name, args={} if args is None else args, raw_args="{}")


def test_blocks_are_kept_only_when_text_then_calls_would_not_give_them() -> None:
    text, use = {"type": "text", "text": "hi"}, {"type": "tool_use", "id": "c", "name": "t", "input": {}}
    plain = ModelReply(text="hi", calls=(call("c"),), blocks=(text, use), stop_reason="tool_use")
    assert received(plain, set(), "m").message == AssistantMessage(text="hi", tool_calls=[call_message("c")])
    turned = ModelReply(text="hi", calls=(call("c"),), blocks=(use, text), stop_reason="tool_use")
    kept = received(turned, set(), "m").message
    assert (kept.blocks, kept.model) == ([use, text], "m")
    without = ModelReply(text="hi", calls=(call("c"),), stop_reason="tool_use")
    assert received(without, set(), "m").message.model is None


def test_ids_used_before_and_illegal_names_are_replaced_in_calls_and_blocks() -> None:
    use = {"type": "tool_use", "id": "a", "name": "bad name", "input": {}}
    odd = {"type": "thinking", "thinking": "", "signature": "s"}
    reply = ModelReply(
        calls=(call("a", "bad name"), call("a"), call("no id!"), call("", "")),
        blocks=(odd, use, {"type": "text", "text": " "}, use | {"name": "t"}),
        stop_reason="tool_use",
    )
    used = {"a"}
    message = received(reply, used, "m").message
    assert used == {"a", *(c.id for c in message.tool_calls)}
    assert [(c.id, c.name) for c in message.tool_calls] == [
        ("a_2", "bad_name"), ("a_3", "t"), ("call", "t"), ("call_2", "unnamed"),
    ]  # fmt: skip
    assert message.blocks[0] == odd
    assert [(b["id"], b["name"]) for b in message.blocks[1:]] == [(c.id, c.name) for c in message.tool_calls]


def call_message(id_: str) -> Any:
    return {"id": id_, "name": "t", "args": {}}


async def test_leading_words_and_text_chunks_arrive_exactly() -> None:
    b = await bench([[StreamStarted("m"), TextChunk("\n a"), TextChunk("b\u200d"), TextChunk(" ")]])
    assert (await b.run()).text == "\n ab\u200d "
    b.assert_whole()
