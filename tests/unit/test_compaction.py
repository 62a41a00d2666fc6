"""Compaction in the turn loop: when it happens, what the model is sent, and that a failed one changes nothing."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from cos.agent.cancellation import CancelToken
from cos.agent.events import ContextUpdated, MessageAdded, MessageDelta, Usage
from cos.agent.messages import AssistantMessage, Message, ToolResultMessage, UserMessage
from cos.agent.provider import (
    ContextTooLong,
    ModelReply,
    ProviderRefused,
    ProviderUnavailable,
    StreamStarted,
    TextChunk,
)
from cos.agent.providers.scripted import Script, called, said
from cos.agent.records import ContextMeter, TurnStatus
from tests.agent_bench import Bench, bench, tool, until

FULL = Usage(input_tokens=100_000, cache_read_tokens=50_000, output_tokens=10_000)
"""Exactly 80 % of the scripted provider's window."""
TOO_LONG = ContextTooLong("the conversation is too long for scripted-1")


def full(reply: ModelReply, usage: Usage = FULL) -> ModelReply:
    return replace(reply, usage=usage)


def summaries(b: Bench) -> list[UserMessage]:
    return [message for message in b.history if isinstance(message, UserMessage) and message.compaction]


def words(message: Message) -> str:
    assert isinstance(message, UserMessage)
    return message.text


async def compacted(b: Bench, instructions: str | None = None) -> Any:
    return await b.agent.compact(b.turn(), b.context(), instructions, CancelToken())


async def test_a_full_context_is_summed_up_between_two_steps_and_the_turn_goes_on() -> None:
    step = called(("a", "echo", {"say": "x"}), ("b", "echo", {"say": "y"}), text="I look")
    b = await bench([full(step), full(said("They said x and y.")), said("done")], tool("echo"))
    b.on("pre_llm_call", lambda: "remember the milk")
    outcome = await b.run("look at both")
    assert (outcome.status, outcome.text) == (TurnStatus.COMPLETED, "done")
    first, ask, after = (request.messages for request in b.provider.requests)
    assert ask[: len(first)] == first, "the cache holds"
    assert [message.role for message in ask] == ["user", "assistant", "tool_result", "tool_result", "user"]
    assert "Call no tool" in words(ask[-1])
    assert all(r.prompt == b.provider.requests[0].prompt and r.allow_tools for r in b.provider.requests)
    (summary,) = after
    assert isinstance(summary, UserMessage) and summary.compaction is not None
    assert "They said x and y." in summary.text and summary.text.endswith("word for word:\n\nlook at both")
    assert (summary.context, summary.origin) == ("remember the milk", "compaction")
    assert (summary.compaction.messages, summary.compaction.tokens) == (4, 10_000)
    assert b.history == [summary, AssistantMessage(text="done")]
    assert [row.active for row in b.journal.sessions[b.session_id].messages] == [False] * 4 + [True] * 2
    assert outcome.usage == FULL + FULL, "its tokens count"
    b.assert_whole()


async def test_the_summary_is_told_as_one_message_and_not_as_a_streamed_reply() -> None:
    b = await bench([full(called(("a", "echo", {}))), said("secret plan"), said("done")], tool("echo"))
    await b.run()
    assert "".join(event.text for event in b.of(MessageDelta)) == "done"
    (event,) = [e for e in b.of(MessageAdded) if isinstance(e.message, UserMessage) and e.message.compaction]
    assert event.message == b.history[0]
    assert b.notices == ["The context is 80% full: the model sums the conversation up."]


async def test_the_next_turn_compacts_what_the_one_before_has_filled() -> None:
    b = await bench([full(said("one")), said("short"), said("two")])
    await b.run("first")
    assert not summaries(b)
    await b.run("second")
    assert b.provider.requests[1].messages[:3] == (
        UserMessage(text="first"), AssistantMessage(text="one"), UserMessage(text="second"),
    )  # fmt: skip
    assert words(b.provider.requests[2].messages[0]).endswith("word for word:\n\nsecond")
    assert b.journal.sessions[b.session_id].meter is None, "the figure of the old context says nothing any more"
    b.assert_whole()


@pytest.mark.parametrize(
    ("compact_at", "usage"),
    [
        (0.0, Usage(input_tokens=199_999)),
        (0.8, Usage(input_tokens=150_000, output_tokens=9_999)),
        (0.8, Usage(output_tokens=190_000)),
        (1.0, Usage(input_tokens=199_999)),
    ],
)
async def test_below_the_threshold_or_without_a_count_nothing_is_compacted(compact_at: float, usage: Usage) -> None:
    b = await bench([full(called(("a", "echo", {})), usage), said("done")], tool("echo"), compact_at=compact_at)
    assert (await b.run()).text == "done"
    assert summaries(b) == []


async def test_a_summary_that_is_large_by_itself_does_not_compact_at_every_step() -> None:
    steps: list[Script] = [full(called((f"c{n}", "echo", {}))) for n in range(4)]
    b = await bench([steps[0], said("s1"), *steps[1:], said("s2"), said("done")], tool("echo"))
    assert (await b.run()).text == "done"
    assert [len(request.messages) for request in b.provider.requests] == [1, 4, 1, 3, 5, 8, 1]
    b.assert_whole()


async def test_what_was_said_into_the_turn_survives_every_summary_word_for_word() -> None:
    steps: list[Script] = [full(called((f"c{n}", "echo", {}))) for n in range(4)]
    b = await bench([steps[0], said("s1"), *steps[1:], said("s2"), said("done")], tool("echo"))
    state = await b.agent.open(b.turn(), UserMessage(text="go"), b.context(), CancelToken())
    calls = b.agent._calls.answer

    async def answer(state: Any) -> None:
        await calls(state)
        state.history.append(UserMessage(text=f"only blue ones {len(state.steered)}", origin="steered"))

    b.agent._calls.answer = answer  # type: ignore[method-assign]
    await b.agent.run(state)
    assert words(b.provider.requests[2].messages[0]).endswith("word for word:\n\ngo\n\nonly blue ones 0")
    assert words(b.provider.requests[-1].messages[0]).count("only blue ones") == 3


@pytest.mark.parametrize(
    ("scripts", "why"),
    [
        ([said(" \n")], "the summary was empty"),
        ([said("half a", stop="max_tokens")], "the summary was cut off at the output limit"),
        ([said("no", stop="refusal")], "the model refused to write a summary"),
        ([called(("x", "echo", {}), text="I look"), called(("x", "echo", {}))], "the model called tools instead"),
        ([ProviderRefused("bad request")], "bad request"),
        ([[StreamStarted("m"), TextChunk("half"), ProviderUnavailable("gone")]] * 5, "gone"),
    ],
)
async def test_a_failed_compaction_changes_nothing_and_the_turn_goes_on(scripts: list[Script], why: str) -> None:
    steps: list[Script] = [full(called(("a", "echo", {}))), *scripts, full(called(("b", "echo", {}))), said("done")]
    b = await bench(steps, tool("echo"))
    outcome = await b.run("go")
    assert (outcome.status, outcome.text) == (TurnStatus.COMPLETED, "done")
    assert [message.role for message in b.history] == ["user", *["assistant", "tool_result"] * 2, "assistant"]
    assert b.provider.requests[-1].messages[:3] == b.provider.requests[1].messages[:3]
    assert all(row.active for row in b.journal.sessions[b.session_id].messages)
    (warning,) = [text for text in b.notices if "Not compacted" in text]
    assert why in warning
    b.assert_whole()


async def test_a_model_that_calls_tools_is_asked_once_more_without_them() -> None:
    b = await bench(
        [full(called(("a", "echo", {}))), called(("b", "echo", {})), said("short"), said("ok")], tool("echo")
    )
    await b.run()
    assert [request.allow_tools for request in b.provider.requests] == [True, True, False, True]
    assert "short" in summaries(b)[0].text
    assert list(b.records) == ["a"], "its calls are no calls"


async def test_a_compaction_is_tried_again_where_the_connection_breaks() -> None:
    dropped: Script = [StreamStarted("m"), TextChunk("half"), ProviderUnavailable("gone")]
    b = await bench([full(called(("a", "echo", {}))), dropped, said("whole"), said("ok")], tool("echo"))
    await b.run()
    assert "whole" in summaries(b)[0].text
    assert not any("half" in str(row.message) for row in b.journal.sessions[b.session_id].messages)


async def test_hooks_see_the_call_for_the_summary_like_every_other() -> None:
    b = await bench([full(called(("a", "echo", {}))), full(said("short")), said("ok")], tool("echo"))
    seen = list[tuple[str, int]]()
    b.on("pre_api_request", lambda api_request_id, message_count: seen.append((api_request_id, message_count)))
    used = list[Usage]()
    b.on("post_api_request", lambda usage: used.append(usage))
    await b.run()
    assert [(name.rsplit(":", 1)[1], count) for name, count in seen] == [("1", 1), ("2", 4), ("3", 1)]
    assert used == [FULL, FULL, Usage()]
    assert [event.meter for event in b.of(ContextUpdated)][1:3] == [
        ContextMeter(model="scripted-1", used=160_000, window=200_000), None,
    ]  # fmt: skip


async def test_cancelled_while_the_summary_is_written_nothing_has_changed() -> None:
    b = await bench([full(called(("a", "echo", {}))), [StreamStarted("m"), TextChunk("so"), "hang"]], tool("echo"))
    turn = asyncio.ensure_future(b.run())
    await until(lambda: len(b.provider.requests) == 2 and b.provider.open_streams)
    b.cancel.cancel()
    assert (await turn).status is TurnStatus.CANCELLED
    assert [message.role for message in b.history] == ["user", "assistant", "tool_result"]
    b.assert_whole()


async def test_a_conversation_that_does_not_fit_is_compacted_once_and_sent_again() -> None:
    b = await bench([called(("a", "echo", {})), TOO_LONG, said("short"), said("done")], tool("echo"))
    outcome = await b.run("go")
    assert (outcome.status, outcome.text) == (TurnStatus.COMPLETED, "done")
    assert [len(request.messages) for request in b.provider.requests] == [1, 3, 4, 1]
    b.assert_whole()


async def test_what_does_not_fit_after_a_compaction_either_fails_clearly() -> None:
    b = await bench([called(("a", "echo", {})), TOO_LONG, said("short"), TOO_LONG], tool("echo"))
    outcome = await b.run()
    assert outcome.status is TurnStatus.FAILED
    assert outcome.error == f"{TOO_LONG}, although it was compacted. Ask for less at once, or begin a new session"
    b.assert_whole()


async def test_without_compaction_what_does_not_fit_fails_with_the_providers_sentence() -> None:
    b = await bench([called(("a", "echo", {})), TOO_LONG], tool("echo"), compact_at=0)
    assert (await b.run()).error == str(TOO_LONG)


async def test_a_request_for_a_summary_that_does_not_fit_is_made_shorter_until_it_does() -> None:
    blocks = [{"type": "thinking", "thinking": "hm", "signature": "s"}]
    step = called(*((f"c{n}", "echo", {"say": f"{n}" * 9_000}) for n in range(4)), text="I look")
    step = replace(step, blocks=(*blocks, {"type": "text", "text": "I look"}))
    more = called(("d", "echo", {"say": "z"}))
    b = await bench([step, more, *[TOO_LONG] * 4, said("short"), said("done")], tool("echo"))
    assert (await b.run("p" * 9_000)).text == "done"
    *_, whole, cut, half, quarter, _ = (request.messages for request in b.provider.requests)
    assert [len(whole), len(cut), len(half), len(quarter)] == [9, 10, 4, 4]
    sizes = [sum(len(message.model_dump_json()) for message in messages) for messages in (whole, cut, half, quarter)]
    assert sizes == sorted(sizes, reverse=True) and sizes[0] > 80_000 and sizes[-1] < 4_000
    for messages in (cut, half, quarter):
        assert "left out here" in words(messages[0])
        assert not isinstance(messages[1], ToolResultMessage)
        assert not any(isinstance(message, AssistantMessage) and message.blocks for message in messages)
    assert words(b.provider.requests[-1].messages[0]).endswith("p" * 9_000), "the prompt itself stays whole"
    b.assert_whole()


async def test_when_no_summary_fits_either_the_turn_fails_and_nothing_has_changed() -> None:
    b = await bench([called(("a", "echo", {})), *[TOO_LONG] * 4], tool("echo"))
    outcome = await b.run()
    assert (outcome.status, b.provider.unused) == (TurnStatus.FAILED, 0)
    assert outcome.error == f"{TOO_LONG}. It could not be compacted either: {TOO_LONG}"
    assert [message.role for message in b.history] == ["user", "assistant", "tool_result"]
    b.assert_whole()


async def test_a_reply_that_fills_the_window_goes_on_after_a_compaction() -> None:
    b = await bench([said("One two", stop="model_context_window_exceeded"), said("short"), said("three")])
    outcome = await b.run("count")
    assert (outcome.status, outcome.text) == (TurnStatus.COMPLETED, "three")
    assert b.provider.requests[1].messages[1] == AssistantMessage(
        text="One two", stop_reason="model_context_window_exceeded"
    )
    assert "fills the model's window" in b.notices[0]
    again = said("Four", stop="model_context_window_exceeded")
    b = await bench([said("One", stop="model_context_window_exceeded"), said("short"), again])
    outcome = await b.run("count")
    assert (outcome.status, outcome.text) == (TurnStatus.FAILED, "Four")
    assert outcome.error is not None and "although it was compacted" in outcome.error
    b.assert_whole()


async def test_by_hand_it_is_a_turn_of_its_own_with_the_users_wish() -> None:
    b = await bench([said("one"), full(said("All about ducks.")), said("two")])
    await b.run("first")
    outcome = await compacted(b, "keep the ducks")
    assert (outcome.status, outcome.stop_reason, outcome.text, outcome.usage) == (
        TurnStatus.COMPLETED, "compacted", "", FULL,
    )  # fmt: skip
    assert words(b.provider.requests[1].messages[-1]).endswith("The user asks for this in the summary: keep the ducks")
    (summary,) = b.history
    assert words(summary).endswith("All about ducks."), "no prompt: nothing was asked in this turn"
    await b.run("second")
    assert b.provider.requests[2].messages == (summary, UserMessage(text="second"))
    assert b.statuses == [TurnStatus.COMPLETED] * 3
    b.assert_whole()


async def test_by_hand_a_failure_is_the_turns_error() -> None:
    b = await bench([said("one"), said("cut", stop="max_tokens"), ProviderRefused("no such model")])
    await b.run("first")
    before = b.history
    outcome = await compacted(b)
    why = "The session is not compacted and as it was: the summary was cut off at the output limit"
    assert (outcome.status, outcome.error) == (TurnStatus.FAILED, why)
    assert (await compacted(b)).error == "no such model"
    assert b.history == before
    b.assert_whole()


async def test_by_hand_there_must_be_something_to_compact() -> None:
    b = await bench([said("one"), said("short")])
    nothing = "there is nothing to compact in this session yet"
    assert (await compacted(b)).error == nothing
    await b.run("first")
    assert (await compacted(b)).status is TurnStatus.COMPLETED
    assert (await compacted(b)).error == nothing, "a summary alone is not summed up again"
    assert b.provider.unused == 0


async def test_call_ids_of_compacted_messages_are_not_used_again() -> None:
    """A provider may begin to count anew: a second result for one id would end every later turn."""
    step = called(("call_0", "echo", {}))
    b = await bench([full(step), said("short"), step, said("done"), step, said("end")], tool("echo"))
    assert (await b.run()).text == "done"
    assert (await b.run()).text == "end"
    assert [result.call_id for result in b.results] == ["call_0_2", "call_0_3"]
    b.assert_whole()


async def test_a_count_that_includes_thinking_is_not_given_as_the_length_of_the_summary() -> None:
    thought = ({"type": "thinking", "thinking": "", "signature": "s"}, {"type": "text", "text": "short"})
    b = await bench(
        [full(called(("a", "echo", {}))), replace(full(said("short")), blocks=thought), said("ok")], tool("echo")
    )
    await b.run()
    compaction = summaries(b)[0].compaction
    assert compaction is not None and (compaction.messages, compaction.tokens) == (3, None)


SMALL = Usage(input_tokens=20_000)
STILL_FULL = Usage(input_tokens=155_000, output_tokens=6_000)
"""Beyond the threshold, and 3 % less than before the compaction."""


def passes(*after: Usage) -> list[Script]:
    """Turns that each begin with a full context and compact; `after` is counted by the call behind each summary."""
    scripts: list[Script] = []
    for number, usage in enumerate(after):
        scripts += [full(said(f"summary {number}")), full(called((f"c{number}", "echo", {})), usage)]
        # Six messages since the summary, so that the meter alone may compact again.
        scripts += [full(called((f"d{number}", "echo", {})), usage), full(said(f"end {number}"), STILL_FULL)]
    return scripts


async def test_after_two_passes_that_saved_little_it_stops_by_itself_and_says_so_once() -> None:
    scripts = [full(said("zero")), *passes(STILL_FULL, STILL_FULL), full(said("on")), full(said("and on"))]
    b = await bench(scripts, tool("echo"))
    for prompt in ("first", "second", "third", "fourth", "fifth"):
        assert (await b.run(prompt)).status is TurnStatus.COMPLETED
    assert b.provider.unused == 0, "the last two turns sent no request for a summary"
    assert len([text for text in b.notices if "the model sums" in text]) == 2
    (said_once,) = [text for text in b.notices if "saved less than 10% 2 times in a row" in text]
    assert "/compact does it once" in said_once
    meter = b.journal.sessions[b.session_id].meter
    assert meter is not None and meter.futile == 2, "the next turn knows, in another process, too"
    assert (await compacted_after(b)).futile == 0
    b.assert_whole()


async def compacted_after(b: Bench) -> ContextMeter:
    """The meter of the turn after a compaction by hand."""
    b.provider._scripts.extend([full(said("by hand")), full(said("small again"), SMALL)])
    assert (await compacted(b)).status is TurnStatus.COMPLETED
    assert (await b.run("sixth")).text == "small again"
    meter = b.journal.sessions[b.session_id].meter
    assert meter is not None
    return meter


async def test_a_pass_that_saves_enough_begins_the_count_again() -> None:
    scripts = [full(said("zero")), *passes(STILL_FULL, SMALL, STILL_FULL, STILL_FULL), full(said("on"))]
    b = await bench(scripts, tool("echo"))
    for number in range(6):
        await b.run(f"turn {number}")
    assert b.provider.unused == 0
    assert len([text for text in b.notices if "the model sums" in text]) == 4
    assert len([text for text in b.notices if "times in a row" in text]) == 1


async def test_a_conversation_that_does_not_fit_is_compacted_also_after_that() -> None:
    end: list[Script] = [TOO_LONG, said("short"), full(said("done"), SMALL)]
    b = await bench([full(said("zero")), *passes(STILL_FULL, STILL_FULL), *end], tool("echo"))
    for prompt in ("first", "second", "third"):
        await b.run(prompt)
    assert (await b.run("fourth")).text == "done"
    meter = b.journal.sessions[b.session_id].meter
    assert meter is not None and meter.futile == 0
    b.assert_whole()
