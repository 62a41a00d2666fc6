"""The objects of the protocol: one serialiser for HTTP and the WebSocket. Ids, times and money end as text."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from cos.agent.messages import AssistantMessage, ToolResultMessage, UserMessage
from cos.agent.records import TurnStatus
from cos.core.call_titles import title_of_call
from cos.core.edited_args import text_of
from cos.web.markdown import safe_html
from cos.web.money import UNKNOWN

if TYPE_CHECKING:
    from cos.agent.events import RetryScheduled, TurnCompleted, TurnStarted
    from cos.agent.messages import Message
    from cos.agent.records import ToolCallRecord
    from cos.core.postgres.approvals import PendingApproval
    from cos.core.postgres.session_turns import StoredCall
    from cos.core.sessions import MessageRow, QueuedMessage, Session, SessionRow, TurnRow
    from cos.web.live_turns import LiveTurn
    from cos.web.money import Spent

Json = dict[str, Any]
UNTITLED: Final = "untitled"
_RESTING: Final = {
    TurnStatus.FAILED: "failed",
    TurnStatus.INTERRUPTED: "interrupted",
    TurnStatus.CANCELLED: "cancelled",
}


def encode(value: Json) -> str:
    """`value` as JSON text. Every character beyond ASCII is an escape, so that none can break a frame."""
    return json.dumps(value, default=_plain, separators=(",", ":"))


def _plain(value: Any) -> Any:
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Decimal):
        return format(value, "f")
    raise TypeError(f"{type(value).__name__} has no form in the protocol")


def server_time() -> Json:
    return {"server_time": datetime.now(UTC)}


def session_object(row: SessionRow, *, live: LiveTurn | None, spent: Spent | None) -> Json:
    """`live`: what is known of its turn when that runs in this process."""
    state, since = _state(row, live)
    return {
        "id": row.id, "profile_id": row.profile_id, "title": row.title, "source": row.source, "tags": row.tags,
        "state": state, "state_since": since, "unseen": row.is_unseen, "queued": row.queued,
        "parent_session_id": row.parent_session_id, "children": row.children,
        "context": {"used": row.context.used, "window": row.context.window} if row.context else None,
        "created_at": row.created_at, "last_activity_at": row.last_activity_at, "archived": row.is_archived,
    } | (spent.fields if spent else UNKNOWN)  # fmt: skip


def _state(row: SessionRow, live: LiveTurn | None) -> tuple[str, datetime | None]:
    """The most pressing state, as in the terminal app."""
    if row.waiting:
        return "waiting_approval" if row.waiting_kind == "tool_call" else "waiting_answer", row.waiting_since
    if row.is_running:
        return _activity(row, live)
    if row.queued and row.turn_status is not TurnStatus.INTERRUPTED:
        return "queue_paused" if row.queue_paused else "queued", row.last_activity_at
    if row.turn_status in _RESTING:
        return _RESTING[row.turn_status], row.turn_completed_at
    news = "request_expired" if row.has_expired else "done_unseen"
    return news if row.is_unseen else "idle", row.turn_completed_at


def _activity(row: SessionRow, live: LiveTurn | None) -> tuple[str, datetime | None]:
    if live is None:
        return "running", row.turn_started_at
    if live.retry is not None:
        return "retrying", live.retry.at
    return "tool" if live.tool else "thinking", row.turn_started_at


def retry_object(event: RetryScheduled) -> Json:
    return {
        "turn_id": event.turn.turn_id, "attempt": event.attempt, "max_attempts": event.max_attempts,
        "reason": event.reason, "at": event.at + timedelta(seconds=event.delay_seconds),
    }  # fmt: skip


def turn_object(session: Session, row: TurnRow, spent: Spent | None = None) -> Json:
    """A turn as stored."""
    return {
        "id": row.id, "session_id": session.id, "profile_id": session.profile_id, "ordinal": row.ordinal,
        "parent_turn_id": row.parent_turn_id, "tags": row.tags, "status": row.status, "started_at": row.started_at,
        "completed_at": row.completed_at,
        "duration_ms": _duration(row.started_at, row.completed_at, row.waited_seconds),
        "waiting_ms": round(row.waited_seconds * 1000), "waiting_since": row.waits_since, "had_output": row.had_output,
        "stop_reason": row.stop_reason, "error": row.error, "usage": asdict(row.usage) if row.usage else None,
    } | (spent.fields if spent else UNKNOWN)  # fmt: skip


def started_turn(event: TurnStarted) -> Json:
    """A turn that begins in this process; its ordinal and its cost are not known here."""
    turn = event.turn
    return {
        "id": turn.turn_id, "session_id": turn.session_id, "profile_id": turn.profile_id, "ordinal": None,
        "parent_turn_id": turn.parent_turn_id, "tags": turn.tags, "status": TurnStatus.RUNNING,
        "started_at": event.started_at, "completed_at": None, "duration_ms": None, "waiting_ms": 0,
        "waiting_since": None, "had_output": None, "stop_reason": None, "error": None, "usage": None,
    } | UNKNOWN  # fmt: skip


def completed_turn(event: TurnCompleted) -> Json:
    """As `started_turn`, at its end."""
    turn = event.turn
    return {
        "id": turn.turn_id, "session_id": turn.session_id, "profile_id": turn.profile_id, "ordinal": None,
        "parent_turn_id": turn.parent_turn_id, "tags": turn.tags, "status": event.status,
        "started_at": event.started_at, "completed_at": event.completed_at,
        "duration_ms": _duration(event.started_at, event.completed_at, event.waited_seconds),
        "waiting_ms": round(event.waited_seconds * 1000), "waiting_since": None, "had_output": event.had_output,
        "stop_reason": event.stop_reason, "error": event.error, "usage": asdict(event.usage),
    } | UNKNOWN  # fmt: skip


def _duration(started_at: datetime, completed_at: datetime | None, waited_seconds: float) -> int | None:
    """Running time in milliseconds, without what it waited for the user."""
    if completed_at is None:
        return None
    return max(0, round(((completed_at - started_at).total_seconds() - waited_seconds) * 1000))


def stored_message(session_id: UUID, row: MessageRow) -> Json:
    place = {"session_id": session_id, "turn_id": row.turn_id, "ordinal": row.ordinal, "created_at": row.created_at}
    return message_object(row.id, row.message, active=row.active, place=place)


def message_object(message_id: UUID, message: Message, *, active: bool, place: Json) -> Json:
    """`place`: session_id, turn_id, ordinal, created_at."""
    data: Json = {
        "id": message_id, "role": message.role, "text": None, "html": None, "thinking": None, "tool_calls": [],
        "call_id": None, "content": None, "is_error": False, "partial": False, "origin": None, "active": active,
    }  # fmt: skip
    if isinstance(message, AssistantMessage):
        data |= {
            "text": message.text,
            "html": safe_html(message.text or ""),
            "thinking": thinking_of(message) or None,
            "tool_calls": [{"id": call.id, "name": call.name, "args": call.args} for call in message.tool_calls],
            "partial": message.partial,
        }
    elif isinstance(message, ToolResultMessage):
        data |= {"call_id": message.call_id, "content": message.content, "is_error": message.is_error}
    else:
        assert isinstance(message, UserMessage)
        is_summary = message.compaction is not None
        html = safe_html(message.text) if is_summary else None
        data |= {"text": message.text, "html": html, "origin": message.origin}
    return data | place


def thinking_of(message: AssistantMessage) -> str:
    return "".join(str(block.get("thinking") or "") for block in message.blocks if block.get("type") == "thinking")


def call_object(
    session_id: UUID, turn_id: UUID | None, record: ToolCallRecord, *, title: str | None = None, diff: str | None = None
) -> Json:
    """`title`, `diff`: as the user was asked; they say nothing of a call that the user changed."""
    if record.approval is not None and record.approval.args is not None:
        title = diff = None
    title = title or title_of_call(record.name, record.args)
    return {
        "session_id": session_id, "turn_id": turn_id, "call_id": record.call_id, "name": record.name, "title": title,
        "diff": diff, "args": record.args, "status": record.status, "risk": record.risk,
        "duration_ms": record.duration_ms, "result": record.result, "is_error": record.is_error, "progress": None,
        "approval": asdict(record.approval) if record.approval else None,
    }  # fmt: skip


def stored_call(session_id: UUID, stored: StoredCall) -> Json:
    return call_object(session_id, stored.turn_id, stored.record, title=stored.title, diff=stored.diff)


def approval_object(row: PendingApproval, *, keeps: Json | None) -> Json:
    """`keeps`: by scope, the words of what would be kept; None when no rule says it safely."""
    editable = None if row.kind == "question" else text_of(row.tool, row.args)
    root_title = None if row.session_id == row.root_session_id else row.root_title or UNTITLED
    return {
        "id": row.id, "kind": row.kind, "session_id": row.session_id, "root_session_id": row.root_session_id,
        "session_title": row.session_title or UNTITLED, "root_title": root_title, "profile_id": row.profile_id,
        "turn_id": row.turn_id, "call_id": row.call_id, "tool": row.tool, "title": row.title, "detail": row.detail,
        "diff": row.diff, "cwd": row.cwd, "tags": row.tags, "risk": row.risk, "reason": row.reason,
        "choices": row.choices, "editable": editable, "keeps": keeps, "content_hash": row.content_hash,
        "status": "pending", "requested_at": row.requested_at, "expires_at": row.expires_at,
        "answered_at": None, "answered_by": None, "answer_reason": None,
    }  # fmt: skip


def queue_object(session: Session, waiting: list[QueuedMessage]) -> Json:
    return {
        "waiting": [{"id": one.id, "text": one.text, "mode": one.mode} for one in waiting],
        "paused": session.queue_paused,
    }
