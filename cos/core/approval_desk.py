"""Where requests to the user wait: a row before asking, one answer that counts, a deadline that is no refusal."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from cos.agent.approver import ApprovalRequest, Approver
from cos.agent.cancellation import uninterrupted
from cos.agent.events import ApprovalRequested, ApprovalResolved
from cos.agent.ids import new_id
from cos.agent.records import ApprovalAnswer

if TYPE_CHECKING:
    from cos.core.live import CoreEvent
    from cos.core.postgres.approvals import Approvals, PendingApproval, RequestedApproval
    from cos.core.rule_keeper import RuleKeeper
    from cos.core.rule_proposals import RuleProposal
    from cos.core.rules import Rule


CHANNEL = "cos_approvals"


@dataclass(frozen=True, slots=True)
class AnswerTaken:
    """What became of an answer."""

    counted: ApprovalAnswer
    """The answer that counts; another's when somebody was first."""
    warning: str | None
    """What could not be done as the answer wanted; the decision itself holds."""


class ApprovalDesk:
    """Implements `Approver`; every surface of this process answers here."""

    def __init__(
        self,
        store: Approvals,
        keeper: RuleKeeper,
        publish: Callable[[CoreEvent], None],
        *,
        timeout_seconds: float,
        surface: str,
    ) -> None:
        self.surface = surface
        self._store = store
        self._keeper = keeper
        self._publish = publish
        self._timeout_seconds = timeout_seconds
        self._waiting: dict[UUID, asyncio.Future[ApprovalAnswer]] = {}

    async def ask(self, request: ApprovalRequest) -> ApprovalAnswer:
        approval_id = new_id()
        future: asyncio.Future[ApprovalAnswer] = asyncio.get_running_loop().create_future()
        self._waiting[approval_id] = future  # Before the row is there: somebody may find and answer it at once.
        try:
            made = await self._store.request(approval_id, request, content_hash(request), self._timeout_seconds)
            self._publish(_requested(request, made))
            answer = await self._answer_or_deadline(approval_id, future)
        except asyncio.CancelledError:
            await uninterrupted(self._cancelled(request, approval_id))
            raise
        finally:
            del self._waiting[approval_id]
        self._resolved(request, approval_id, answer)
        return answer

    async def answer(self, approval_id: UUID, answer: ApprovalAnswer) -> ApprovalAnswer:
        """Answer a request; return the answer that counts, which is another's when somebody was first.

        Raises:
            LookupError: there is no such request.
        """
        counted = await self._store.answer(approval_id, answer)
        waiting = self._waiting.get(approval_id)
        if waiting is not None and not waiting.done():
            waiting.set_result(counted)
        return counted

    async def grant(self, approval: PendingApproval, answer: ApprovalAnswer, rules: Sequence[Rule]) -> AnswerTaken:
        """Allow a request for longer than once: `rules` are kept for the answer's scope, if it was the first.

        Raises:
            LookupError: there is no such request.
        """
        counted = await self.answer(approval.id, answer)
        warning = await self._keeper.keep(approval, answer, rules) if counted is answer else None
        return AnswerTaken(counted, warning)

    def proposals(self, approval: PendingApproval) -> tuple[RuleProposal, ...]:
        """What could be allowed for longer so that the request would not have been asked, narrowest first."""
        return self._keeper.proposals(approval) if approval.kind == "tool_call" else ()

    def would_allow(self, approval: PendingApproval, rules: Sequence[Rule]) -> bool:
        """Whether these rules alone would have allowed the request: a changed proposal may not."""
        return self._keeper.would_allow(approval, rules)

    async def hear(self, payload: str) -> None:
        """A process, this one or another, says that the request with this id is answered."""
        await self._look_at(UUID(payload))

    async def look(self) -> None:
        """Look for answers to everything that waits: word of them may have been missed."""
        for approval_id in list(self._waiting):
            await self._look_at(approval_id)

    async def _look_at(self, approval_id: UUID) -> None:
        waiting = self._waiting.get(approval_id)
        if waiting is not None and not waiting.done():
            counted = await self._store.counted(approval_id)
            if counted is not None and not waiting.done():
                waiting.set_result(counted)

    async def pending(self) -> list[PendingApproval]:
        """Every unanswered request of every session, oldest first."""
        return await self._store.pending()

    async def counted(self, approval_id: UUID) -> ApprovalAnswer | None:
        """The answer that a request was given, by whomever; None while it waits."""
        return await self._store.counted(approval_id)

    async def _answer_or_deadline(self, approval_id: UUID, future: asyncio.Future[ApprovalAnswer]) -> ApprovalAnswer:
        try:
            async with asyncio.timeout(self._timeout_seconds):
                return await future
        except TimeoutError:
            return await self._store.answer(approval_id, ApprovalAnswer(decision="expired"))

    async def _cancelled(self, request: ApprovalRequest, approval_id: UUID) -> None:
        closing = ApprovalAnswer(decision="cancelled", reason="the turn was cancelled")
        try:
            counted = await self._store.answer(approval_id, closing)
        except LookupError:
            return  # The row was not there yet.
        self._resolved(request, approval_id, counted)

    def _resolved(self, request: ApprovalRequest, approval_id: UUID, answer: ApprovalAnswer) -> None:
        self._publish(
            ApprovalResolved(
                turn=request.turn,
                call_id=request.call_id,
                name=request.name,
                approval_id=approval_id,
                answer=answer,
            )
        )


def content_hash(request: ApprovalRequest) -> str:
    """sha256 over tool, canonical arguments and working folder: the identity of what was decided."""
    content: list[Any] = [request.name, request.args, request.description.cwd]
    canonical = json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def _requested(request: ApprovalRequest, made: RequestedApproval) -> ApprovalRequested:
    return ApprovalRequested(
        turn=request.turn,
        call_id=request.call_id,
        name=request.name,
        approval_id=made.id,
        title=request.description.title,
        detail=request.description.detail,
        risk=request.risk,
        reason="; ".join(request.reasons),
        cwd=request.description.cwd,
        requested_at=made.requested_at,
        expires_at=made.expires_at,
        kind=request.kind,
        choices=request.choices,
        diff=request.description.diff,
    )


def _fits(desk: ApprovalDesk) -> Approver:
    return desk
