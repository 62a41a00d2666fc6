"""The main screen at work: what the user does in a pane goes to the session control, each kind in its own worker."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.binding import Binding, BindingType

from cos.tui.screens.main import MainScreen
from cos.tui.screens.peek import Peek
from cos.tui.screens.request_panel import RequestPanel
from cos.tui.screens.wishes import WishingScreen
from cos.tui.widgets.composer import Composer
from cos.tui.widgets.conversation_pane import ConversationPane
from cos.tui.widgets.queue_strip import QueueStrip, Waiting
from cos.tui.widgets.writing import Writing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cos.tui.completion import Completions
    from cos.tui.outgoing import Outgoing
    from cos.tui.places import Place
    from cos.tui.preferences import Preferences
    from cos.tui.screens.first import FirstScreen
    from cos.tui.session_control import SessionControl
    from cos.tui.timing import Timing
    from cos.tui.widgets.approval_card import Card


class ChatScreen(WishingScreen):
    """Takes typing before the core is there and sends it once it is."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f5", "focus_queue", "Queue", show=False),
        Binding("f8", "find_sessions", "Find", show=False),
        # Text boxes take these for themselves.
        Binding("ctrl+f", "search", "Search", priority=True, show=False),
        Binding("ctrl+up", "neighbour(-1)", "Session above", show=False, priority=True),
        Binding("ctrl+down", "neighbour(1)", "Session below", show=False, priority=True),
    ]
    """
    | Key | |
    | :- | :- |
    | f5 | The messages that wait for their turn. |
    | f8 | Search in all conversations. |
    | ctrl+f | Search in the conversation. |
    | ctrl+up, ctrl+down | Open the session above or below, as the list has them. |
    """

    def __init__(self, timing: Timing, preferences: Preferences) -> None:
        super().__init__(timing, preferences)
        self._unsent: list[Outgoing] = []
        self._requests: set[object] = set()

    @property
    def writing(self) -> Writing:
        return self.query_one(Writing)

    def action_focus_queue(self) -> None:
        if self.queue.can_change:
            self.close_panes()
            self.queue.choose_last()

    def take_over(self, first: FirstScreen) -> None:
        """Go on with what was written and sent while this screen was being built."""
        self.composer.go_on_from(first.composer)
        self.status_line.status = first.status_line.status
        for outgoing in first.sent:
            self.send(outgoing)

    def connect(self, control: SessionControl, completions: Completions) -> None:
        """The core is there."""
        self.control = control
        self.writing.connect(control.prompts, completions)
        self._keep_drafts(control)
        self._keep_cost(control)
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
        self.send(event.outgoing)

    def send(self, outgoing: Outgoing) -> None:
        """Send a message, or run a slash command, where the user is; what comes of it is to be seen."""
        self.conversation.follow()
        if self.control is None:
            self._unsent.append(outgoing)
            self.queue.show([Waiting(text=unsent.text) for unsent in self._unsent], "for the database")
        else:
            self._send(self.control, outgoing, self.control.place)

    def not_stored(self) -> list[str]:
        """What would be lost without a database: what was sent and is not stored, and what is written."""
        sent = [outgoing.text for outgoing in self._unsent] if self.control is None else self.control.unsent.texts
        return [*sent, *filter(None, [self.composer.full_text])]

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

    @work(group="cost", exit_on_error=False)
    async def _keep_cost(self, control: SessionControl) -> None:
        await control.cost.run()

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
