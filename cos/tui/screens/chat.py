"""The main screen at work: what the user does in a pane goes to the session control, each kind in its own worker."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.binding import Binding, BindingType

from cos.tui.screens.main import MainScreen
from cos.tui.screens.peek import Peek
from cos.tui.screens.request_panel import RequestPanel
from cos.tui.transcript.paged import PagedView
from cos.tui.widgets.approvals_pane import ApprovalsPane
from cos.tui.widgets.composer import Composer
from cos.tui.widgets.session_lines import SessionLines
from cos.tui.widgets.sessions_pane import SessionsPane

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cos.tui.places import Place
    from cos.tui.screens.main import Timing
    from cos.tui.session_control import SessionControl
    from cos.tui.widgets.approval_card import Card


class ChatScreen(MainScreen):
    """Takes typing before the core is there and sends it once it is."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+up", "neighbour(-1)", "Session above", show=False, priority=True),
        Binding("ctrl+down", "neighbour(1)", "Session below", show=False, priority=True),
    ]

    def __init__(self, timing: Timing) -> None:
        super().__init__(timing)
        self.control: SessionControl | None = None
        self._unsent: list[str] = []
        self._requests: set[object] = set()

    def connect(self, control: SessionControl) -> None:
        """The core is there."""
        self.control = control
        unsent, self._unsent = self._unsent, []
        for text in unsent:
            self._send(control, text, control.place)

    def show_requests(self, cards: Sequence[Card]) -> None:
        """Set the pending requests. One that is new rings the bell when the user is looking elsewhere."""
        before, self._requests = self._requests, {card.id for card in cards}
        self.approvals.show(cards)
        self.show_title(self._title)
        for screen in self.app.screen_stack:
            if isinstance(screen, Peek):
                screen.show_requests()
        panel = self.app.screen
        if isinstance(panel, RequestPanel) and panel.card.id not in self._requests:
            panel.request_ended()
        if self._requests - before and not self.app.app_focus:
            self.app.bell()
        if len(before) != len(cards):
            self.app.title = f"({len(cards)}) cos" if cards else "cos"

    @on(Composer.Submitted)
    def _submitted(self, event: Composer.Submitted) -> None:
        if self.control is None:
            self._unsent.append(event.text)
            self.queue.show(self._unsent, "for the database")
        else:
            self._send(self.control, event.text, self.control.place)

    @work(group="send", exit_on_error=False)
    async def _send(self, control: SessionControl, text: str, place: Place) -> None:
        await control.sending.send(text, place)

    @on(SessionLines.Wanted)
    @work(group="sessions", exclusive=True, exit_on_error=False)
    async def _wanted_of_session(self, event: SessionLines.Wanted) -> None:
        if self.control is not None:
            await self.control.actions.do(event.action, event.session_id)

    @work(group="sessions", exclusive=True, exit_on_error=False)
    async def action_neighbour(self, step: int) -> None:
        if self.control is not None:
            await self.control.actions.go(step)

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

    @on(ApprovalsPane.Decided)
    @work(group="decide", exit_on_error=False)
    async def _decided(self, event: ApprovalsPane.Decided) -> None:
        if self.control is not None:
            for approval_id in event.approval_ids:
                await self.control.answering.decide(approval_id, event.decision)

    @on(ApprovalsPane.PanelWanted)
    @work(group="panel", exclusive=True, exit_on_error=False)
    async def _panel_wanted(self, event: ApprovalsPane.PanelWanted) -> None:
        if self.control is not None:
            await self.control.panels.open(event.panel, event.card, self.approvals)

    @on(MainScreen.StopWanted)
    def _stop_wanted(self) -> None:
        if self.control is not None:
            self.control.interrupt()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "stop" and (self.control is None or not self.control.is_running):
            return False
        return super().check_action(action, parameters)
