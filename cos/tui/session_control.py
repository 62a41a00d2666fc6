"""What the panes show: which session is open, what was sent, what happens. Widgets draw; this decides what."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from cos.agent.errors import CosError
from cos.agent.events import TurnCompleted
from cos.core.live import PluginEvent, Resync, SessionEvent, SessionTouched, session_of
from cos.tui.answering import Answering
from cos.tui.conversations import Conversations
from cos.tui.drafts import DraftKeeper
from cos.tui.headline import status_of, title_of
from cos.tui.history import entries_of
from cos.tui.panels import Panels
from cos.tui.places import Place, Places
from cos.tui.queue_control import QueueControl
from cos.tui.sending import Sending
from cos.tui.stored_matches import StoredMatches
from cos.tui.tally import Tally
from cos.tui.welcome import welcome
from cos.tui.widgets.queue_strip import Waiting

if TYPE_CHECKING:
    from cos.core.live import Live
    from cos.core.sessions import SessionRow
    from cos.tui.core_port import CorePort
    from cos.tui.screens.chat import ChatScreen

MOST_SESSIONS = 500


class SessionControl:
    """Connects the core with the main screen."""

    def __init__(self, core: CorePort, screen: ChatScreen) -> None:
        self._core = core
        self._screen = screen
        self.prompts = core.prompts
        self._conversations = Conversations()
        self._tally = Tally(core.sessions)
        self._places = Places(core.profile.id)
        self._rows: dict[UUID, SessionRow] = {}
        self._stopping: set[UUID] = set()
        self._trouble = ""
        self._shown_running = False
        self._has_arrived = False
        self.drafts = DraftKeeper(core.drafts, lambda: (self.place, screen.composer.draft), self._draw)
        self.answering = Answering(core.desk, screen)
        self.stored_matches = StoredMatches(
            core.session_text, core.sessions, lambda: self._conversations.of(self.current) if self.current else None
        )
        self.panels = Panels(screen, self.answering, core.profiles)
        self.sending = Sending(core.dispatcher, screen, self._conversations, self._places, self.drafts, self)
        self.queue = QueueControl(core.queue, screen, self.sending)

    @property
    def current(self) -> UUID | None:
        """The open session; None = the next message begins one."""
        return self._places.open.session_id

    @property
    def place(self) -> Place:
        """Where a message that is sent now belongs."""
        return self._places.open

    @property
    def is_running(self) -> bool:
        """A turn of the open session runs here."""
        return self.current is not None and self._conversations.is_running(self.current)

    async def begin(self, session_id: UUID | None) -> None:
        """Fill the panes for the first time.

        Raises:
            CosError: the database does not answer, or there is no such session.
        """
        await self.refresh()
        await self.answering.refresh()
        self._places.fill(await self.drafts.read_new())
        if session_id is not None:
            await self.open(session_id)
        else:
            self.new()

    def new(self, profile_id: str | None = None) -> None:
        """Begin a session with the next message."""
        left = self._leave()
        place = self._places.go_new(profile_id or self.place.profile_id)
        self._arrive(place, left)
        self._screen.conversation.set_entries(welcome(self._core, place.profile_id))

    def next_profile(self) -> None:
        """Let the next new session use the profile after this one."""
        names = sorted(self._core.profiles)
        self.new(names[(names.index(self.place.profile_id) + 1) % len(names)])

    async def open(self, session_id: UUID) -> None:
        """Show a session: stored history first, then what is under way.

        Raises:
            CosError: it cannot be read; what was open stays open.
        """
        if session_id == self.current:
            return
        session = await self._core.sessions.get(session_id)
        await self.load(session_id)
        place = self._places.of(session_id, session.profile_id)
        if not place.is_read:
            place.draft = await self.drafts.read(place.profile_id, session_id)
            place.is_read = True
        left = self._leave()
        self._arrive(self._places.go_to(place), left)
        self._conversations.of(session_id).show_in(self._screen.conversation)
        await self._refresh_queue()

    async def load_older(self) -> None:
        """One more page of the open session's history."""
        conversation = self._conversations.of(self.current) if self.current else None
        if conversation is None or conversation.oldest_ordinal is None:
            self._screen.conversation.prepend([])
            return
        page = await self._core.sessions.transcript(conversation.session_id, before=conversation.oldest_ordinal)
        conversation.load_older(entries_of(page), page.messages[0].ordinal if page.has_older else None)

    def interrupt(self) -> None:
        """Stop the open session's turn, and no other."""
        if self.current is not None and self._core.dispatcher.cancel(self.current):
            self._stopping.add(self.current)
            self._draw()

    async def take(self, live: Live) -> None:
        """Show one event of the live feed. A database that does not answer is said in the status line."""
        event = live.event
        try:
            if isinstance(event, Resync):
                await self._resync()
                return
            note = self._conversations.retry_note(session_of(event))
            if not isinstance(event, SessionEvent | PluginEvent):
                self._conversations.take(event)
                if isinstance(event, TurnCompleted):
                    self._stopping.discard(event.turn.session_id)
                await self._tally.take(event)
            elif isinstance(event, SessionTouched) and self._core.dispatcher.running(event.session_id) is None:
                # Another process works there: show what it has stored.
                self._conversations.forget(event.session_id)
                self._tally.forget_context(event.session_id)
                if event.session_id == self.current:
                    await self.load(event.session_id)
                    self._conversations.of(event.session_id).show_in(self._screen.conversation)
            if event.type in _CHANGES_LIST:
                await self.refresh()
            if event.type in _CHANGES_APPROVALS:
                await self.answering.refresh()
            if session_of(event) == self.current and (note or event.type in _CHANGES_STATUS):
                self._draw()
            self._trouble = ""
        except CosError as error:
            self._trouble = str(error)
            self._draw()

    def tick(self) -> None:
        """Once a second: what counts time."""
        self._screen.sessions.tick()
        self._screen.approvals.draw()
        if self.current is not None:
            self._conversations.tick(self.current)
            if self._conversations.retry_note(self.current):
                self._draw()

    def why_not_quit(self) -> str | None:
        """What would be lost by leaving now, as a sentence; None when nothing would."""
        waiting = self._screen.approvals.count
        if waiting:
            return f"{waiting} request{'s wait' if waiting > 1 else ' waits'} for you (F4). Ctrl+C twice quits anyway."
        running = sum(self._core.dispatcher.running(session_id) is not None for session_id in self._rows)
        if running:
            return f"{running} turn{'s run' if running > 1 else ' runs'}. Ctrl+C twice stops and quits."
        return None

    async def load(self, session_id: UUID) -> None:
        conversation = self._conversations.of(session_id)
        if not conversation.is_loaded:
            page = await self._core.sessions.transcript(session_id)
            conversation.load(entries_of(page), page.messages[0].ordinal if page.has_older else None)
            self._conversations.begin(session_id, page.turns.values())
            await self._tally.read(session_id)

    def _leave(self) -> Place:
        if self._has_arrived:
            self.place.draft = self._screen.composer.draft
        if self.current is not None:
            self._conversations.of(self.current).hide()
        return self.place

    def _arrive(self, place: Place, left: Place) -> None:
        if left is not place:
            self.drafts.put(left, left.draft)
        # What was typed before anything could be read comes after what was there.
        early = "" if self._has_arrived else self._screen.composer.draft
        self._has_arrived = True
        self._screen.composer.begin("\n".join(text for text in (place.draft, early) if text))
        self._screen.writing.at(place.profile_id, self._core.profiles[place.profile_id].workspace)
        self._screen.queue.show([], "")
        self._draw()

    async def _resync(self) -> None:
        """Events were missed: read again what is on screen, whatever place that is."""
        self._conversations.forget()
        await self.refresh()
        await self.answering.refresh()
        if self.current is not None:
            await self.load(self.current)
            self._conversations.of(self.current).show_in(self._screen.conversation)
        self._draw()

    async def refresh(self) -> None:
        rows = await self._core.sessions.page(limit=MOST_SESSIONS)
        self._rows = {row.id: row for row in rows}
        self._screen.sessions.show(rows)
        await self._refresh_queue()
        self._draw()

    async def _refresh_queue(self) -> None:
        row = self._rows.get(self.current) if self.current else None
        if row is None or not row.queued:
            self._screen.queue.show([], "")
            return
        waiting = await self._core.sessions.queue(row.id)
        is_next = row.turn_status == "running" and not row.queue_paused
        why = "for the running turn to end" if is_next else "paused until your next message"
        if row.id == self.current:
            rows = [Waiting(id=message.id, text=message.text, mode=message.mode) for message in waiting]
            self._screen.queue.show(rows, why)

    def _draw(self) -> None:
        place, screen = self.place, self._screen
        current = place.session_id
        row = self._rows.get(current) if current else None
        stopping = "stopping …" if current in self._stopping else ""
        retry = self._conversations.retry_note(current) if current else ""
        note = self._trouble or self.drafts.trouble or stopping or retry
        screen.sessions.mark_current(current)
        screen.show_title(title_of(row))
        screen.status_line.status = status_of(
            self._core.profiles[place.profile_id],
            row,
            self._tally.usage(current),
            self._tally.newest_call(current),
            note,
            is_db_up=not self._trouble,
        )
        screen.usage.show(self._tally.usage(current), self._tally.total())
        if self._shown_running != self.is_running:
            # Only then: the footer is built anew each time.
            self._shown_running = screen.composer.turn_runs = self.is_running
            screen.refresh_bindings()


_CHANGES_LIST = frozenset(
    {"session.created", "session.updated", "turn.started", "turn.completed", "approval.requested",
     "approval.resolved", "queue.changed", "session.touched", "session.deleted"}
)  # fmt: skip
_CHANGES_APPROVALS = frozenset(
    {"approval.requested", "approval.resolved", "turn.completed", "session.touched", "session.deleted"}
)
_CHANGES_STATUS = frozenset({"turn.started", "turn.completed", "context.updated", "retry.scheduled"})
