"""A session's conversation for a plain terminal, and as JSON. Nothing of its content reaches a terminal as control."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING, Any

from cos.agent.messages import AssistantMessage, ToolResultMessage, UserMessage
from cos.agent.records import ToolCallStatus, TurnStatus
from cos.agent.text import visible
from cos.core.answer_words import decided

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cos.agent.messages import ToolCall
    from cos.agent.records import ToolCallRecord
    from cos.core.sessions import MessageRow, Session, Transcript, TurnRow

_RESULT_LINES = 12
_BY_THE_USER = {None, "typed", "queued", "steered"}


def session_text(session: Session, history: Transcript) -> str:
    """The whole conversation, grouped by turn. Long tool results are cut, which is said."""
    tags = f" · {' '.join(session.tags)}" if session.tags else ""
    head = f"{visible(session.title or '(no title)')}\n{session.id} · profile {session.profile_id}{tags}"
    blocks = [head]
    for turn_id, rows in groupby(history.messages, key=lambda row: row.turn_id):
        blocks.append(_turn_line(history.turns[turn_id]))
        blocks += [block for row in rows for block in _message(row, session.profile_id, history)]
        error = history.turns[turn_id].error
        if error:
            blocks.append(f"! {visible(error)}")
    return "\n\n".join(blocks)


def session_object(session: Session, history: Transcript) -> dict[str, Any]:
    """The same as an object of JSON, whole."""
    messages = [
        {"id": str(row.id), "turn_id": str(row.turn_id), "active": row.active, "created_at": row.created_at.isoformat()}
        | {"message": row.message.model_dump()}
        for row in history.messages
    ]
    turns = [
        {key: asdict(turn)[key] for key in ("ordinal", "status", "stop_reason", "error", "usage")}
        | {"id": str(turn.id), "tags": list(turn.tags), "started_at": turn.started_at.isoformat()}
        | {"completed_at": turn.completed_at.isoformat() if turn.completed_at else None}
        for turn in sorted(history.turns.values(), key=lambda turn: turn.ordinal)
    ]
    return {
        "id": str(session.id), "profile_id": session.profile_id, "title": session.title, "tags": list(session.tags),
        "parent_session_id": str(session.parent_session_id) if session.parent_session_id else None,
        "created_at": session.created_at.isoformat(), "turns": turns, "messages": messages,
        "tool_calls": [asdict(call) for call in history.calls.values()],
    }  # fmt: skip


def _turn_line(turn: TurnRow) -> str:
    running = turn.status is TurnStatus.RUNNING
    return f"turn {turn.ordinal} · {turn.started_at.astimezone():%Y-%m-%d %H:%M} · {'runs' if running else turn.status}"


def _message(row: MessageRow, agent: str, history: Transcript) -> Iterator[str]:
    match row.message:
        case UserMessage(text=text, origin=origin):
            yield _said("you" if origin in _BY_THE_USER else str(origin), text)
        case ToolResultMessage(content=content):
            yield _result(content)
        case AssistantMessage(text=text, tool_calls=calls):
            if text:
                yield _said(agent, text)
            for call in calls:
                yield _call(call, history.calls.get(call.id))


def _call(call: ToolCall, record: ToolCallRecord | None) -> str:
    """With the arguments that count: what the user wrote in the place of what the model proposed."""
    arguments = json.dumps(record.args if record else call.args, ensure_ascii=False)
    return f"→ {visible(call.name)} {visible(arguments)}{_state(record) if record else ''}"


def _state(record: ToolCallRecord) -> str:
    """What became of it, and who changed or denied it."""
    answer = record.approval
    if answer is not None and record.status is ToolCallStatus.DENIED and answer.decision == "denied":
        return f" · {decided(answer)}"
    is_edited = answer is not None and answer.args is not None
    return f" · {record.status}" + (" · edited" if is_edited else "")


def _said(who: str, text: str) -> str:
    return f"{who}:\n{_indented(visible(text).splitlines())}"


def _result(content: str) -> str:
    lines = visible(content).splitlines()
    shown = lines if len(lines) <= _RESULT_LINES + 1 else lines[:_RESULT_LINES]
    rest = len(lines) - len(shown)
    return _indented([*shown, *([f"… {rest} more lines (--json has them)"] if rest else [])])


def _indented(lines: list[str]) -> str:
    return "\n".join(f"  {line}".rstrip() for line in lines)
