"""How a turn ended, for who ran it and as the event that comes last of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cos.agent.events import TurnCompleted, Usage
from cos.agent.records import TurnEnd, TurnStatus

if TYPE_CHECKING:
    from cos.agent.turn_state import TurnState


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOutcome:
    """How a turn ended."""

    status: TurnStatus
    text: str
    stop_reason: str | None
    error: str | None
    usage: Usage
    denied_calls: int = 0
    model_calls: int = 0
    """Attempts included."""


def turn_completed(state: TurnState, outcome: TurnOutcome, end: TurnEnd) -> TurnCompleted:
    return TurnCompleted(
        turn=state.turn,
        status=outcome.status,
        stop_reason=outcome.stop_reason,
        error=outcome.error,
        text=outcome.text,
        usage=outcome.usage,
        started_at=state.started_at,
        completed_at=end.at,
        waited_seconds=end.waited_seconds,
        had_output=state.had_output,
        denied_calls=outcome.denied_calls,
    )
