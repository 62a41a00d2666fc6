"""Requests at a plain terminal: shows the exact call or question, and takes only a whole line typed after that."""

from __future__ import annotations

import asyncio
import sys
import termios
from typing import TYPE_CHECKING
from uuid import UUID

from cos.agent.events import ApprovalRequested, ApprovalResolved
from cos.agent.records import ApprovalAnswer
from cos.agent.text import exact, visible
from cos.core.answer_words import decided
from cos.core.questions import mark_word, meant_answer, numbered

if TYPE_CHECKING:
    from cos.core.approval_desk import ApprovalDesk
    from cos.core.live import CoreEvent

_ALLOW = "Type yes to run it or no to refuse it, then Enter: "
_ANSWER = "Type your answer{or_mark}, then Enter; /decline gives no answer: "
_DECLINE = "/decline"


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
        print(f"\n{_shown(request)}\n", file=sys.stderr)
        # What was typed before the question was on screen cannot have been meant as its answer.
        termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
        print(_prompt(request), end="", file=sys.stderr, flush=True)

    def _read(self) -> None:
        line = sys.stdin.readline()
        if not line:
            asyncio.get_running_loop().remove_reader(sys.stdin.fileno())
            return
        if not self._open or self._open[0].approval_id != self._asked:
            return
        answer = _meant(line, self._open[0])
        if answer is None:
            print(_prompt(self._open[0]), end="", file=sys.stderr, flush=True)
            return
        task = asyncio.ensure_future(self._send(self._asked, answer))
        self._answers.add(task)
        task.add_done_callback(self._answers.discard)

    async def _send(self, approval_id: UUID, answer: ApprovalAnswer) -> None:
        counted = await self._desk.answer(approval_id, answer)
        if counted != answer:
            print(f"cos: already answered: {decided(counted)}", file=sys.stderr)


def _shown(request: ApprovalRequested) -> str:
    if request.kind == "question":
        return f"{visible(request.reason).capitalize()}:\n\n{exact(numbered(request.detail, request.choices))}"
    place = f"\n\n  in {visible(request.cwd)}" if request.cwd else ""
    wants = f"A child agent wants to run {request.name}" if request.turn.depth else f"{request.name} wants to run"
    return f"{wants}, and {request.reason}:\n\n{exact(request.detail or request.title)}{place}"


def _prompt(request: ApprovalRequested) -> str:
    if request.kind == "question":
        mark = mark_word(request.choices)
        return _ANSWER.format(or_mark=f" or the {mark} of a choice" if request.choices else "")
    return _ALLOW


def _meant(line: str, request: ApprovalRequested) -> ApprovalAnswer | None:
    """None when the line is no answer to this request."""
    words = line.strip()
    if request.kind == "question":
        if words.lower() == _DECLINE:
            return ApprovalAnswer(decision="denied", answered_by="cli")
        said = meant_answer(words, request.choices)
        return ApprovalAnswer(decision="answered", answer=said, answered_by="cli") if said else None
    if words.lower() not in {"yes", "no"}:
        return None
    return ApprovalAnswer(decision="allowed" if words.lower() == "yes" else "denied", answered_by="cli")
