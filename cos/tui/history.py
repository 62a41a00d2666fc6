"""Stored history as transcript entries."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from cos.agent.messages import AssistantMessage, ToolResultMessage, UserMessage
from cos.agent.records import ToolCallStatus, TurnStatus
from cos.core.answer_words import by_whom
from cos.core.call_titles import title_of_call
from cos.tui import wording
from cos.tui.child_agents import ended_lines
from cos.tui.transcript.answer import AssistantText
from cos.tui.transcript.calls import CallState, ToolCall
from cos.tui.transcript.compacted import Compacted
from cos.tui.transcript.entries import Entry, Notice, Thinking, TurnHeader
from cos.tui.transcript.entries import UserMessage as UserEntry
from cos.tui.turn_time import header

if TYPE_CHECKING:
    from uuid import UUID

    from cos.agent.records import ApprovalAnswer, ToolCallRecord
    from cos.core.sessions import MessageRow, Transcript, TurnRow
    from cos.tui.conversation import NoticeLevel

_STATES: dict[ToolCallStatus, CallState] = {
    ToolCallStatus.PROPOSED: "proposed",
    ToolCallStatus.WAITING: "waiting",
    ToolCallStatus.RUNNING: "running",
    ToolCallStatus.OK: "ok",
    ToolCallStatus.ERROR: "failed",
    ToolCallStatus.DENIED: "denied",
    ToolCallStatus.EXPIRED: "expired",
    ToolCallStatus.CANCELLED: "cancelled",
    ToolCallStatus.TIMED_OUT: "timed out",
    ToolCallStatus.UNKNOWN: "unknown",
}


def entries_of(transcript: Transcript) -> list[Entry]:
    """One page of history, turn by turn."""
    entries: list[Entry] = []
    turn_id: UUID | None = None
    for row in transcript.messages:
        if row.turn_id != turn_id:
            if turn_id is not None:
                entries.extend(_end_of(transcript.turns[turn_id]))
            turn_id = row.turn_id
            key = f"turn:{turn_id}"
            entries.append(TurnHeader(key=key, turn_key=key, text=header(transcript.turns[turn_id])))
        entries.extend(message_entries(row, transcript.calls))
    if turn_id is not None:
        entries.extend(_end_of(transcript.turns[turn_id]))
    return entries


def _end_of(turn: TurnRow) -> list[Entry]:
    return ending(turn.id, turn.status, turn.error)


def ending(turn_id: UUID, status: TurnStatus, error: str | None) -> list[Entry]:
    """What is to be said after a turn that did not simply end."""
    texts: dict[TurnStatus, tuple[str, NoticeLevel]] = {
        TurnStatus.CANCELLED: ("stopped", "info"),
        TurnStatus.FAILED: ("this turn failed", "error"),
        TurnStatus.INTERRUPTED: ("interrupted: the program ended while this turn ran", "warning"),
    }
    if status not in texts:
        return []
    text, level = texts[status]
    return [Notice(key=f"end:{turn_id}", turn_key=f"turn:{turn_id}", level=level, text=error or text)]


def message_entries(row: MessageRow, calls: dict[str, ToolCallRecord]) -> list[Entry]:
    """A message's entries: what was thought, what was said, what was called. Results stand with their calls."""
    turn_key, message = f"turn:{row.turn_id}", row.message
    if isinstance(message, UserMessage):
        return user_entries(row.id, turn_key, message)
    if isinstance(message, ToolResultMessage):
        return []
    return assistant_entries(row.id, turn_key, message, calls)


def user_entries(message_id: UUID, turn_key: str, message: UserMessage) -> list[Entry]:
    """As `message_entries`, for a message of the user, or of the loop in the user's place."""
    key = f"msg:{message_id}"
    if message.compaction is not None:
        title = wording.compacted(message.compaction, message.text)
        return [Compacted(key=key, turn_key=turn_key, title=title, summary=message.text)]
    if message.origin == "loop":
        return [Notice(key=key, turn_key=turn_key, text=f"cos to the model: {message.text}")]
    attached = [f"[{part.type}: {part.text or part.url or part.media_type}]" for part in message.parts]
    text = "\n".join(piece for piece in [message.text, *attached] if piece)
    label = "task" if message.origin == "delegation" else "you"
    return [UserEntry(key=key, turn_key=turn_key, text=text, label=label)]


def assistant_entries(
    message_id: UUID, turn_key: str, message: AssistantMessage, calls: dict[str, ToolCallRecord]
) -> list[Entry]:
    """As `message_entries`, for a reply of the model."""
    found: list[Entry] = []
    thought = thinking_of(message)
    if thought:
        found.append(Thinking(key=f"think:{message_id}", turn_key=turn_key, text=thought))
    if message.text:
        found.append(AssistantText(key=f"msg:{message_id}", turn_key=turn_key, text=message.text))
    if message.partial:
        found.append(Notice(key=f"cut:{message_id}", turn_key=turn_key, level="warning", text=cut_text(message)))
    for call in message.tool_calls:
        title, detail = title_of_call(call.name, call.args), args_text(call.args)
        entry = ToolCall(key=f"call:{call.id}", turn_key=turn_key, name=call.name, title=title, detail=detail)
        if call.id in calls:
            entry.change(**call_changes(calls[call.id]))
        found.append(entry)
    return found


def cut_text(message: AssistantMessage) -> str:
    """What stands under an incomplete reply."""
    return "incomplete; the connection broke and the model began again" if message.superseded else "incomplete"


def thinking_of(message: AssistantMessage) -> str:
    """The readable thinking of a reply, empty when there is none."""
    pieces = [str(block.get("thinking", "")) for block in message.blocks if block.get("type") == "thinking"]
    return "\n\n".join(piece for piece in pieces if piece)


def args_text(args: dict[str, object]) -> str:
    """The arguments as a person reads them: a command as it is, everything else as JSON."""
    command = args.get("command")
    if isinstance(command, str):
        others = {key: value for key, value in args.items() if key != "command"}
        return command + (f"\n{json.dumps(others, ensure_ascii=False)}" if others else "")
    return json.dumps(args, ensure_ascii=False, indent=2) if args else ""


def call_changes(record: ToolCallRecord) -> dict[str, object]:
    """What a record says about its row."""
    seconds = None if record.duration_ms is None else record.duration_ms / 1000
    changes: dict[str, object] = {
        "state": _STATES[record.status],
        "duration_seconds": seconds,
        "detail": args_text(record.args),
        "result": record.result or "",
        "note": _note(record),
        "children": ended_lines(record),
    }
    if record.approval is not None and record.approval.args is not None:
        changes["title"] = title_of_call(record.name, record.args)
    return changes


def _note(record: ToolCallRecord) -> str:
    answer = record.approval
    if record.status is ToolCallStatus.DENIED and answer is not None and answer.decision == "denied":
        return ": ".join(filter(None, [by_whom(answer.answered_by), answer.reason]))
    exit_code = _exit_code(record)
    pieces = (edited_by(answer) if answer is not None else "", f"exit {exit_code}" if exit_code else "")
    return " · ".join(piece for piece in pieces if piece)


def edited_by(answer: ApprovalAnswer) -> str:
    """Who changed the arguments before the call ran; empty when nobody did."""
    return "" if answer.args is None else f"edited {by_whom(answer.answered_by) or 'by you'}"


def _exit_code(record: ToolCallRecord) -> int:
    """The exit code in a terminal's result; 0 when there is none."""
    if record.name != "terminal" or not record.result:
        return 0
    try:
        data = json.loads(record.result)
    except ValueError:
        return 0
    code = data.get("exit_code") if isinstance(data, dict) else None
    return code if isinstance(code, int) else 0
