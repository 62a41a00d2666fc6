"""What the user wants in a side pane or of a turn goes to the session control, each kind in its own worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import on, work

from cos.tui.failing_work import TellsFailures
from cos.tui.screens.find_sessions import FindSessions
from cos.tui.screens.main import MainScreen
from cos.tui.transcript.paged import PagedView
from cos.tui.turn_actions import TurnWish
from cos.tui.widgets.approvals_pane import ApprovalsPane
from cos.tui.widgets.conversation_pane import ConversationPane
from cos.tui.widgets.session_lines import SessionLines
from cos.tui.widgets.sessions_pane import SessionsPane

if TYPE_CHECKING:
    from cos.tui.preferences import Preferences
    from cos.tui.session_control import SessionControl
    from cos.tui.timing import Timing


class WishingScreen(TellsFailures, MainScreen):
    """The main screen, once it is connected with what carries wishes out."""

    def __init__(self, timing: Timing, preferences: Preferences) -> None:
        super().__init__(timing, preferences)
        self.control: SessionControl | None = None
        """None until the core is there."""

    @on(SessionLines.Wanted)
    @work(group="sessions", exclusive=True, exit_on_error=False)
    async def _wanted_of_session(self, event: SessionLines.Wanted) -> None:
        if self.control is not None:
            await self.control.actions.do(event.action, event.session_id)

    @work(group="sessions", exclusive=True, exit_on_error=False)
    async def action_neighbour(self, step: int) -> None:
        if self.control is not None:
            await self.control.actions.go(step)

    @work(group="find", exclusive=True, exit_on_error=False)
    async def action_find_sessions(self, text: str = "") -> None:
        """Search in all conversations and go to what the user chooses."""
        if self.control is not None:
            hit = await self.app.push_screen_wait(FindSessions(self.control.finding.find, text))
            if hit is not None:
                await self.control.finding.go(hit)

    @on(SessionLines.NearEnd)
    def _near_end(self) -> None:
        if self.control is not None:
            self.control.monitor.more()

    @on(SessionsPane.FilterChanged)
    def _filter_changed(self, event: SessionsPane.FilterChanged) -> None:
        if self.control is not None:
            self.control.monitor.filter(event.text)

    @on(PagedView.NeedOlder)
    @work(group="older", exclusive=True, exit_on_error=False)
    async def _need_older(self) -> None:
        if self.control is not None:
            await self.control.load_older()

    @on(ConversationPane.RewindWanted)
    @on(ConversationPane.ForkWanted)
    @on(ConversationPane.RetryWanted)
    @work(group="sessions", exclusive=True, exit_on_error=False)
    async def _wanted_of_turn(self, event: TurnWish) -> None:
        if self.control is not None:
            await self.control.turns.do(event)

    @on(ApprovalsPane.Decided)
    @work(group="decide", exit_on_error=False)
    async def _decided(self, event: ApprovalsPane.Decided) -> None:
        if self.control is not None:
            for approval_id in event.approval_ids:
                await self.control.answering.decide(approval_id, event.decision)

    @on(ApprovalsPane.Answered)
    @work(group="decide", exit_on_error=False)
    async def _answered(self, event: ApprovalsPane.Answered) -> None:
        if self.control is not None:
            await self.control.answering.reply(event.approval_id, event.answer)

    @on(ApprovalsPane.PanelWanted)
    @work(group="panel", exclusive=True, exit_on_error=False)
    async def _panel_wanted(self, event: ApprovalsPane.PanelWanted) -> None:
        if self.control is not None:
            await self.control.panels.open(event.panel, event.card, self.approvals)
