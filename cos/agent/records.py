"""Records of what happened: a tool call's life and a turn's end."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, NamedTuple

Risk = Literal["read", "write", "execute", "network"]


class TurnStatus(StrEnum):
    """How a turn stands or ended."""

    RUNNING = "running"
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    """Its process died; closed by another one."""


class TurnEnd(NamedTuple):
    """What the journal says of a closed turn."""

    at: datetime
    waited_seconds: float = 0.0
    """How long it waited for the user; 0 in a journal that keeps no requests."""


class ReplyPiece(NamedTuple):
    """A part of a reply that is being streamed."""

    number: int
    """Those of one reply grow."""
    text: str
    is_thinking: bool


class ToolCallStatus(StrEnum):
    """How a tool call stands or ended. The first three are open, the others final."""

    PROPOSED = "proposed"
    WAITING = "waiting"
    """Waits for the user's approval."""
    RUNNING = "running"
    OK = "ok"
    ERROR = "error"
    DENIED = "denied"
    EXPIRED = "expired"
    """Nobody answered in time. Not a denial."""
    CANCELLED = "cancelled"
    TIMED_OUT = "timed_out"
    UNKNOWN = "unknown"
    """Interrupted after it started: it may or may not have had its effect."""

    @property
    def is_final(self) -> bool:
        return self not in {ToolCallStatus.PROPOSED, ToolCallStatus.WAITING, ToolCallStatus.RUNNING}


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextMeter:
    """How full a session's context was after its newest model call, in tokens."""

    model: str
    used: int
    """Prompt and reply of that call."""
    window: int | None
    """What the model takes; None = unknown."""
    futile: int = 0
    """Compactions in a row, the newest included, that saved little."""

    @property
    def share(self) -> float | None:
        """Of the window, 0 to 1 and beyond; None when the window is unknown."""
        return self.used / self.window if self.window else None

    @property
    def percent(self) -> int | None:
        return None if self.share is None else round(100 * self.share)


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalAnswer:
    """How a request to the user ended, and through whom."""

    decision: Literal["allowed", "denied", "expired", "cancelled", "answered"]
    """A call is allowed, a question is answered; the others end both."""
    scope: Literal["once", "session", "always"] = "once"
    reason: str | None = None
    """The user's own words on a denial; the model receives them exactly."""
    answered_by: str | None = None
    """Surface and client that answered, such as `tui`. None when nobody did."""
    args: dict[str, Any] | None = None
    """The arguments as the user changed them; None = as proposed."""
    answer: str | None = None
    """What the user says to a question, exactly; None when it was not answered."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCallRecord:
    """One tool call as the journal keeps it, recorded again at each change of `status`; a final one never changes."""

    call_id: str
    name: str
    args: dict[str, Any]
    status: ToolCallStatus
    result: str | None = None
    is_error: bool = False
    risk: Risk = "execute"
    duration_ms: int | None = None
    """Running time, waiting for the user not counted."""
    approval: ApprovalAnswer | None = None
    """None when nobody was asked."""
