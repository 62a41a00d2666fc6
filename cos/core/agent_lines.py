"""What runs here, as the lines of `/agents`: each child agent below the turn that it works for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from cos.agent.records import ToolCallStatus

if TYPE_CHECKING:
    from uuid import UUID

    from cos.agent.events import Usage
    from cos.core.running_turns import Running
    from cos.core.sessions import Session


def agent_lines(turns: Iterable[Running], sessions: Mapping[UUID, Session]) -> list[str]:
    """`turns` oldest first; `sessions` by id."""
    turns = list(turns)
    known = {running.turn.turn_id for running in turns}
    below: dict[UUID | None, list[Running]] = {}
    for running in turns:
        parent = running.turn.parent_turn_id
        below.setdefault(parent if parent in known else None, []).append(running)

    def lines(parent: UUID | None, indent: str) -> list[str]:
        found = []
        for running in below.get(parent, []):
            found.append(indent + _line(running, sessions[running.turn.session_id]))
            found += lines(running.turn.turn_id, f"    {indent}" if indent else "  ↳ ")
        return found

    return lines(None, "")


def _line(running: Running, session: Session) -> str:
    seconds = max(0, round((datetime.now(UTC) - running.state.started_at).total_seconds()))
    pieces = [session.title or "untitled", f"{_state(running)} {seconds}s", _tokens(running.usage), session.profile_id]
    return f"● {'  '.join(pieces)}"


def _state(running: Running) -> str:
    calls = {call.status: call.call.name for call in running.state.calls}
    if running.cancel.is_set:
        return "stopping"
    if ToolCallStatus.WAITING in calls:
        return "waits for you"
    return f"runs {calls[ToolCallStatus.RUNNING]}" if ToolCallStatus.RUNNING in calls else "thinks"


def _tokens(usage: Usage) -> str:
    known = [(usage.prompt_tokens, "in"), (usage.output_tokens, "out")]
    return ", ".join(f"{count:,} {way}" for count, way in known if count is not None) or "no call ended yet"
