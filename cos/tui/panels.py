"""Opens the panel that a key of the approvals pane asks for, and does what comes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cos.core.questions import meant_answer
from cos.tui.screens.deny_reason import DenyReason, Reason
from cos.tui.screens.edit_args import EditArgs
from cos.tui.screens.free_answer import FreeAnswer
from cos.tui.screens.keep_rule import Keeping, KeepRule, Scope
from cos.tui.screens.whole_text import WholeText

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from cos.core.profiles import Profile
    from cos.core.rules import Rule
    from cos.tui.answering import Answering
    from cos.tui.screens.chat import ChatScreen
    from cos.tui.widgets.approval_card import Card
    from cos.tui.widgets.approvals_pane import PanelName


class Panels:
    """One panel at a time."""

    def __init__(self, screen: ChatScreen, answering: Answering, profiles: Mapping[str, Profile]) -> None:
        self._screen = screen
        self._answering = answering
        self._profiles = profiles
        self._reasons: dict[UUID, str] = {}
        """What was written and not sent, by request."""
        self._answers: dict[UUID, str] = {}
        """The same for answers to questions."""

    async def open(self, name: PanelName, card: Card) -> None:
        """Show a panel and wait for its end."""
        match name:
            case "view":
                if await self._screen.app.push_screen_wait(WholeText(card)):
                    self._screen.approvals.mark_seen(card)
            case "session" | "always":
                await self._keep(name, card)
            case "reason":
                await self._deny(card)
            case "edit":
                await self._edit(card)
            case "text":
                await self._write(card)

    async def _keep(self, scope: Scope, card: Card) -> None:
        proposals = self._answering.proposals(card.id)
        if not proposals:
            self._screen.notify(
                "No rule can say safely what else would be allowed. y allows this call once.",
                severity="warning",
                markup=False,
            )
            return
        keeping = Keeping(
            scope=scope,
            proposals=proposals,
            file=self._profiles[card.profile_id].config_file,
            would_allow=lambda rules: self._answering.would_allow(card.id, rules),
        )
        arm_seconds = self._screen.approvals.arming.seconds
        rules: tuple[Rule, ...] | None = await self._screen.app.push_screen_wait(
            KeepRule(card, keeping, arm_seconds=arm_seconds)
        )
        if rules is not None:
            await self._answering.keep(card.id, scope, rules)

    async def _deny(self, card: Card) -> None:
        reason: Reason | None = await self._screen.app.push_screen_wait(
            DenyReason(card, self._reasons.pop(card.id, ""))
        )
        if reason is None:
            return
        if reason.is_final:
            await self._answering.decide(card.id, "denied", reason=reason.text)
        else:
            self._reasons[card.id] = reason.text

    async def _write(self, card: Card) -> None:
        written: Reason | None = await self._screen.app.push_screen_wait(
            FreeAnswer(card, self._answers.pop(card.id, ""))
        )
        if written is None:
            return
        if written.is_final:
            await self._answering.reply(card.id, meant_answer(written.text, card.choices))
        else:
            self._answers[card.id] = written.text

    async def _edit(self, card: Card) -> None:
        before = self._answering.args(card.id)
        if before is None:
            return
        arm_seconds = self._screen.approvals.arming.seconds
        args: dict[str, Any] | None = await self._screen.app.push_screen_wait(
            EditArgs(card, before, arm_seconds=arm_seconds)
        )
        if args is not None:
            await self._answering.decide(card.id, "allowed", args=None if args == before else args)
