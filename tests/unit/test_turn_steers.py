"""The turn loop over what is sent into it: where it goes in, in which order, and what it does to the turn's end."""

from __future__ import annotations

from typing import Any

import pytest

from cos.agent.cancellation import CancelToken
from cos.agent.events import MessageAdded
from cos.agent.ids import new_id
from cos.agent.memory_journal import StoredWaiting
from cos.agent.messages import AssistantMessage, ToolResultMessage, UserMessage
from cos.agent.providers.scripted import called, said
from cos.agent.records import TurnStatus
from cos.agent.steering import take_steers
from cos.agent.turn_state import TurnState
from tests.agent_bench import Bench, bench, tool


def steer(b: Bench, *texts: str) -> None:
    b.journal.sessions[b.session_id].queue += [StoredWaiting(new_id(), UserMessage(text=t), "steer") for t in texts]


def waiting(b: Bench) -> list[str]:
    return [row.message.text for row in b.journal.sessions[b.session_id].queue]


def spoken(b: Bench) -> list[str]:
    return [message.content if isinstance(message, ToolResultMessage) else message.text or "" for message in b.history]


async def test_steers_go_in_after_the_results_of_the_step_in_order() -> None:
    async def run(args: Any, turn: Any, ctx: Any) -> Any:
        steer(b, f"note {args['n']}", f"and {args['n']}")
        return await tool("t").run({}, turn, ctx)

    b = await bench([called(("a", "t", {"n": 1}), ("b", "t", {"n": 2})), said("ok")], tool("t", run))
    outcome = await b.run()
    assert (outcome.status, outcome.text) == (TurnStatus.COMPLETED, "ok")
    assert spoken(b) == ["go", "", "done", "done", "note 1", "and 1", "note 2", "and 2", "ok"]
    assert b.provider.requests[1].messages == tuple(b.history[:-1])
    added = [event.message for event in b.of(MessageAdded) if isinstance(event.message, UserMessage)]
    assert [(message.text, message.origin) for message in added[1:]] == [
        ("note 1", "steered"), ("and 1", "steered"), ("note 2", "steered"), ("and 2", "steered"),
    ]  # fmt: skip
    assert waiting(b) == []
    b.assert_whole()


async def test_a_steer_that_waits_when_the_model_has_answered_is_honoured_in_the_same_turn() -> None:
    b = await bench([said("first answer"), said("second answer")])
    b.on("transform_llm_output", lambda response_text: steer(b, "wait") if response_text == "first answer" else None)
    outcome = await b.run()
    assert (outcome.text, spoken(b)) == ("second answer", ["go", "first answer", "wait", "second answer"])
    assert b.statuses == [TurnStatus.COMPLETED]


async def test_a_steer_is_better_than_a_nudge_after_an_empty_reply() -> None:
    b = await bench([said(""), said("ok")])
    b.on("post_api_request", lambda api_call_count: steer(b, "more") if api_call_count == 1 else None)
    await b.run()
    assert spoken(b) == ["go", "more", "ok"]
    b.assert_whole()


async def test_what_is_sent_before_the_first_model_call_goes_with_it() -> None:
    b = await bench([said("ok")])

    def remember() -> dict[str, str]:
        steer(b, "also")
        return {"context": "remember"}

    b.on("pre_llm_call", remember)
    await b.run()
    assert b.provider.requests[0].messages == (
        UserMessage(text="go", context="remember"), UserMessage(text="also", origin="steered"),
    )  # fmt: skip


async def test_nothing_goes_between_a_pause_and_its_continuation() -> None:
    b = await bench([said("half", stop="pause_turn"), said("whole"), said("more")])
    b.on("post_api_request", lambda api_call_count: steer(b, "wait") if api_call_count == 1 else None)
    await b.run()
    assert spoken(b) == ["go", "half", "whole", "wait", "more"]


@pytest.mark.parametrize("last", [said("done"), called(("c", "t", {}))], ids=["answer", "call"])
async def test_a_steer_that_no_step_is_left_for_goes_on_waiting(last: Any) -> None:
    b = await bench([last, said("summary")], tool("t"), max_steps=1)
    b.on("post_api_request", lambda: None if waiting(b) else steer(b, "late"))
    await b.run()
    assert waiting(b) == ["late"]
    assert "late" not in spoken(b)


async def test_a_cancelled_turn_takes_nothing_more() -> None:
    async def run(args: Any, turn: Any, ctx: Any) -> Any:
        steer(b, "late")
        b.cancel.cancel()
        return await tool("t").run({}, turn, ctx)

    b = await bench([called(("a", "t", {}))], tool("t", run))
    assert (await b.run()).status is TurnStatus.CANCELLED
    assert waiting(b) == ["late"]
    b.assert_whole()


async def test_a_cancelled_answer_is_still_an_answer() -> None:
    b = await bench([said("ok")])

    def late() -> None:
        steer(b, "late")
        b.cancel.cancel()

    b.on("post_api_request", late)
    assert (await b.run()).status is TurnStatus.COMPLETED
    assert waiting(b) == ["late"]


async def test_an_agent_without_a_source_of_steers_takes_none() -> None:
    b = await bench([])
    state = TurnState(
        turn=b.turn(), session=b.context(), prompt=UserMessage(text="x"), cancel=CancelToken(), publish=b.events.append
    )
    assert not await take_steers(None, state)


async def test_a_call_id_of_a_message_that_no_model_sees_any_more_is_not_used_again() -> None:
    b = await bench([called(("c", "t", {})), said("1"), called(("c", "t", {})), said("2")], tool("t"))
    await b.run()
    for row in b.journal.sessions[b.session_id].messages:
        row.active = False
    await b.run()
    calls = [call.id for message in b.history if isinstance(message, AssistantMessage) for call in message.tool_calls]
    assert (calls, [result.call_id for result in b.results]) == (["c_2"], ["c_2"])
