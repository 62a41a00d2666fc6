"""The answer where nobody can or shall give one: a rule, a plugin or the model asks also in the mode that refuses."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from cos.agent.events import ApprovalRequested
from cos.agent.records import ApprovalAnswer

if TYPE_CHECKING:
    from cos.core.approval_desk import ApprovalDesk
    from cos.core.live import CoreEvent

log = logging.getLogger("cos.ask")


class StandingRefusal:
    """Denies every request with the same reason."""

    def __init__(self, desk: ApprovalDesk, reason: str) -> None:
        self._desk = desk
        self._answer = ApprovalAnswer(decision="denied", reason=reason, answered_by="cos ask")
        self._answers: list[asyncio.Future[Any]] = []

    def see(self, event: CoreEvent) -> None:
        if isinstance(event, ApprovalRequested):
            self._answers.append(asyncio.ensure_future(self._desk.answer(event.approval_id, self._answer)))

    async def close(self) -> None:
        for end in await asyncio.gather(*self._answers, return_exceptions=True):
            if isinstance(end, BaseException):
                log.error("a request could not be refused", exc_info=end)
