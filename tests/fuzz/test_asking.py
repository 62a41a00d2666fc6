"""Questions and tasks with arguments that no schema can rule out, and the answers to them: a result, never a crash."""

from __future__ import annotations

import asyncio
import json
import logging
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cos.agent.arguments import schema_errors
from cos.agent.events import ApprovalRequested, TurnCompleted
from cos.agent.messages import ToolResultMessage
from cos.agent.providers.scripted import called, said
from cos.agent.records import ApprovalAnswer, TurnStatus
from cos.agent.results import RESULT_CHARACTERS
from cos.agent.text import storable
from cos.core.inbound import Inbound
from cos.core.tools.clarify import clarify_tool
from tests.delegating import ScriptedAgents
from tests.fuzz.making import fitting, texts, tries

if TYPE_CHECKING:
    from cos.agent.tools import Json
    from cos.cli.running_core import Core
    from tests.fix_home import CoreHome

WORDS: Json = {"type": "string"}
ROLE: Json = {"enum": ["leaf", "orchestrator"]}
TASK: Json = {
    "type": "object", "properties": {"goal": WORDS, "context": WORDS, "role": ROLE}, "required": ["goal"],
}  # fmt: skip
DELEGATE: Json = {
    **TASK, "properties": {**TASK["properties"], "tasks": {"type": "array", "items": TASK}}, "required": [],
}  # fmt: skip
CLARIFY = clarify_tool().schema


async def _opened(core_home: CoreHome) -> tuple[Core, ScriptedAgents]:
    if not core_home.opened:
        core_home.providers["home"] = ScriptedAgents({}, always=said("child\x1b[2J\ud800 done"))
        await core_home.open()
    agents = core_home.providers["home"]
    assert isinstance(agents, ScriptedAgents)
    return core_home.opened[0], agents


async def _result(core: Core, agents: ScriptedAgents, call: tuple[str, Json], answer: str) -> ToolResultMessage:
    """What the model gets for one call, with every question answered by `answer`."""
    first = f"go {uuid4()}"
    agents.script(first, called(("c", *call)), said("done"))
    with core.feed.subscribe() as events:
        accepted = await core.dispatcher.dispatch(Inbound(text=first, profile_id="home", source="cli"))
        async with asyncio.timeout(60):
            async for live in events:
                if isinstance(live.event, ApprovalRequested):
                    assert live.event.kind == "question"
                    told = ApprovalAnswer(decision="answered", answer=answer, answered_by="tui")
                    await core.desk.answer(live.event.approval_id, told)
                if isinstance(live.event, TurnCompleted) and live.event.turn.turn_id == accepted.turn_id:
                    assert live.event.status is TurnStatus.COMPLETED, live.event.error
                    break
    (found,) = [one for one in agents.asked(first)[-1].messages if isinstance(one, ToolResultMessage)]
    return found


def _silent(caplog: pytest.LogCaptureFixture) -> bool:
    bad = [record.getMessage() for record in caplog.records if record.exc_info or record.levelno >= logging.ERROR]
    caplog.clear()
    assert bad == []
    return True


@tries(15)
@given(args=fitting(CLARIFY), answer=texts.filter(lambda text: storable(text).strip()))
async def test_any_question_and_any_answer(
    core_home: CoreHome, caplog: pytest.LogCaptureFixture, args: Any, answer: str
) -> None:
    core, agents = await _opened(core_home)
    args = args if isinstance(args, dict) else {"question": args}
    result = await _result(core, agents, ("clarify", args), answer)
    if schema_errors(CLARIFY, args) or not args["question"].strip():
        assert result.is_error
    elif len(result.content) < RESULT_CHARACTERS:
        assert storable(json.loads(result.content)["user_response"]) == storable(answer)
    assert _silent(caplog)


@tries(15)
@given(data=st.data())
async def test_any_task_for_a_child(core_home: CoreHome, caplog: pytest.LogCaptureFixture, data: st.DataObject) -> None:
    core, agents = await _opened(core_home)
    args = data.draw(fitting(DELEGATE))
    result = await _result(core, agents, ("delegate_task", args if isinstance(args, dict) else {"goal": args}), "x")
    if result.is_error:
        assert result.content
    else:
        ends = json.loads(result.content)["results"]
        assert {(end["status"], end["summary"]) for end in ends} == {("completed", "child\x1b[2J\ufffd done")}
    assert _silent(caplog)
