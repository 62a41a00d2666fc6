"""What is known only while a turn runs in this process: the reply so far, and what its calls do."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cos.agent.events import (
    ApprovalRequested,
    ApprovalResolved,
    MessageAdded,
    MessageDelta,
    RetryScheduled,
    ThinkingDelta,
    ToolEvent,
    ToolFinished,
    ToolOutput,
    ToolProgress,
    ToolProposed,
    ToolStarted,
    TurnCompleted,
    TurnStarted,
)
from cos.agent.records import ToolCallRecord, ToolCallStatus
from cos.core.call_titles import title_of_call
from cos.web.objects import call_object

if TYPE_CHECKING:
    from uuid import UUID

    from cos.agent.events import AgentEvent
    from cos.web.objects import Json


@dataclass(slots=True)
class LiveTurn:
    """The turn that runs in one session."""

    turn_id: UUID
    message_id: UUID | None = None
    """Of the reply that is being streamed."""
    reply_place: Json = field(default_factory=dict)
    """`turn_id` and `message_id` of that reply, as text."""
    text: list[str] = field(default_factory=list)
    thinking: list[str] = field(default_factory=list)
    calls: dict[str, Json] = field(default_factory=dict)
    """`ToolCall` objects of this turn, by call id."""
    asked: dict[str, Json] = field(default_factory=dict)
    """Title and diff of those that the user was asked about, by call id."""
    is_torn: bool = False
    """A part of the reply that is being streamed was missed."""
    retry: RetryScheduled | None = None
    """What it waits for; it ends with whatever comes next."""

    @property
    def reply(self) -> Json | None:
        """`open_reply` of a snapshot."""
        if self.message_id is None or self.is_torn:
            return None
        text, thinking = "".join(self.text), "".join(self.thinking)
        self.text, self.thinking = [text], [thinking]
        return {"message_id": self.message_id, "text": text, "thinking": thinking}

    @property
    def tool(self) -> str | None:
        """A tool that runs now."""
        running = (call["name"] for call in self.calls.values() if call["status"] == ToolCallStatus.RUNNING)
        return next(running, None)

    def add(self, event: MessageDelta | ThinkingDelta) -> None:
        if event.message_id != self.message_id:
            self.message_id, self.text, self.thinking = event.message_id, [], []
            self.reply_place = {"turn_id": str(self.turn_id), "message_id": str(event.message_id)}
        (self.text if isinstance(event, MessageDelta) else self.thinking).append(event.text)

    def added(self, message_id: UUID) -> None:
        if message_id == self.message_id or self.is_torn:
            self.message_id, self.is_torn, self.text, self.thinking = None, False, [], []


class LiveTurns:
    """By session."""

    def __init__(self) -> None:
        self._turns: dict[UUID, LiveTurn] = {}

    def __len__(self) -> int:
        return len(self._turns)

    def of(self, session_id: UUID) -> LiveTurn | None:
        return self._turns.get(session_id)

    def is_retrying(self, session_id: UUID) -> bool:
        turn = self._turns.get(session_id)
        return turn is not None and turn.retry is not None

    def tear(self) -> None:
        """Events were missed: what streams now is not whole until the message is stored."""
        for turn in self._turns.values():
            turn.is_torn = True

    def see(self, event: AgentEvent) -> LiveTurn:
        """Take an event in; the turn it belongs to."""
        session_id = event.turn.session_id
        turn = self._turns.get(session_id)
        if turn is None or turn.turn_id != event.turn.turn_id:
            turn = LiveTurn(event.turn.turn_id)
            if not isinstance(event, TurnCompleted):
                self._turns[session_id] = turn
                turn.is_torn = not isinstance(event, TurnStarted)
        turn.retry = event if isinstance(event, RetryScheduled) else None
        match event:
            case MessageDelta() | ThinkingDelta():
                turn.add(event)
            case MessageAdded():
                turn.added(event.message_id)
            case TurnCompleted():
                self._turns.pop(session_id, None)
            case ToolEvent():
                _see_call(turn, session_id, event)
        return turn


def _see_call(turn: LiveTurn, session_id: UUID, event: ToolEvent) -> None:
    if isinstance(event, ToolOutput):
        return
    before = turn.calls.get(event.call_id)
    if isinstance(event, ToolProposed) or before is None:
        args = event.args if isinstance(event, ToolProposed) else {}
        record = ToolCallRecord(
            call_id=event.call_id, name=event.name, args=args, status=ToolCallStatus.PROPOSED, risk="execute"
        )
        before = call_object(session_id, turn.turn_id, record) | {"risk": None}
    changes: Json = {}
    match event:
        case ToolStarted():
            changes = {"status": ToolCallStatus.RUNNING}
        case ToolProgress():
            changes = {"progress": event.text}
        case ApprovalRequested(kind="tool_call"):
            asked = turn.asked[event.call_id] = {"title": event.title, "diff": event.diff}
            changes = {"status": ToolCallStatus.WAITING} | asked
        case ApprovalResolved() if event.answer.args is not None:
            title = title_of_call(event.name, event.answer.args)
            changes = {"args": event.answer.args, "title": title, "diff": None}
        case ToolFinished():
            changes = call_object(session_id, turn.turn_id, event.record, **turn.asked.get(event.call_id, {}))
    turn.calls[event.call_id] = before | changes
