"""Answers requests for approval in the user's name and keeps the pane of them up to date."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Literal

from cos.agent.errors import CosError
from cos.agent.records import ApprovalAnswer
from cos.core.answer_words import decided
from cos.tui.headline import approval_card

if TYPE_CHECKING:
    from collections.abc import Sequence
    from uuid import UUID

    from textual.worker import Worker

    from cos.core.approval_desk import ApprovalDesk
    from cos.core.postgres.approvals import PendingApproval
    from cos.core.rule_proposals import RuleProposal
    from cos.core.rules import Rule
    from cos.tui.screens.chat import ChatScreen
    from cos.tui.widgets.approval_card import Card

ANSWERED_BY = "tui"
WARNING_SECONDS = 15.0
PAUSE_SECONDS = 0.1
"""At least this long between two reads of what other processes touched."""


class Answering:
    """Between the approvals pane and the core's desk."""

    def __init__(self, desk: ApprovalDesk, screen: ChatScreen) -> None:
        self._desk = desk
        self._screen = screen
        self._pending: dict[UUID, PendingApproval] = {}
        self._is_pausing = self._is_wanted = False

    async def refresh(self) -> None:
        """Show what waits for an answer.

        Raises:
            CosError: it cannot be read. So does `refresh_now_and_then`.
        """
        self._pending = {one.id: one for one in await self._desk.pending()}
        self._screen.show_requests([approval_card(one) for one in self._pending.values()])

    async def refresh_now_and_then(self) -> None:
        """As `refresh`; but what follows within a moment, such as word of many busy sessions, is one more read."""
        self._is_wanted = True
        if not self._is_pausing:
            self._is_wanted = False
            await self.refresh()
            self._is_pausing = True
            _: Worker[None] = self._screen.app.run_worker(self._read_rest(), group="feed", exit_on_error=False)

    async def _read_rest(self) -> None:
        try:
            await asyncio.sleep(PAUSE_SECONDS)
            while self._is_wanted:
                self._is_wanted = False
                await self.refresh()
                await asyncio.sleep(PAUSE_SECONDS)
        except CosError:
            self._is_wanted = True  # The status line says that the database does not answer; all is read again then.
        finally:
            self._is_pausing = False

    def cards_of(self, session_id: UUID) -> list[Card]:
        """What a session and those below it ask, oldest first."""
        mine = [one for one in self._pending.values() if session_id in (one.session_id, one.root_session_id)]
        return [approval_card(one) for one in mine]

    def args(self, approval_id: UUID) -> dict[str, Any] | None:
        """The arguments of a request that still waits."""
        pending = self._pending.get(approval_id)
        return None if pending is None else pending.args

    def proposals(self, approval_id: UUID) -> tuple[RuleProposal, ...]:
        """What could be allowed for longer, narrowest first; empty when no rule says it safely."""
        pending = self._pending.get(approval_id)
        return () if pending is None else self._desk.proposals(pending)

    def would_allow(self, approval_id: UUID, rules: Sequence[Rule]) -> bool:
        pending = self._pending.get(approval_id)
        return pending is not None and self._desk.would_allow(pending, rules)

    async def decide(
        self,
        approval_id: UUID,
        decision: Literal["allowed", "denied"],
        *,
        reason: str | None = None,
        args: dict[str, Any] | None = None,
    ) -> None:
        """Answer a request, once; say so when somebody else was first."""
        await self._answer(
            approval_id, ApprovalAnswer(decision=decision, reason=reason, answered_by=ANSWERED_BY, args=args)
        )

    async def reply(self, approval_id: UUID, words: str) -> None:
        """Answer a question with exactly these words; else as `decide`."""
        await self._answer(approval_id, ApprovalAnswer(decision="answered", answer=words, answered_by=ANSWERED_BY))

    async def _answer(self, approval_id: UUID, answer: ApprovalAnswer) -> None:
        try:
            self._tell(answer, await self._desk.answer(approval_id, answer))
        except LookupError as error:
            self._screen.notify(f"{error}; it was deleted", severity="warning", markup=False)
        await self.refresh()

    async def keep(self, approval_id: UUID, scope: Literal["session", "always"], rules: Sequence[Rule]) -> None:
        """Allow a request and what `rules` say besides it."""
        pending = self._pending.get(approval_id)
        if pending is None:
            self._screen.notify("The request has ended.", severity="warning", markup=False)
            return
        answer = ApprovalAnswer(decision="allowed", scope=scope, answered_by=ANSWERED_BY)
        try:
            taken = await self._desk.grant(pending, answer, rules)
        except LookupError as error:
            self._screen.notify(f"{error}; it was deleted", severity="warning", markup=False)
        else:
            self._tell(answer, taken.counted)
            if taken.warning:
                self._screen.notify(taken.warning, severity="warning", timeout=WARNING_SECONDS, markup=False)
        await self.refresh()

    def _tell(self, answer: ApprovalAnswer, counted: ApprovalAnswer) -> None:
        if counted != answer:
            self._screen.notify(f"Already answered: {decided(counted)}.", severity="warning", markup=False)
