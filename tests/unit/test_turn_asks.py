"""A running call that asks the user: its clock stands still, and a turn that ends takes the question along."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cos.agent.approver import ApprovalRequest
from cos.agent.call_clock import CallClock
from cos.agent.events import ToolFinished, ToolOutput
from cos.agent.identity import TurnInfo
from cos.agent.providers.scripted import called, said
from cos.agent.records import ApprovalAnswer, ToolCallStatus, TurnStatus
from cos.agent.tools import ToolContext, ToolOk, ToolOutcome
from tests.agent_bench import Bench, bench, tool

ANSWERED = ApprovalAnswer(decision="answered", answer="Red", answered_by="test")
CALL = called(("a", "asks", {"x": 1}))


async def asks(args: dict[str, Any], turn: TurnInfo, ctx: ToolContext) -> ToolOutcome:
    answer = await ctx.ask("\nWhich colour?\nSay.", ["Red", "Blue"])
    ctx.emit("heard")
    return ToolOk(content=f"{answer.decision}: {answer.answer}")


async def test_the_answer_comes_back_to_the_tool_and_is_recorded() -> None:
    b = await bench([CALL, said("end")], tool("asks", asks), answers=[ANSWERED])
    await b.run()
    (request,) = b.approver.asked
    assert (request.kind, request.choices, request.name) == ("question", ("Red", "Blue"), "asks")
    assert (request.description.title, request.description.detail) == ("Which colour?", "\nWhich colour?\nSay.")
    assert [result.content for result in b.results] == ["answered: Red"]
    assert b.records["a"].approval == ANSWERED
    assert b.of(ToolOutput) and b.of(ToolFinished)[0].record.status is ToolCallStatus.OK


async def test_waiting_counts_neither_as_running_time_nor_for_the_limit() -> None:
    loop = asyncio.get_running_loop()
    limit = asyncio.timeout(100)
    async with limit:
        clock, due = CallClock(limit), limit.when()
        assert due is not None
        with clock.stopped(), clock.stopped():
            assert limit.when() is None
            began = loop.time()
            while loop.time() < began + 0.02:
                await asyncio.sleep(0)
        moved = limit.when()
        assert moved is not None and moved >= due + 0.02
        assert clock.running_ms < 20


async def test_a_tool_with_a_limit_may_wait_for_the_user_beyond_it() -> None:
    async def slowly(request: ApprovalRequest) -> ApprovalAnswer:
        loop = asyncio.get_running_loop()
        end = loop.time() + 0.1
        while loop.time() < end:
            await asyncio.sleep(0)
        return ANSWERED

    b = await bench([CALL, said("end")], tool("asks", asks, timeout_seconds=0.05), answers=[slowly])
    await b.run()
    assert [result.content for result in b.results] == ["answered: Red"]


@pytest.mark.parametrize(("risk", "recorded"), [("read", ToolCallStatus.WAITING), ("write", ToolCallStatus.RUNNING)])
async def test_what_is_recorded_while_it_waits_is_true_if_the_process_dies(risk: Any, recorded: ToolCallStatus) -> None:
    seen: list[ToolCallStatus] = []
    made: list[Bench] = []

    async def look(request: ApprovalRequest) -> ApprovalAnswer:
        seen.append(made[0].records["a"].status)
        return ANSWERED

    made.append(await bench([CALL, said("end")], tool("asks", asks, risk=risk), answers=[look]))
    await made[0].run()
    assert seen == [recorded]


async def test_a_cancelled_turn_says_that_no_answer_came() -> None:
    made: list[Bench] = []

    async def cancel(request: ApprovalRequest) -> ApprovalAnswer:
        made[0].cancel.cancel()
        await asyncio.Event().wait()
        raise AssertionError

    made.append(await bench([CALL], tool("asks", asks), answers=[cancel]))
    outcome = await made[0].run()
    assert outcome.status is TurnStatus.CANCELLED
    assert [result.content for result in made[0].results] == [
        "Stopped while it waited for the user (by the user). The user gave no answer."
    ]
    assert made[0].records["a"].status is ToolCallStatus.CANCELLED


async def test_a_question_closed_by_somebody_else_ends_the_turn() -> None:
    closed = ApprovalAnswer(decision="cancelled", reason="the turn ended")
    b = await bench([CALL], tool("asks", asks), answers=[closed])
    assert (await b.run()).status is TurnStatus.CANCELLED
    assert "answered" not in b.results[0].content
