"""What a running tool may use of its turn: the `ToolContext` of one call."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cos.agent.events import ToolOutput, ToolProgress
from cos.agent.records import ToolCallStatus

if TYPE_CHECKING:
    from pathlib import Path

    from cos.agent.cancellation import CancelToken
    from cos.agent.tools import ToolContext
    from cos.agent.turn_state import CallState, TurnState


@dataclass(frozen=True, slots=True)
class CallContext:
    """The `ToolContext` of one call."""

    workspace: Path
    cancel: CancelToken
    state: TurnState
    call: CallState
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    thread: int = field(default_factory=threading.get_ident)

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
