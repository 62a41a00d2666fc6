"""A real, small ToolContext that records what a tool shows."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from cos.agent.cancellation import CancelToken
from cos.agent.identity import TurnInfo
from cos.agent.ids import new_id
from cos.agent.tools import ToolContext


@dataclass
class RecordingContext:
    workspace: Path
    cancel: CancelToken = field(default_factory=CancelToken)
    emitted: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def output(self) -> str:
        return "".join(self.emitted)

    def emit(self, text: str) -> None:
        self.emitted.append(text)

    def progress(self, text: str) -> None:
        self.notes.append(text)


def _fits(context: RecordingContext) -> ToolContext:
    return context


def new_turn() -> TurnInfo:
    """The first turn of a fresh session."""
    return TurnInfo(profile_id="home", session_id=new_id(), turn_id=new_id())
