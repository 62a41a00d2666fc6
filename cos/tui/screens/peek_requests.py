"""The requests of a session that is looked at, and what answers them there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from textual import on, work
from textual.screen import ModalScreen

from cos.tui.failing_work import TellsFailures
from cos.tui.transcript.view import Transcript
from cos.tui.widgets.approvals_pane import ApprovalsPane

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from uuid import UUID

    from cos.tui.widgets.approval_card import Card
    from cos.tui.widgets.approvals_pane import Decision, PanelName


class Peeked(Protocol):
    """The session that is looked at."""

    @property
    def heading(self) -> str: ...

    def cards(self) -> Sequence[Card]:
        """What it and its children ask, oldest first."""
        ...

    async def load(self, view: Transcript) -> None:
        """Read its conversation and draw it there, live, until `hide`. Raises: DatabaseError."""
        ...

    def hide(self) -> None: ...

    async def load_older(self) -> None: ...

    async def decide(self, approval_ids: Sequence[UUID], decision: Decision) -> None: ...

    async def open_panel(self, panel: PanelName, card: Card, pane: ApprovalsPane) -> None: ...

    async def answer(self, approval_id: UUID, answer: str) -> None: ...

    async def reply(self, text: str, back: Callable[[str], bool]) -> None:
        """Send it, or run the command that it is. `back` takes the text if that cannot be, and says whether it did."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class PeekEnd:
    """How a look at a session ended."""

    is_wanted_open: bool
    """The user wants to open the session."""
    written: str
    """A reply that was written and not sent."""


class PeekedRequests(TellsFailures, ModalScreen[PeekEnd]):
    """Hands each answer on, in a worker of its own."""

    def __init__(self, peeked: Peeked) -> None:
        super().__init__()
        self._peeked = peeked

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Approvals are offered while there are some."""
        return self.approvals.count > 0 if action == "answer" and self.is_mounted else True

    @property
    def approvals(self) -> ApprovalsPane:
        return self.query_one(ApprovalsPane)

    @on(ApprovalsPane.Decided)
    @work(group="decide", exit_on_error=False)
    async def _decided(self, event: ApprovalsPane.Decided) -> None:
        await self._peeked.decide(event.approval_ids, event.decision)

    @on(ApprovalsPane.Answered)
    @work(group="decide", exit_on_error=False)
    async def _answered(self, event: ApprovalsPane.Answered) -> None:
        await self._peeked.answer(event.approval_id, event.answer)

    @on(ApprovalsPane.PanelWanted)
    @work(group="panel", exclusive=True, exit_on_error=False)
    async def _panel_wanted(self, event: ApprovalsPane.PanelWanted) -> None:
        await self._peeked.open_panel(event.panel, event.card, self.approvals)
