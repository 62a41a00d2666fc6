"""What the running turns of this process are doing, from the live feed: thinking, in a tool, waiting to retry."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Literal

from cos.agent import events

if TYPE_CHECKING:
    from uuid import UUID

    from cos.agent.events import AgentEvent


@dataclass(frozen=True, slots=True)
class Activity:
    word: Literal["thinking", "tool", "retrying"]
    since: datetime
    tool: str = ""
    """The name of the call that began first of those that run."""


class Activities:
    """By session id. Deltas, which come in thousands, change nothing and cost one look-up."""

    def __init__(self) -> None:
        self._now: dict[UUID, Activity] = {}
        self._calls: dict[UUID, dict[str, Activity]] = {}

    def of(self, session_id: UUID) -> Activity | None:
        return self._now.get(session_id)

    def forget(self) -> None:
        """Events were missed."""
        self._now.clear()
        self._calls.clear()

    def take(self, event: AgentEvent) -> bool:
        """Whether this changed what the session does."""
        session_id = event.turn.session_id
        before = self._now.get(session_id)
        match event:
            case events.TurnCompleted():
                self._now.pop(session_id, None)
                self._calls.pop(session_id, None)
            case events.ToolStarted():
                calls = self._calls.setdefault(session_id, {})
                calls[event.call_id] = Activity("tool", event.at, event.name)
                self._now[session_id] = next(iter(calls.values()))
            case events.ToolFinished():
                calls = self._calls.get(session_id, {})
                calls.pop(event.call_id, None)
                self._now[session_id] = next(iter(calls.values()), None) or _thinking(before, event)
            case events.RetryScheduled():
                self._now[session_id] = Activity("retrying", event.at)
            case events.TurnStarted():
                self._now[session_id] = Activity("thinking", event.started_at)
            case events.MessageDelta() | events.ThinkingDelta() if before is None or before.word == "retrying":
                self._now[session_id] = Activity("thinking", event.at)
            case _:
                return False
        return self._now.get(session_id) != before


def _thinking(before: Activity | None, event: AgentEvent) -> Activity:
    return before if before is not None and before.word == "thinking" else Activity("thinking", event.at)
