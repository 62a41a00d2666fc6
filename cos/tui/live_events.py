"""Live events into conversations: one small function per kind of event."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from cos.agent import events
from cos.agent.messages import AssistantMessage, UserMessage
from cos.core.call_titles import title_of_call
from cos.tui.history import (
    args_text,
    assistant_entries,
    call_changes,
    edited_by,
    ending,
    thinking_of,
    user_entries,
)
from cos.tui.transcript.answer import AssistantText
from cos.tui.transcript.calls import ToolCall
from cos.tui.transcript.entries import Thinking
from cos.tui.turn_time import TurnClock, ended_header

if TYPE_CHECKING:
    from cos.agent.events import AgentEvent
    from cos.tui.conversation import Conversation


def apply_event(conversation: Conversation, event: AgentEvent) -> None:
    """Show what happened. Events that only other panes draw are passed over."""
    match event:
        case events.MessageDelta() | events.ThinkingDelta():
            _delta(conversation, event)
        case events.MessageAdded():
            _message(conversation, event)
        case events.ToolProposed() | events.ToolStarted() | events.ToolFinished():
            _tool(conversation, event)
        case events.ToolOutput():
            conversation.output(f"call:{event.call_id}", event.text)
        case events.ToolProgress():
            conversation.change(f"call:{event.call_id}", note=event.text)
        case events.ApprovalRequested():
            conversation.change(f"call:{event.call_id}", state="waiting", detail=event.detail, title=event.title)
        case events.ApprovalResolved() if event.answer.args is not None:
            conversation.change(
                f"call:{event.call_id}", title=title_of_call(event.name, event.answer.args),
                detail=args_text(event.answer.args), note=edited_by(event.answer),
            )  # fmt: skip
        case events.Notice():
            conversation.notice(event.level, event.text, _turn_key(event))
        case events.TurnStarted() | events.TurnCompleted():
            _frame(conversation, event)
        case _:
            pass


def retry_text(event: events.RetryScheduled, seconds_left: float) -> str:
    """Why and when a model call is tried again."""
    return (
        f"{event.reason}. Trying again in {max(0, math.ceil(seconds_left))} s "
        f"(attempt {event.attempt + 1} of {event.max_attempts}); Esc stops it"
    )


def _turn_key(event: AgentEvent) -> str:
    return f"turn:{event.turn.turn_id}"


def _delta(conversation: Conversation, event: events.MessageDelta | events.ThinkingDelta) -> None:
    turn_key = _turn_key(event)
    if isinstance(event, events.ThinkingDelta):
        conversation.stream(Thinking(key=f"think:{event.message_id}", turn_key=turn_key), event.text)
    else:
        conversation.change(f"think:{event.message_id}", streaming=False)
        conversation.stream(AssistantText(key=f"msg:{event.message_id}", turn_key=turn_key), event.text)


def _message(conversation: Conversation, event: events.MessageAdded) -> None:
    turn_key, message = _turn_key(event), event.message
    if isinstance(message, UserMessage):
        for entry in user_entries(event.message_id, turn_key, message):
            conversation.add(entry)
    elif isinstance(message, AssistantMessage):
        think, said, thought = f"think:{event.message_id}", f"msg:{event.message_id}", thinking_of(message)
        conversation.change(think, streaming=False, **{"text": thought} if thought else {})
        if thought and not conversation.has(think):
            # What was thought was missed, and what was said stands in its place.
            conversation.remove(said)
        conversation.change(said, text=message.text or "", streaming=False)
        for entry in assistant_entries(event.message_id, turn_key, message, {}):
            conversation.add(entry)


def _tool(conversation: Conversation, event: events.ToolProposed | events.ToolStarted | events.ToolFinished) -> None:
    key = f"call:{event.call_id}"
    if isinstance(event, events.ToolProposed):
        detail = args_text(event.args)
        conversation.add(ToolCall(key=key, turn_key=_turn_key(event), name=event.name, detail=detail))
        conversation.change(key, title=event.title)
    elif isinstance(event, events.ToolStarted):
        conversation.change(key, state="running")
    else:
        conversation.change(key, **call_changes(event.record))


def _frame(conversation: Conversation, event: events.TurnStarted | events.TurnCompleted) -> None:
    """The line above a turn, and after a turn that did not simply end, why."""
    turn_id = event.turn.turn_id
    if isinstance(event, events.TurnStarted):
        conversation.header(turn_id, TurnClock(turn_id, event.started_at).header(event.started_at))
        return
    took = event.completed_at - event.started_at
    conversation.header(turn_id, ended_header(event.started_at, took, event.waited_seconds, event.status, event.usage))
    for entry in ending(turn_id, event.status, event.error):
        conversation.add(entry)
