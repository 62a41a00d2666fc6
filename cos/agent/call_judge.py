"""The judging of a tool call before it runs: its arguments, the guards, and the user where they want one asked."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

from cos.agent.approver import ApprovalRequest, Approver
from cos.agent.arguments import schema_errors
from cos.agent.errors import TurnCancelled
from cos.agent.events import ToolProposed
from cos.agent.hook_rules import judge_by_policy, judge_call
from cos.agent.hook_words import approval_choice
from cos.agent.messages import json_text
from cos.agent.records import ToolCallRecord, ToolCallStatus
from cos.agent.results import refused_text, unknown_tool_text
from cos.agent.tool_code import describe, risk_of

if TYPE_CHECKING:
    from cos.agent.hooks import HookBus
    from cos.agent.journal import Journal
    from cos.agent.tools import CallDescription
    from cos.agent.turn_state import CallState, TurnState


class CallJudge:
    """Decides whether a call may run."""

    def __init__(self, hooks: HookBus, journal: Journal, approver: Approver) -> None:
        self._hooks = hooks
        self._journal = journal
        self._approver = approver

    async def judge(self, state: TurnState, call: CallState) -> None:
        """Judge the call and ask the user if need be. Leaves a final status when it must not run."""
        tool = state.session.tools.get(call.call.name)
        description = describe(state, call, tool)
        call.cwd = description.cwd
        state.publish(
            ToolProposed(
                turn=state.turn,
                call_id=call.call.id,
                name=call.call.name,
                args=call.call.args,
                title=description.title,
            )
        )
        if tool is None:
            refuse(call, ToolCallStatus.ERROR, unknown_tool_text(call.call.name, state.session.tools.names))
            return
        faults = call.refusal or schema_errors(tool.schema, call.call.args)
        if faults:
            refuse(call, ToolCallStatus.ERROR, faults)
            return
        args = copy.deepcopy(call.call.args)
        verdict = await judge_call(self._hooks, **call_arguments(state, call, args))
        try:
            call.call = call.call.model_copy(update={"args": json.loads(json_text(args))})
        except (TypeError, ValueError) as error:
            refuse(call, ToolCallStatus.ERROR, f"Not run: a plugin put into the arguments what is not JSON: {error}.")
            return
        call.risk = risk_of(tool, call.call.args)
        if verdict.blocked_by is not None:
            refuse(call, ToolCallStatus.DENIED, f"Not run: {verdict.message}")
            return
        faults = schema_errors(tool.schema, call.call.args)
        if faults:
            refuse(call, ToolCallStatus.ERROR, faults)
            return
        description = describe(state, call, tool)
        if description.refusal:
            refuse(call, ToolCallStatus.ERROR, f"Not run: {description.refusal}")
        elif verdict.reasons:
            await self._ask(state, call, description, verdict.reasons)

    async def judge_again(self, state: TurnState, call: CallState) -> None:
        """Judge it by what it does now: a call before it may have moved its folder or what a name leads to.

        Who has seen the call as it is now is not asked twice.
        """
        tool = state.session.tools.get(call.call.name)
        assert tool is not None
        description = describe(state, call, tool)
        call.cwd, call.risk = description.cwd, risk_of(tool, call.call.args)
        verdict = await judge_by_policy(self._hooks, **call_arguments(state, call, copy.deepcopy(call.call.args)))
        if verdict.blocked_by is not None:
            refuse(call, ToolCallStatus.DENIED, f"Not run: {verdict.message}")
        elif description.refusal:
            refuse(call, ToolCallStatus.ERROR, f"Not run: {description.refusal}")
        elif verdict.reasons and call.shown != _what_was_shown(description):
            await self._ask(state, call, description, verdict.reasons)

    async def _ask(
        self, state: TurnState, call: CallState, description: CallDescription, reasons: tuple[str, ...]
    ) -> None:
        request = ApprovalRequest(
            turn=state.turn, call_id=call.call.id, name=call.call.name, args=call.call.args, risk=call.risk,
            description=description, reasons=reasons,
        )  # fmt: skip
        call.status, call.shown = ToolCallStatus.WAITING, _what_was_shown(description)
        await record_call(self._journal, state, call)
        arguments = {
            "turn": state.turn, "command": description.detail or description.title, "description": "; ".join(reasons),
            "pattern_key": call.call.name, "pattern_keys": [call.call.name],
            "session_key": str(state.turn.session_id), "surface": self._approver.surface,
            "turn_id": str(state.turn.turn_id), "tool_call_id": call.call.id,
        }  # fmt: skip
        await self._hooks.fire("pre_approval_request", **arguments)
        answer = await state.cancel.guard(self._approver.ask(request))
        call.approval = answer
        await self._hooks.fire("post_approval_response", **arguments, choice=approval_choice(answer))
        if answer.decision == "cancelled":
            raise TurnCancelled(answer.reason or "the request for approval was cancelled")
        if answer.decision == "allowed" and answer.args is not None:
            await self._take_edited(state, call, answer.args)
        elif answer.decision != "allowed":
            status = ToolCallStatus.EXPIRED if answer.decision == "expired" else ToolCallStatus.DENIED
            refuse(call, status, refused_text(answer))

    async def _take_edited(self, state: TurnState, call: CallState, args: dict[str, Any]) -> None:
        """Let the call run with the arguments that the user wrote, unless they are none or a guard blocks them."""
        tool = state.session.tools.get(call.call.name)
        assert tool is not None
        edited = json.loads(json_text(args))
        faults = schema_errors(tool.schema, edited)
        if faults:
            refuse(call, ToolCallStatus.ERROR, f"Not run: the arguments as the user changed them do not fit. {faults}")
            return
        verdict = await judge_call(self._hooks, **call_arguments(state, call, edited))
        call.call = call.call.model_copy(update={"args": edited})
        call.risk = risk_of(tool, edited)
        if verdict.blocked_by is not None:
            refuse(call, ToolCallStatus.DENIED, f"Not run: {verdict.message}")
            return
        call.shown = _what_was_shown(describe(state, call, tool))
        call.note = f"The user changed the arguments to {json.dumps(edited, ensure_ascii=False)}."


async def record_call(journal: Journal, state: TurnState, call: CallState) -> ToolCallRecord:
    record = ToolCallRecord(
        call_id=call.call.id,
        name=call.call.name,
        args=call.call.args,
        status=call.status,
        result=call.content if call.status.is_final else None,
        is_error=call.status.is_final and call.status is not ToolCallStatus.OK,
        risk=call.risk,
        duration_ms=call.duration_ms,
        approval=call.approval,
    )
    await journal.record_tool_call(state.turn, record)
    return record


def call_arguments(state: TurnState, call: CallState, args: dict[str, Any]) -> dict[str, Any]:
    return state.hook_ids() | {
        "tool_name": call.call.name,
        "args": args,
        "tool_call_id": call.call.id,
        "api_request_id": state.api_request_id,
        "workspace": str(state.session.workspace),
        "cwd": call.cwd or str(state.session.workspace),
    }


def refuse(call: CallState, status: ToolCallStatus, content: str) -> None:
    call.status, call.content = status, content


def _what_was_shown(description: CallDescription) -> tuple[str, str | None]:
    return description.title, description.cwd
