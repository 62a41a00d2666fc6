"""The main screen at work: what the user does in a pane goes to the session control, each kind in its own worker."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.binding import Binding, BindingType

from cos.tui.screens.main import MainScreen
from cos.tui.screens.request_panel import RequestPanel
from cos.tui.transcript.paged import PagedView
from cos.tui.widgets.approvals_pane import ApprovalsPane
from cos.tui.widgets.composer import Composer
from cos.tui.widgets.conversation_pane import ConversationPane
from cos.tui.widgets.queue_strip import QueueStrip, Waiting
from cos.tui.widgets.sessions_pane import SessionsPane
from cos.tui.widgets.writing import Writing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cos.tui.completion import Completions
    from cos.tui.outgoing import Outgoing
    from cos.tui.places import Place
    from cos.tui.preferences import Preferences
    from cos.tui.screens.main import Timing
    from cos.tui.session_control import SessionControl
    from cos.tui.widgets.approval_card import Card


class ChatScreen(MainScreen):
    """Takes typing before the core is there and sends it once it is."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f5", "focus_queue", "Queue", show=False),
        # Text boxes take it for themselves.
        Binding("ctrl+f", "search", "Search", priority=True, show=False),
    ]
    """
    | Key | |
    | :- | :- |
    | f5 | The messages that wait for their turn. |
    | ctrl+f | Search in the conversation. |
    """

    def __init__(self, timing: Timing, preferences: Preferences) -> None:
        super().__init__(timing, preferences)
        self.control: SessionControl | None = None
        self._unsent: list[Outgoing] = []
        self._requests: set[object] = set()

    @property
    def writing(self) -> Writing:
        return self.query_one(Writing)

    def action_focus_queue(self) -> None:
        if self.queue.can_change:
            self.close_panes()
            self.queue.choose_last()

    def connect(self, control: SessionControl, completions: Completions) -> None:
        """The core is there."""
        self.control = control
        self.writing.connect(control.prompts, completions)
        self._keep_drafts(control)
        control.drafts.touch()
        self.query_one(ConversationPane).search.stored = control.stored_matches
        unsent, self._unsent = self._unsent, []
        for outgoing in unsent:
            self._send(control, outgoing, control.place)

    def show_requests(self, cards: Sequence[Card]) -> None:
        """Set the pending requests. One that is new rings the bell when the user is looking elsewhere."""
        before, self._requests = self._requests, {card.id for card in cards}
        self.approvals.show(cards)
        self.show_title(self._title)
        panel = self.app.screen
        if isinstance(panel, RequestPanel) and panel.card.id not in self._requests:
            panel.request_ended()
        if self._requests - before and not self.app.app_focus:
            self.app.bell()
        if len(before) != len(cards):
            self.app.title = f"({len(cards)}) cos" if cards else "cos"

    @on(Composer.Submitted)
    def _submitted(self, event: Composer.Submitted) -> None:
        self.send(event.outgoing)

    def send(self, outgoing: Outgoing) -> None:
        """Send a message, or run a slash command, where the user is."""
        if self.control is None:
            self._unsent.append(outgoing)
            self.queue.show([Waiting(text=unsent.text) for unsent in self._unsent], "for the database")
        else:
            self._send(self.control, outgoing, self.control.place)

    @work(group="send", exit_on_error=False)
    async def _send(self, control: SessionControl, outgoing: Outgoing, place: Place) -> None:
        if outgoing.replaces is not None:
            await control.queue.replace(outgoing, place)
        else:
            await control.sending.send(outgoing, place)

    @on(QueueStrip.Change)
    @work(group="queue", exit_on_error=False)
    async def _change_queue(self, event: QueueStrip.Change) -> None:
        if self.control is not None:
            await self.control.queue.change(event)

    @on(Writing.Touched)
    def _written(self) -> None:
        if self.control is not None:
            self.control.drafts.touch()

    @work(group="drafts", exit_on_error=False)
    async def _keep_drafts(self, control: SessionControl) -> None:
        await control.drafts.run()

    @on(SessionsPane.Chosen)
    @work(group="open", exclusive=True, exit_on_error=False)
    async def _chosen(self, event: SessionsPane.Chosen) -> None:
        if self.control is not None:
            self.close_panes()
            await self.control.open(event.session_id)

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

    @on(ApprovalsPane.Answered)
    @work(group="decide", exit_on_error=False)
    async def _answered(self, event: ApprovalsPane.Answered) -> None:
        if self.control is not None:
            await self.control.answering.reply(event.approval_id, event.answer)

    @on(ApprovalsPane.PanelWanted)
    @work(group="panel", exclusive=True, exit_on_error=False)
    async def _panel_wanted(self, event: ApprovalsPane.PanelWanted) -> None:
        if self.control is not None:
            await self.control.panels.open(event.panel, event.card)

    @on(MainScreen.StopWanted)
    def _stop_wanted(self) -> None:
        if self.control is not None:
            self.control.interrupt()

    def action_search(self) -> None:
        self.close_panes()
        self.query_one(ConversationPane).action_search()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "stop" and (self.control is None or not self.control.is_running):
            return False
        return super().check_action(action, parameters)
