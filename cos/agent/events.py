"""The one vocabulary between the agent and every front end: a closed union of frozen events.

`turn.completed` comes last of its turn. A message has its id before its first delta. Deltas are cheap and may be
coalesced; every other event is a fact that the journal already holds when it is published.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from cos.agent.records import ContextMeter

if TYPE_CHECKING:
    from uuid import UUID

    from cos.agent.approver import RequestKind
    from cos.agent.identity import TurnInfo
    from cos.agent.messages import Message
    from cos.agent.records import ApprovalAnswer, Risk, ToolCallRecord, TurnStatus


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens of one or more model calls, as the provider reports them. None = the provider did not say."""

    input_tokens: int | None = None
    """Prompt tokens that were neither read from nor written to the cache."""
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_5m_tokens: int | None = None
    cache_write_1h_tokens: int | None = None
    is_partial: bool = False
    """A call was cut before the provider reported its totals: at least this much was used."""

    @property
    def prompt_tokens(self) -> int | None:
        """The whole prompt: fresh, read from cache and written to cache."""
        known = [
            count
            for count in (
                self.input_tokens, self.cache_read_tokens, self.cache_write_5m_tokens, self.cache_write_1h_tokens,
            )
            if count is not None
        ]  # fmt: skip
        return sum(known) if known else None

    def __add__(self, other: Usage) -> Usage:
        def both(mine: int | None, theirs: int | None) -> int | None:
            return mine if theirs is None else theirs if mine is None else mine + theirs

        return Usage(
            input_tokens=both(self.input_tokens, other.input_tokens),
            output_tokens=both(self.output_tokens, other.output_tokens),
            cache_read_tokens=both(self.cache_read_tokens, other.cache_read_tokens),
            cache_write_5m_tokens=both(self.cache_write_5m_tokens, other.cache_write_5m_tokens),
            cache_write_1h_tokens=both(self.cache_write_1h_tokens, other.cache_write_1h_tokens),
            is_partial=self.is_partial or other.is_partial,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEvent:
    """What all events of a turn carry."""

    type: ClassVar[str]
    turn: TurnInfo
    at: datetime = field(default_factory=_now)


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted(TurnEvent):
    type: ClassVar[str] = "turn.started"
    started_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageAdded(TurnEvent):
    """A message is in the journal. For a streamed reply this ends its deltas and holds the whole text."""

    type: ClassVar[str] = "message.added"
    message_id: UUID
    message: Message
    active: bool = True
    """False: kept and shown, never sent to the model (a cut reply that was replaced by a retry)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageDelta(TurnEvent):
    type: ClassVar[str] = "message.delta"
    message_id: UUID
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingDelta(TurnEvent):
    type: ClassVar[str] = "thinking.delta"
    message_id: UUID
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEvent(TurnEvent):
    call_id: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProposed(ToolEvent):
    """The model asked for a call; nothing has run."""

    type: ClassVar[str] = "tool.proposed"
    args: dict[str, Any]
    title: str
    """One line that says what would happen, from the tool's own description of these arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolStarted(ToolEvent):
    type: ClassVar[str] = "tool.started"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutput(ToolEvent):
    """Live output, not yet cut to the size that the model receives."""

    type: ClassVar[str] = "tool.output"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolProgress(ToolEvent):
    type: ClassVar[str] = "tool.progress"
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFinished(ToolEvent):
    type: ClassVar[str] = "tool.finished"
    record: ToolCallRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalRequested(ToolEvent):
    """A pending request is in the journal and waits for an answer."""

    type: ClassVar[str] = "approval.requested"
    approval_id: UUID
    title: str
    detail: str
    """The exact and whole text of what would run, or the question."""
    risk: Risk
    reason: str
    """Why the user is asked."""
    cwd: str | None
    requested_at: datetime
    expires_at: datetime
    kind: RequestKind = "tool_call"
    choices: tuple[str, ...] = ()
    """Answers that a question offers."""
    diff: str | None = None
    """Unified diff, for edits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalResolved(ToolEvent):
    type: ClassVar[str] = "approval.resolved"
    approval_id: UUID
    answer: ApprovalAnswer


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryScheduled(TurnEvent):
    """A model call failed and will be tried again."""

    type: ClassVar[str] = "retry.scheduled"
    attempt: int
    """The number of the attempt that failed, from 1."""
    max_attempts: int
    delay_seconds: float
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextUpdated(TurnEvent):
    """A model call ended: what it used, and how full the context now is.

    With an empty `usage`: the session was compacted, and nobody has counted the new context yet.
    """

    type: ClassVar[str] = "context.updated"
    model: str
    usage: Usage
    context_window: int | None
    """Tokens the model takes, or None when unknown."""

    @property
    def meter(self) -> ContextMeter | None:
        """None when the provider counts no tokens."""
        prompt = self.usage.prompt_tokens
        if prompt is None:
            return None
        return ContextMeter(model=self.model, used=prompt + (self.usage.output_tokens or 0), window=self.context_window)


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice(TurnEvent):
    """A sentence for the user about this turn that is not part of the conversation."""

    type: ClassVar[str] = "notice"
    level: Literal["info", "warning", "error"]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnCompleted(TurnEvent):
    type: ClassVar[str] = "turn.completed"
    status: TurnStatus
    stop_reason: str | None
    error: str | None
    """A sentence for the user when the status is failed."""
    text: str
    """The final reply, empty when there is none."""
    usage: Usage
    started_at: datetime
    completed_at: datetime
    had_output: bool
    denied_calls: int = 0
    """How many of the turn's calls were denied or expired."""
    waited_seconds: float = 0.0
    """How much of its time the turn waited for the user."""


AgentEvent = (
    TurnStarted
    | MessageAdded
    | MessageDelta
    | ThinkingDelta
    | ToolProposed
    | ToolStarted
    | ToolOutput
    | ToolProgress
    | ToolFinished
    | ApprovalRequested
    | ApprovalResolved
    | RetryScheduled
    | ContextUpdated
    | Notice
    | TurnCompleted
)
