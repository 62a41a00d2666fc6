"""`delegate_task`: the model gives work to child agents and waits for their summaries. Names and keys are Hermes'.

To begin a child changes nothing and needs no approval: each of the child's own calls is judged as any other.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from cos.agent.records import ToolCallStatus
from cos.agent.results import RESULT_CHARACTERS, clipped
from cos.agent.tools import CallDescription, Json, Tool, ToolContext, ToolError, ToolOk, ToolOutcome
from cos.core.call_titles import title_of_tasks
from cos.core.delegation import BLOCKED, NAME, ChildTask
from cos.core.errors import SessionError

if TYPE_CHECKING:
    from pathlib import Path

    from cos.agent.identity import TurnInfo
    from cos.core.delegation import ChildEnd, Delegation

_HEAD_SHARE: Final = 0.75
_SMALLER: Final = 0.8
_DESCRIPTION: Final = f"""Give one or more tasks to child agents and wait until all have ended. \
Use it for work that would fill your context with what you do not need to keep (searching, reading many files), and \
for independent tasks that can be done side by side. Do a single step yourself: a child costs more than one call. A \
child starts with nothing: it does not see this conversation, so the goal and the context must say all it needs \
(paths, facts, constraints, what the answer shall hold). It works in your workspace with your tools, without these: \
{", ".join(sorted(BLOCKED))}. Only its final summary comes back; it is the child's own report, so check what matters. \
Give either `goal` or `tasks`; a batch over the limit is refused as a whole. The result is JSON with `results` in the \
order of the tasks."""
_ROLE: Final[Json] = {
    "type": "string",
    "enum": ["leaf", "orchestrator"],
    "description": "leaf (the default): cannot delegate. orchestrator: may delegate too where the settings allow it.",
}
_CONTEXT: Final[Json] = {"type": "string", "description": "What the child needs to know: facts, paths, constraints."}
_SCHEMA: Final[Json] = {
    "type": "object",
    "properties": {
        "goal": {"type": "string", "description": "The task of a single child, whole and understandable alone."},
        "context": _CONTEXT,
        "tasks": {
            "type": "array",
            "description": "A batch that runs side by side. With it, goal, context and role are not used.",
            "items": {
                "type": "object",
                "properties": {
                    "goal": {"type": "string", "description": "The task, whole and understandable alone."},
                    "context": _CONTEXT,
                    "role": _ROLE,
                },
                "required": ["goal"],
            },
        },
        "role": _ROLE,
        "background": {"type": "boolean", "description": "Accepted and not used: the call always waits."},
    },
}


def delegate_tool(delegation: Callable[[], Delegation]) -> Tool:
    """`delegation` is asked for when a call needs it: it is built from agents that have this tool."""
    tool = _DelegateTask(delegation)
    return Tool(
        name=NAME,
        title="Delegate",
        description=_DESCRIPTION,
        schema=_SCHEMA,
        run=tool.run,
        origin="core",
        risk="read",
        describe=tool.describe,
        stops_itself=True,
    )


class _DelegateTask:
    def __init__(self, delegation: Callable[[], Delegation]) -> None:
        self._delegation = delegation

    def describe(self, args: Json, turn: TurnInfo, workspace: Path) -> CallDescription:
        tasks = tasks_of(args)
        return CallDescription(
            title=title_of_tasks([task.goal for task in tasks]),
            kind="think",
            detail="\n\n".join(_shown(number, task) for number, task in enumerate(tasks, 1)),
            refusal=_fault(tasks) or self._delegation().why_not(turn, len(tasks)),
        )

    async def run(self, args: Json, turn: TurnInfo, ctx: ToolContext) -> ToolOutcome:
        tasks, delegation = tasks_of(args), self._delegation()
        fault = _fault(tasks)
        if fault:
            return ToolError(content=f"Nothing was run: {fault}.")

        def ended(over: int) -> None:
            ctx.progress(f"{over} of {len(tasks)} ended")

        try:
            ends = await delegation.run(turn, tasks, ctx.workspace, ctx.cancel, ended)
        except SessionError as refusal:
            return ToolError(content=f"Nothing was run: {refusal}.")
        content = result_text(ends, delegation.limits.max_summary_chars)
        if ctx.cancel.is_set:
            return ToolError(content=content, status=ToolCallStatus.CANCELLED)
        return ToolOk(content=content) if any(end.status == "completed" for end in ends) else ToolError(content=content)


def tasks_of(args: Json) -> list[ChildTask]:
    """The tasks of a call; a batch goes before a single goal."""
    given: list[Json] = args.get("tasks") or [args]
    return [
        ChildTask(
            goal=str(task.get("goal") or "").strip(),
            context=str(task.get("context") or "").strip(),
            role=task.get("role") or "leaf",
        )
        for task in given
    ]


def result_text(ends: list[ChildEnd], most: int) -> str:
    """The result as JSON that is whole: a summary has at most `most` characters, fewer where all are too long."""
    while True:
        results = [_result(index, end, most) for index, end in enumerate(ends)]
        longest = max((end.seconds for end in ends), default=0.0)
        text = json.dumps({"results": results, "total_duration_seconds": round(longest, 2)}, ensure_ascii=False)
        if len(text) <= RESULT_CHARACTERS or most < 1:
            return text
        most = int(most * _SMALLER)


def _result(index: int, end: ChildEnd, most: int) -> dict[str, Any]:
    summary = clipped(end.summary, most, head_share=_HEAD_SHARE)
    found = {
        "task_index": index,
        "status": end.status,
        "summary": summary or None,
        "summary_cut": _cut(end) if summary != end.summary else None,
        "error": end.error,
        "exit_reason": end.exit_reason,
        "model": end.model,
        "api_calls": end.model_calls,
        "tokens": {"input": end.usage.prompt_tokens, "output": end.usage.output_tokens},
        "duration_seconds": round(end.seconds, 2),
        "session_id": str(end.session_id) if end.session_id else None,
    }
    return {key: value for key, value in found.items() if value is not None}


def _cut(end: ChildEnd) -> str:
    return f"it has {len(end.summary):,} characters; the user can read all of it in the child session"


def _fault(tasks: list[ChildTask]) -> str | None:
    blank = next((index for index, task in enumerate(tasks) if not task.goal), None)
    if blank is None:
        return None
    return "give a goal, or tasks" if len(tasks) == 1 else f"task {blank} has no goal"


def _shown(number: int, task: ChildTask) -> str:
    role = "" if task.role == "leaf" else f" ({task.role})"
    return f"{number}. {task.goal}{role}" + (f"\n\n{task.context}" if task.context else "")
