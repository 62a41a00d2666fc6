"""Takes the live feed into what the app knows of its sessions; one small method per family of events."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from cos.agent.errors import CosError
from cos.agent.events import TurnCompleted, TurnStarted
from cos.core.live import (
    PluginEvent,
    ReplyGrew,
    Resync,
    SessionDeleted,
    SessionEvent,
    SessionRewound,
    SessionTouched,
    session_of,
)

if TYPE_CHECKING:
    from cos.agent.events import AgentEvent
    from cos.core.dispatcher import Dispatcher
    from cos.core.live import CoreEvent, Live
    from cos.tui.conversations import Conversations
    from cos.tui.session_control import SessionControl
    from cos.tui.tally import Tally


class FeedReader:
    """Reads for one screen."""

    def __init__(
        self, control: SessionControl, conversations: Conversations, tally: Tally, dispatcher: Dispatcher
    ) -> None:
        self._control = control
        self._conversations = conversations
        self._tally = tally
        self._dispatcher = dispatcher
        self.stopping: set[UUID] = set()
        """Sessions whose turn the user has stopped and that have not rested yet."""

    async def take(self, live: Live) -> None:
        """Show one event. A database that does not answer is said in the status line."""
        event, control = live.event, self._control
        try:
            if isinstance(event, Resync):
                await control.catching_up.missed_events(of_others=event.of_others)
                return
            session_id = session_of(event)
            waited = bool(self._conversations.retry_note(session_id))
            await self._learn(event)
            control.monitor.take(event)
            if isinstance(event, SessionTouched):
                await control.answering.refresh_now_and_then()
            elif event.type in _CHANGES_APPROVALS:
                await control.answering.refresh()
            if session_id == control.current and (waited or event.type in _CHANGES_STATUS):
                control.draw()
            control.trouble = ""
        except CosError as error:
            control.say_trouble(str(error))

    async def _learn(self, event: CoreEvent) -> None:
        if isinstance(event, SessionEvent):
            await self._of_session(event)
            return
        if isinstance(event, PluginEvent):
            self._control.cost.take(event)
            await self._control.turn_costs.take(event)
            await self._of_child(event)
            return
        self._conversations.take(event)
        await self._of_child(event)
        if isinstance(event, TurnCompleted):
            self.stopping.discard(event.turn.session_id)
            await self._control.seeing.see(event.turn.session_id)
            await self._shrink(event.turn.session_id)
        await self._tally.take(event)

    async def _shrink(self, session_id: UUID) -> None:
        """Hold no more of a long conversation than opening it would read."""
        control = self._control
        is_alone = session_id == control.current != control.peeking.session_id
        if is_alone and self._conversations.of(session_id).is_outgrown:
            self._conversations.forget(session_id)
            await control.show_open()

    async def _of_child(self, event: AgentEvent | PluginEvent) -> None:
        """Show what a child agent does at the call that began it, and its session below the one it works for."""
        children = self._control.children
        delegated = children.take(event)
        if delegated is None:
            return
        self._conversations.of(delegated.session_id).change(delegated.key, children=delegated.lines)
        self._control.screen.sessions.lines.draw_again([event.turn.session_id])
        if isinstance(event, TurnStarted) and len(delegated.children) == 1:
            await self._control.monitor.read(delegated.session_id)
            await self._control.monitor.expand(delegated.session_id)

    async def _of_session(self, event: SessionEvent) -> None:
        control, session_id = self._control, event.session_id
        if isinstance(event, SessionRewound):
            self._conversations.rewind(session_id, event.turn_ids)
            self._tally.forget_context(session_id)
        elif isinstance(event, SessionDeleted):
            self._conversations.forget(session_id)
            if session_id == control.current:
                # What is being written goes along into the next one.
                written = control.screen.composer.draft
                control.new(event.profile_id)
                control.screen.composer.put_back(written)
                control.screen.notify("The open session was deleted.", severity="warning", markup=False)
            control.unsent.move_refused(session_id, control.place)
        elif isinstance(event, SessionTouched | ReplyGrew) and self._dispatcher.running(session_id) is None:
            await self._of_elsewhere(event)

    async def _of_elsewhere(self, event: SessionTouched | ReplyGrew) -> None:
        """Another process works there: show what it has stored."""
        control, session_id = self._control, event.session_id
        if isinstance(event, ReplyGrew):
            if self._conversations.of(session_id).is_shown:
                await control.elsewhere.read_reply(session_id)
            return
        await control.elsewhere.read_again(session_id)
        if session_id in self.stopping and not self._conversations.is_running(session_id):
            self.stopping.discard(session_id)
        if session_id == control.current:
            control.draw()


_CHANGES_APPROVALS = frozenset({"approval.requested", "approval.resolved", "turn.completed", "session.deleted"})
_CHANGES_STATUS = frozenset({"turn.started", "turn.completed", "context.updated", "retry.scheduled", "session.rewound"})
