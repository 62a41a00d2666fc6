"""Sessions as the surfaces see them: rows of the list, and the read model of a whole history."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any
from uuid import UUID

from cos.agent.events import Usage
from cos.agent.records import ContextMeter, TurnStatus

if TYPE_CHECKING:
    from cos.agent.messages import AssistantMessage, Message, UserMessage
    from cos.agent.records import ToolCallRecord
    from cos.agent.steering import DeliveryMode


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """One session."""

    id: UUID
    profile_id: str
    source: str
    title: str | None
    tags: tuple[str, ...]
    parent_session_id: UUID | None
    root_session_id: UUID
    cwd: str | None
    frozen_prompt: str | None
    """JSON of the frozen prompt; None before the first turn."""
    has_turns: bool
    queue_paused: bool
    model: str | None
    """The model that the user chose for this session; None = the one of its frozen prompt."""
    created_at: datetime
    last_activity_at: datetime
    context: ContextMeter | None = None
    """Of the newest model call; None = there was none, or nobody counted."""

    @property
    def is_child(self) -> bool:
        """A child agent's: its turns are those that were delegated to it, and what is said there goes into them."""
        return self.source == "subagent"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRow:
    """One row of the list of sessions. A root's requests (`waiting`) are those of its whole tree."""

    id: UUID
    profile_id: str
    source: str
    title: str | None
    tags: tuple[str, ...]
    parent_session_id: UUID | None
    root_session_id: UUID
    created_at: datetime
    last_activity_at: datetime
    queue_paused: bool
    is_archived: bool
    context: ContextMeter | None
    """As in `Session`."""
    model: str | None
    """What somebody has chosen for this session, over the profile's."""
    turn_status: TurnStatus | None
    """Of the newest turn; None when there is none."""
    turn_started_at: datetime | None
    turn_completed_at: datetime | None
    is_unseen: bool
    """The newest turn ended after somebody last looked, and not because somebody cancelled it."""
    waiting: int
    """Pending requests."""
    waiting_since: datetime | None
    """When the oldest of them was made."""
    waiting_kind: str | None
    """What the oldest is: `tool_call` for an approval, anything else for a question."""
    queued: int
    """Messages that wait for their turn."""
    children: int
    """Sessions directly below, archived ones left out."""
    has_expired: bool = False
    """In the newest turn a request ended because nobody answered in time."""

    @property
    def is_running(self) -> bool:
        return self.turn_status is TurnStatus.RUNNING

    @property
    def is_pressing(self) -> bool:
        """It needs the user, or works."""
        return bool(self.waiting or self.is_running or self.queued or (self.is_unseen and not self.is_archived))


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRow:
    """A turn as the reader sees it."""

    id: UUID
    parent_turn_id: UUID | None
    ordinal: int
    tags: tuple[str, ...]
    status: TurnStatus
    started_at: datetime
    completed_at: datetime | None
    stop_reason: str | None
    error: str | None
    usage: Usage | None
    waited_seconds: float = 0.0
    """How long it waited for the user, a wait that is not over left out."""
    waits_since: datetime | None = None
    """It waits now, for the answers to `open_requests`."""
    open_requests: tuple[UUID, ...] = ()
    had_output: bool | None = None
    """It said or called something; None while it runs, and where nobody looked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageRow:
    """A message in its place."""

    id: UUID
    turn_id: UUID
    ordinal: int
    active: bool
    message: Message
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenReply:
    """A reply that is being streamed, as far as it is kept: a moment behind what the model has said."""

    turn_id: UUID
    message_id: UUID
    """It will have as a message."""
    message: AssistantMessage


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """One page of a session's whole history, oldest first, inactive messages included."""

    messages: list[MessageRow]
    turns: dict[UUID, TurnRow]
    calls: dict[str, ToolCallRecord]
    """By call id."""
    has_older: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class QueuedMessage:
    """A message that waits for its turn."""

    id: UUID
    message: UserMessage
    source: str
    mode: DeliveryMode

    @property
    def text(self) -> str:
        return self.message.text


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenIn:
    """A message that came before."""

    message_id: UUID
    turn_id: UUID | None
    """None = it waits."""


def meter_of(data: dict[str, Any] | None) -> ContextMeter | None:
    """A context meter as stored with a session."""
    return ContextMeter(**data) if data else None


def usage_of(data: dict[str, Any] | None) -> Usage | None:
    """Token counts as stored with a turn."""
    return Usage(**data) if data else None
