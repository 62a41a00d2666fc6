"""The tool calls of one step: prepare (judge, ask) → execute → finalize, and their results in the order of the calls.

All calls of a step are prepared at once, so that a person sees every request of the step. They then run in order:
neighbours that only read run together, any other call waits for those before it.
"""

from __future__ import annotations

import asyncio
import copy
import logging
from typing import TYPE_CHECKING

from cos.agent.arguments import schema_errors
from cos.agent.call_clock import CallClock
from cos.agent.call_context import CallContext
from cos.agent.call_judge import CallJudge, call_arguments, record_call, refuse
from cos.agent.cancellation import is_being_cancelled, uninterrupted
from cos.agent.errors import TurnCancelled
from cos.agent.events import MessageAdded, ToolFinished, ToolStarted
from cos.agent.hook_rules import first_string
from cos.agent.hook_words import call_status, error_type
from cos.agent.ids import new_id
from cos.agent.messages import ToolResultMessage, stored_form
from cos.agent.records import ToolCallStatus
from cos.agent.results import NO_OUTPUT, clipped
from cos.agent.text import storable
from cos.agent.tool_code import crashed, risk_of
from cos.agent.tools import Tool, ToolError, ToolOk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cos.agent.approver import Approver
    from cos.agent.hooks import HookBus
    from cos.agent.journal import Journal
    from cos.agent.messages import Message
    from cos.agent.turn_state import CallState, TurnState

log = logging.getLogger("cos.agent")

_GRACE_SECONDS = 6.0
"""How long a tool that stops itself may take to do so."""


class CallRunner:
    """Answers the tool calls of a step."""

    def __init__(self, hooks: HookBus, journal: Journal, approver: Approver) -> None:
        self._hooks = hooks
        self._journal = journal
        self._approver = approver
        self._judge = CallJudge(hooks, journal, approver)

    async def answer(self, state: TurnState) -> None:
        """Run `state.calls` and append one result for each.

        Raises:
            TurnCancelled: the token was set; `settle` then answers what is left.
        """
        preparations = [
            asyncio.ensure_future(state.cancel.guard(self._judge.judge(state, call))) for call in state.calls
        ]
        try:
            position = 0
            while position < len(state.calls):
                batch = await _next_batch(state, preparations, position)
                ends = await asyncio.gather(*(self._execute(state, call) for call in batch), return_exceptions=True)
                for end in ends:
                    if end is not None:
                        raise end
                for call in batch:
                    await self._append(state, call)
                position += len(batch)
        finally:
            for preparation in preparations:
                preparation.cancel()
            await asyncio.gather(*preparations, return_exceptions=True)

    async def settle(self, state: TurnState) -> None:
        """Give every call that is still unanswered its result: the turn is ending early."""
        for call in state.calls:
            if not call.recorded:
                if not call.status.is_final:
                    _end_early(state, call)
                await self._finalize(state, call)
            await self._append(state, call)

    async def _execute(self, state: TurnState, call: CallState) -> None:
        if not call.status.is_final:
            state.cancel.check()
            if state.changed_in_step:
                await state.cancel.guard(self._judge.judge_again(state, call))
        if not call.status.is_final:
            await self._run(state, call)
        await self._finalize(state, call)

    async def _run(self, state: TurnState, call: CallState) -> None:
        tool = state.session.tools.get(call.call.name)
        assert tool is not None
        call.status = ToolCallStatus.RUNNING
        await record_call(self._journal, state, call)
        call.started = True
        state.changed_in_step = state.changed_in_step or not tool.parallel
        state.publish(ToolStarted(turn=state.turn, call_id=call.call.id, name=call.call.name))
        limit = asyncio.timeout(tool.timeout_seconds)
        clock = CallClock(limit)
        context = CallContext(state, call, clock, self._journal, self._approver)
        try:
            async with limit:
                grace = _GRACE_SECONDS if tool.stops_itself else 0
                outcome = await state.cancel.guard(_awaited(tool, call, state, context), grace_seconds=grace)
        except TimeoutError:
            outcome = ToolError(
                content=f"Stopped: the tool did not end within {tool.timeout_seconds:g} s.",
                status=ToolCallStatus.TIMED_OUT,
            )
        except (TurnCancelled, asyncio.CancelledError) as error:
            call.duration_ms = clock.running_ms
            if isinstance(error, TurnCancelled) or is_being_cancelled():
                raise
            outcome = crashed(tool, error)
        except Exception as error:
            outcome = crashed(tool, error)
        call.duration_ms = clock.running_ms
        call.status = ToolCallStatus.OK if isinstance(outcome, ToolOk) else outcome.status
        call.content = outcome.content
        call.parts = outcome.parts if isinstance(outcome, ToolOk) else ()

    async def _finalize(self, state: TurnState, call: CallState) -> None:
        """Fire the hooks over the result, cut it to size, and put it into the journal."""
        call.content = clipped(storable(f"{call.note}\n{call.content}" if call.note else call.content))
        arguments = call_arguments(state, call, copy.deepcopy(call.call.args)) | {
            "result": call.content, "duration_ms": call.duration_ms or 0, "status": call_status(call.status),
            "error_type": error_type(call.status),
            "error_message": None if call.status is ToolCallStatus.OK else call.content,
        }  # fmt: skip
        await self._hooks.fire("post_tool_call", **arguments)
        replaced = first_string(await self._hooks.fire("transform_tool_result", **arguments), empty_counts=True)
        if replaced is not None:
            call.content = clipped(storable(replaced))
        record = await record_call(self._journal, state, call)
        call.recorded = True
        if call.status in {ToolCallStatus.DENIED, ToolCallStatus.EXPIRED}:
            state.denied_calls += 1
        state.publish(ToolFinished(turn=state.turn, call_id=call.call.id, name=call.call.name, record=record))

    async def _append(self, state: TurnState, call: CallState) -> None:
        if call.appended:
            return
        message = stored_form(
            ToolResultMessage(
                call_id=call.call.id,
                content=call.content or NO_OUTPUT,
                is_error=call.status is not ToolCallStatus.OK,
                parts=list(call.parts),
            )
        )
        await uninterrupted(self._store(state, call, message))

    async def _store(self, state: TurnState, call: CallState, message: Message) -> None:
        """Cut short, it would leave a stored result that is stored again when the turn is closed."""
        message_id = new_id()
        await self._journal.append_message(state.turn, message, message_id=message_id)
        call.appended = True
        state.history.append(message)
        state.publish(MessageAdded(turn=state.turn, message_id=message_id, message=message))


async def _awaited(tool: Tool, call: CallState, state: TurnState, context: CallContext) -> ToolOk | ToolError:
    return await tool.run(copy.deepcopy(call.call.args), state.turn, context)


async def _next_batch(state: TurnState, preparations: Sequence[asyncio.Future[None]], position: int) -> list[CallState]:
    """The calls from `position` on that may run together: reading neighbours, or a single other call.

    They are prepared then, and judged by the arguments with which they will run.
    """
    end = position + 1
    await preparations[position]
    while _only_reads(state, state.calls[position]) and end < len(state.calls) and _only_reads(state, state.calls[end]):
        await preparations[end]
        if not _only_reads(state, state.calls[end]):
            break
        end += 1
    return state.calls[position:end]


def _only_reads(state: TurnState, call: CallState) -> bool:
    tool = state.session.tools.get(call.call.name)
    if tool is None or not tool.parallel or schema_errors(tool.schema, call.call.args):
        return False
    return risk_of(tool, call.call.args) == "read"


def _end_early(state: TurnState, call: CallState) -> None:
    reason = state.cancel.reason or "the turn ended"
    if call.status is ToolCallStatus.WAITING and call.started:
        text = f"Stopped while it waited for the user ({reason}). The user gave no answer."
    elif call.started:
        text = f"Stopped while it ran ({reason}). It may have had a part of its effect."
    else:
        text = f"Not run: the turn ended before this call started ({reason})."
    refuse(call, ToolCallStatus.CANCELLED, text)
