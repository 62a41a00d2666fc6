"""A real, small ToolContext that records what a tool shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cos.agent.cancellation import CancelToken
from cos.agent.identity import TurnInfo
from cos.agent.ids import new_id
from cos.agent.records import ApprovalAnswer
from cos.agent.tools import ToolContext


@dataclass
class RecordingContext:
    workspace: Path
    cancel: CancelToken = field(default_factory=CancelToken)
    emitted: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    asked: list[tuple[str, tuple[str, ...]]] = field(default_factory=list)
    answer: ApprovalAnswer = field(default_factory=lambda: ApprovalAnswer(decision="expired"))
    """To every question."""

    @property
    def output(self) -> str:
        return "".join(self.emitted)

    async def ask(self, question: str, choices: Sequence[str] = ()) -> ApprovalAnswer:
        self.asked.append((question, tuple(choices)))
        return self.answer

    def emit(self, text: str) -> None:
        self.emitted.append(text)

    def progress(self, text: str) -> None:
        self.notes.append(text)


def _fits(context: RecordingContext) -> ToolContext:
    return context


def new_turn() -> TurnInfo:
    """The first turn of a fresh session."""
    return TurnInfo(profile_id="home", session_id=new_id(), turn_id=new_id())
