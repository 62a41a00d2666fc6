"""Answers requests for approval in the user's name and keeps the pane of them up to date."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cos.agent.records import ApprovalAnswer
from cos.tui.headline import approval_card

if TYPE_CHECKING:
    from uuid import UUID

    from cos.core.approval_desk import ApprovalDesk
    from cos.tui.screens.chat import ChatScreen

ANSWERED_BY = "tui"


class Answering:
    """Between the approvals pane and the core's desk."""

    def __init__(self, desk: ApprovalDesk, screen: ChatScreen) -> None:
        self._desk = desk
        self._screen = screen

    async def refresh(self) -> None:
        """Show what waits for an answer."""
        self._screen.show_requests([approval_card(pending) for pending in await self._desk.pending()])

    async def decide(self, approval_id: UUID, decision: str) -> None:
        """Answer a request; say so when somebody else was first."""
        answer = ApprovalAnswer(decision="allowed" if decision == "allowed" else "denied", answered_by=ANSWERED_BY)
        try:
            counted = await self._desk.answer(approval_id, answer)
        except LookupError as error:
            self._screen.notify(f"{error}; it was deleted", severity="warning", markup=False)
        else:
            if counted != answer:
                who = f" by {counted.answered_by}" if counted.answered_by else ""
                self._screen.notify(f"Already answered: {counted.decision}{who}.", severity="warning", markup=False)
        await self.refresh()
