"""What a running tool may use of its turn: the `ToolContext` of one call."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cos.agent.approver import ApprovalRequest, Approver
from cos.agent.call_judge import record_call
from cos.agent.errors import TurnCancelled
from cos.agent.events import ToolOutput, ToolProgress
from cos.agent.records import ApprovalAnswer, ToolCallStatus
from cos.agent.tools import CallDescription

if TYPE_CHECKING:
    from pathlib import Path

    from cos.agent.call_clock import CallClock
    from cos.agent.cancellation import CancelToken
    from cos.agent.journal import Journal
    from cos.agent.tools import ToolContext
    from cos.agent.turn_state import CallState, TurnState


@dataclass(frozen=True, slots=True)
class CallContext:
    """The `ToolContext` of one call."""

    state: TurnState
    call: CallState
    clock: CallClock
    journal: Journal
    approver: Approver
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    thread: int = field(default_factory=threading.get_ident)

    @property
    def workspace(self) -> Path:
        return self.state.session.workspace

    @property
    def cancel(self) -> CancelToken:
        return self.state.cancel

    async def ask(self, question: str, choices: Sequence[str] = ()) -> ApprovalAnswer:
        title = next((line.strip() for line in question.splitlines() if line.strip()), self.call.call.name)
        request = ApprovalRequest(
            turn=self.state.turn, call_id=self.call.call.id, name=self.call.call.name, args=self.call.call.args,
            risk=self.call.risk, description=CallDescription(title=title, detail=question),
            reasons=("the agent asks you",), kind="question", choices=tuple(choices),
        )  # fmt: skip
        self.call.status = ToolCallStatus.WAITING
        if self.call.risk == "read":
            # Should this process die now, the record says that the call has done nothing. That is so if it only reads.
            await record_call(self.journal, self.state, self.call)
        with self.clock.stopped():
            answer = await self.approver.ask(request)
        self.call.status = ToolCallStatus.RUNNING
        self.call.approval = self.call.approval or answer
        if answer.decision == "cancelled":
            raise TurnCancelled(answer.reason or "the question was cancelled")
        return answer

    def emit(self, text: str) -> None:
        self._publish(ToolOutput, text)

    def progress(self, text: str) -> None:
        self._publish(ToolProgress, text)

    def _publish(self, kind: type[ToolOutput] | type[ToolProgress], text: str) -> None:
        """Sync tools call from threads, and a stopped one may go on calling: nobody listens to it any more."""

        def publish() -> None:
            if self.call.status is ToolCallStatus.RUNNING:
                call = self.call.call
                self.state.publish(kind(turn=self.state.turn, call_id=call.id, name=call.name, text=text))

        if threading.get_ident() == self.thread:
            publish()
        elif not self.loop.is_closed():
            self.loop.call_soon_threadsafe(publish)


def _fits(context: CallContext) -> ToolContext:
    return context
