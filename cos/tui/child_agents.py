"""What child agents do, a line each under the call that began them: state, task, tokens, cost."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from cos.agent import events
from cos.agent.events import Usage
from cos.agent.messages import UserMessage
from cos.core.delegation import NAME
from cos.core.live import PluginEvent
from cos.tui import cost_words, wording
from cos.tui.cost_port import CALL_RECORDED
from cos.tui.session_words import GLYPHS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cos.agent.events import AgentEvent
    from cos.agent.records import ToolCallRecord

_ODD: Final = (ValueError, KeyError, TypeError, IndexError, AttributeError)
"""A refusal is a sentence, and a hook may have put anything in the place of a result."""
_ENDED: Final = {"completed": "✓", "failed": GLYPHS["failed"], "error": GLYPHS["failed"]}


@dataclass(slots=True)
class _Child:
    goal: str = ""
    word: str = "thinking"
    """A key of `GLYPHS`, or how it ended."""
    tool: str = ""
    usage: Usage = field(default_factory=Usage)
    cost: Decimal | None = None
    made_up: Decimal = Decimal(0)
    """The part of the cost that nobody pays."""
    is_all_priced: bool = True

    @property
    def spent(self) -> str:
        """`1.2k in · 80 out · $0.0012`; empty before its first model call has ended."""
        if self.usage == Usage():
            return ""
        cost = (
            cost_words.dollars(self.cost, self.made_up) + ("" if self.is_all_priced else " +?")
            if self.cost is not None
            else ""
        )
        if not cost and not self.is_all_priced:
            cost = "no price"
        return " · ".join(piece for piece in (_tokens(self.usage), cost) if piece)

    @property
    def line(self) -> tuple[str, str]:
        return _line(self.word, self.tool, self.goal, self.spent)


@dataclass(slots=True)
class Delegated:
    """One call and its children, by session."""

    session_id: UUID
    key: str
    """Of its entry in the conversation."""
    children: dict[UUID, _Child] = field(default_factory=dict)

    @property
    def lines(self) -> tuple[tuple[str, str], ...]:
        """In the order in which the children were made."""
        return tuple(child.line for _, child in sorted(self.children.items(), key=lambda item: item[0]))


class ChildAgents:
    """Of the calls that run in this process, and of those that ended since it began."""

    def __init__(self) -> None:
        self._running: dict[UUID, Delegated] = {}
        """By the turn that delegated."""
        self._of: dict[UUID, Delegated] = {}
        """By the session of a child."""

    def tokens(self, session_id: UUID) -> str:
        """Of a child; empty for any other session, and before its first model call has ended."""
        delegated = self._of.get(session_id)
        usage = delegated.children[session_id].usage if delegated else Usage()
        return _tokens(usage) if usage != Usage() else ""

    def take(self, event: AgentEvent | PluginEvent) -> Delegated | None:
        """The call whose lines are different now."""
        turn = event.turn
        if isinstance(event, events.ToolEvent) and event.name == NAME:
            if isinstance(event, events.ToolStarted):
                self._running[turn.turn_id] = Delegated(turn.session_id, f"call:{event.call_id}")
            elif isinstance(event, events.ToolFinished):
                return self._running.pop(turn.turn_id, None)
        if turn.parent_turn_id is None:
            return None
        if isinstance(event, events.TurnStarted) and turn.parent_turn_id in self._running:
            delegated = self._of[turn.session_id] = self._running[turn.parent_turn_id]
            delegated.children.setdefault(turn.session_id, _Child())
        found = self._of.get(turn.session_id)
        return found if found and _changed(found.children[turn.session_id], event) else None


def _changed(child: _Child, event: AgentEvent | PluginEvent) -> bool:
    match event:
        case events.TurnStarted():
            child.word, child.tool = "thinking", ""
        case events.MessageAdded(message=UserMessage(text=text)) if not child.goal:
            child.goal = text
        case events.ToolStarted():
            child.word, child.tool = "tool", event.name
        case events.ApprovalRequested():
            child.word, child.tool = "waiting for approval", event.name
        case events.ApprovalResolved() | events.ToolFinished():
            child.word, child.tool = "thinking", ""
        case events.RetryScheduled():
            child.word, child.tool = "retrying", ""
        case events.ContextUpdated():
            child.usage += event.usage
        case events.TurnCompleted():
            child.word, child.tool = event.status.value, ""
        case PluginEvent() if event.type == CALL_RECORDED:
            cost = getattr(event, "cost_usd", None)
            child.is_all_priced = child.is_all_priced and cost is not None
            child.cost = child.cost if cost is None else cost + (child.cost or 0)
            child.made_up += (cost or 0) if getattr(event, "is_made_up", False) else 0
        case _:
            return False
    return True


def ended_lines(record: ToolCallRecord, costs: Mapping[str, str] | None = None) -> tuple[tuple[str, str], ...]:
    """The lines of a call as it is stored. `costs` is by the id of a child's session."""
    try:
        results = _results(record)
        goals = [task["goal"] for task in record.args.get("tasks") or [record.args]] if results else []
        return tuple(_ended(result, goals, costs or {}) for result in results)
    except _ODD:
        return ()


def ended_children(record: ToolCallRecord) -> list[UUID]:
    """The sessions of the children of a call as it is stored."""
    try:
        return [UUID(result["session_id"]) for result in _results(record) if "session_id" in result]
    except _ODD:
        return []


def _results(record: ToolCallRecord) -> list[dict[str, Any]]:
    """One for each child. Raises one of `_ODD` when it is no result of a delegation."""
    results: list[dict[str, Any]] = json.loads(record.result or "")["results"] if record.name == NAME else []
    return results


def _ended(result: dict[str, Any], goals: list[str], costs: Mapping[str, str]) -> tuple[str, str]:
    tokens = result["tokens"]
    usage = Usage(input_tokens=tokens["input"], output_tokens=tokens["output"])
    used = (_tokens(usage) if usage != Usage() else "", costs.get(result.get("session_id", ""), ""))
    return _line(result["status"], "", goals[result["task_index"]], " · ".join(filter(None, used)))


def _line(word: str, tool: str, goal: str, spent: str) -> tuple[str, str]:
    """State and task, and what it has used."""
    glyph = _ENDED.get(word) or GLYPHS.get(word, "○")
    # What it waits for is in the other pane; here the task shall have room.
    state = tool if word == "tool" else f"{word.removesuffix(' for approval')} {tool}".rstrip()
    return f"{glyph} {state}  {goal}", spent


def _tokens(usage: Usage) -> str:
    return wording.usage(usage).removesuffix(" tokens")
