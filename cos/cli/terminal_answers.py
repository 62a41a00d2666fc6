"""Requests for approval at a plain terminal: shows the exact call, and takes only a whole word typed after that."""

from __future__ import annotations

import asyncio
import sys
import termios
from typing import TYPE_CHECKING
from uuid import UUID

from cos.agent.events import ApprovalRequested, ApprovalResolved
from cos.agent.records import ApprovalAnswer
from cos.agent.text import exact, visible

if TYPE_CHECKING:
    from cos.core.approval_desk import ApprovalDesk
    from cos.core.live import CoreEvent

_QUESTION = "Type yes to run it or no to refuse it, then Enter: "


class TerminalAnswers:
    """Asks about one request at a time, oldest first."""

    def __init__(self, desk: ApprovalDesk) -> None:
        self._desk = desk
        self._open: list[ApprovalRequested] = []
        self._asked: UUID | None = None
        self._answers: set[asyncio.Task[None]] = set()
        asyncio.get_running_loop().add_reader(sys.stdin.fileno(), self._read)

    def see(self, event: CoreEvent) -> None:
        if isinstance(event, ApprovalRequested):
            self._open.append(event)
        elif isinstance(event, ApprovalResolved):
            self._open = [request for request in self._open if request.approval_id != event.approval_id]
        if self._open and self._open[0].approval_id != self._asked:
            self._ask(self._open[0])

    async def close(self) -> None:
        asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
        await asyncio.gather(*self._answers, return_exceptions=True)

    def _ask(self, request: ApprovalRequested) -> None:
        self._asked = request.approval_id
        detail = exact(request.detail or request.title)
        place = f"\n  in {visible(request.cwd)}" if request.cwd else ""
        print(f"\n{request.name} wants to run, and {request.reason}:\n\n{detail}\n{place}", file=sys.stderr)
        # What was typed before the question was on screen cannot have been meant as its answer.
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
        print(_QUESTION, end="", file=sys.stderr, flush=True)

    def _read(self) -> None:
        line = sys.stdin.readline()
        if not line:
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
            return
        word = line.strip().lower()
        if self._asked is None or not self._open or word not in {"yes", "no"}:
            if self._open:
                print(_QUESTION, end="", file=sys.stderr, flush=True)
            return
        answer = ApprovalAnswer(decision="allowed" if word == "yes" else "denied", answered_by="cli")
        task = asyncio.ensure_future(self._send(self._asked, answer))
        self._answers.add(task)
        task.add_done_callback(self._answers.discard)

    async def _send(self, approval_id: UUID, answer: ApprovalAnswer) -> None:
        counted = await self._desk.answer(approval_id, answer)
        if counted != answer:
            print(f"cos: already answered: {counted.decision} by {counted.answered_by}", file=sys.stderr)
