"""What the panes show: which session is open, what was sent, what happens. Widgets draw; this decides what."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import UUID

from cos.agent.errors import CosError
from cos.tui.answering import Answering
from cos.tui.catching_up import CatchingUp
from cos.tui.child_agents import ChildAgents
from cos.tui.conversations import Conversations
from cos.tui.cost_keeper import CostKeeper
from cos.tui.delivery import Delivery
from cos.tui.drafts import DraftKeeper
from cos.tui.elsewhere import Elsewhere
from cos.tui.feed_reader import FeedReader
from cos.tui.finding import Finding
from cos.tui.headline import status_of, title_of
from cos.tui.history import entries_of
from cos.tui.panels import Panels
from cos.tui.peeking import Peeking
from cos.tui.places import Place, Places
from cos.tui.queue_control import QueueControl, waits_for
from cos.tui.seeing import Seeing
from cos.tui.sending import Sending
from cos.tui.session_actions import SessionActions
from cos.tui.session_monitor import SessionMonitor
from cos.tui.session_words import implied_tags
from cos.tui.stored_matches import StoredMatches
from cos.tui.tally import Tally
from cos.tui.turn_actions import TurnActions
from cos.tui.turn_costs import TurnCosts
from cos.tui.unsent import UnsentMessages
from cos.tui.welcome import welcome
from cos.tui.widgets.composer import QUESTION_HINT

if TYPE_CHECKING:
    from collections.abc import Collection

    from textual.worker import Worker

    from cos.tui.core_port import CorePort
    from cos.tui.screens.chat import ChatScreen


class SessionControl:
    """Connects the core with the main screen."""

    def __init__(self, core: CorePort, screen: ChatScreen) -> None:
        self.screen = screen
        self._core = core
        self._screen = screen
        bill = core.plugins.offered("bill")
        self.prompts = core.prompts
        self._conversations = Conversations()
        self._tally = Tally(core.sessions)
        self._places = Places(core.profile.id)
        self.trouble = ""
        """Why something could not be read, as a sentence."""
        self._hinted = (False, False)
        self._has_arrived = False
        self.unsent = UnsentMessages(lambda: self.queue.draw())
        self.drafts = DraftKeeper(
            core.drafts,
            lambda: (self.place, screen.composer.draft),
            self.draw,
            lambda place: [message.outgoing.draft for message in self.unsent.of(place)],
        )
        self.answering = Answering(core.desk, screen)
        self.stored_matches = StoredMatches(
            core.session_text, core.sessions, lambda: self._conversations.of(self.current) if self.current else None
        )
        self.finding = Finding(self, core.session_search, core.profiles)
        self.panels = Panels(screen, self.answering, core.profiles)
        delivery = Delivery(core.dispatcher, core.pulse, self.unsent, screen)
        self.sending = Sending(delivery, screen, self._conversations, self._places, self.drafts, self)
        self.queue = QueueControl(core.queue, screen, self.sending, self.unsent, lambda: self.place)
        self.children = ChildAgents()
        screen.sessions.lines.child_tokens = self.children.tokens
        screen.sessions.lines.implied_tags = lambda row: implied_tags(
            row, self.monitor.row(row.parent_session_id), core.profiles.get(row.profile_id)
        )
        self.monitor = SessionMonitor(
            core.session_list, screen, core.profiles, bill, changed=self._refresh_queue, trouble=self.say_trouble
        )
        self.seeing = Seeing(core.edits, self.monitor, screen, lambda: {self.current, self.peeking.session_id})
        self.peeking = Peeking(self, self._conversations, self._places, core.dispatcher.commands)
        self.catching_up = CatchingUp(self, self._conversations, core.pulse)
        self.actions = SessionActions(self, core.edits)
        self.turns = TurnActions(self, core.edits, core.dispatcher)
        self.cost = CostKeeper(bill, lambda: self.current, self.draw)
        self.turn_costs = TurnCosts(bill, self._conversations)
        self.elsewhere = Elsewhere(core.sessions, self._conversations, self._tally, self.turn_costs)
        self.feed = FeedReader(self, self._conversations, self._tally, core.dispatcher)

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
        """A turn of the open session runs, in this process or another."""
        return self.current is not None and self._conversations.is_running(self.current)

    async def begin(self, session_id: UUID | None) -> None:
        """Fill the panes for the first time.

        Raises:
            CosError: the database does not answer, or there is no such session.
        """
        self.seeing.watch_window()
        await self.monitor.reload()
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

    async def open(self, session_id: UUID, *, in_passing: bool = False) -> None:
        """Show a session: stored history first, then what is under way. `in_passing`: it is seen only if it stays.

        Raises:
            CosError: it cannot be read; what was open stays open.
        """
        if session_id == self.current:
            return
        session = await self._core.sessions.get(session_id)
        await self.monitor.read(session_id)
        await self.load(session_id)
        place = self._places.of(session_id, session.profile_id)
        if not place.is_read:
            place.draft = await self.drafts.read(place.profile_id, session_id)
            place.is_read = True
        left = self._leave()
        self._arrive(self._places.go_to(place), left)
        self._conversations.of(session_id).show_in(self._screen.conversation)
        self._conversations.forget_unused()
        await self._refresh_queue({session_id})
        if in_passing:
            self.seeing.see_if_it_stays(session_id)
        else:
            await self.seeing.see(session_id)

    async def load_older(self, session_id: UUID | None = None) -> None:
        """One more page of a session's history (None = of the open one)."""
        session_id = session_id or self.current
        conversation = self._conversations.of(session_id) if session_id else None
        if conversation is None or conversation.oldest_ordinal is None:
            self._screen.conversation.prepend([])
            return
        page = await self._core.sessions.transcript(conversation.session_id, before=conversation.oldest_ordinal)
        conversation.load_older(entries_of(page), page.messages[0].ordinal if page.has_older else None)
        await self.turn_costs.read_page(conversation.session_id, page)

    def interrupt(self) -> None:
        """Stop the open session's turn, whichever process runs it, and no other."""
        if self.current is None:
            return
        turn_id = self._conversations.running_turn(self.current)
        if self._core.dispatcher.cancel(self.current):
            self.feed.stopping.add(self.current)
            self.draw()
        elif turn_id is not None:
            stopping = self._stop_elsewhere(self.current, turn_id)
            _: Worker[None] = self._screen.app.run_worker(stopping, group="feed", exit_on_error=False)

    async def _stop_elsewhere(self, session_id: UUID, turn_id: UUID) -> None:
        try:
            if await self._core.dispatcher.stop(session_id, turn_id):
                self.feed.stopping.add(session_id)
        except CosError as error:
            self.say_trouble(str(error))
        self.draw()

    def tick(self) -> None:
        """Once a second: what counts time."""
        self._screen.sessions.lines.tick()
        if self._screen.approvals.count:
            self._screen.approvals.draw()
        for session_id in {self.current, self.peeking.session_id}:
            if session_id is not None:
                self._conversations.tick(session_id)
        if self.current is not None and self._conversations.retry_note(self.current):
            self.draw()

    def why_not_quit(self, keys: str) -> str | None:
        """What would be lost by leaving now, and that `keys` (`Ctrl+C twice`) do; None when nothing would."""
        waiting = self._screen.approvals.count
        if waiting:
            return f"{waiting} request{'s wait' if waiting > 1 else ' waits'} for you (F4). {keys} quits anyway."
        unsent = len(self.unsent.texts)
        if unsent:
            return f"{unsent} message{'s are' if unsent > 1 else ' is'} not stored. {keys} quits anyway."
        running = self._conversations.running
        if running:
            return f"{running} turn{'s run' if running > 1 else ' runs'}. {keys} stops and quits."
        return None

    async def load(self, session_id: UUID) -> None:
        """Have the newest page of a session's history, once more when it was forgotten while it was read."""
        while not (conversation := self._conversations.of(session_id)).is_loaded:
            page = await self._core.sessions.transcript(session_id)
            conversation.load(entries_of(page), page.messages[0].ordinal if page.has_older else None)
            self._conversations.begin(session_id, page.turns.values())
            if self._core.dispatcher.running(session_id) is None:
                await self.elsewhere.read_reply(session_id)
            await self.turn_costs.read_page(session_id, page)
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
        self._screen.composer.begin(place.draft, early)
        self._screen.writing.at(place.profile_id, self._core.profiles[place.profile_id].workspace)
        self.queue.show([], "")
        self.cost.moved()
        self.draw()

    async def show_open(self) -> None:
        """Read the open session again, when what is known of it was forgotten, and show it."""
        if self.current is not None:
            await self.load(self.current)
            self._conversations.of(self.current).show_in(self._screen.conversation)

    async def refresh(self) -> None:
        """Read the open session's row again."""
        await self.monitor.read(self.current)

    def say_trouble(self, sentence: str) -> None:
        self.trouble = sentence
        self.draw()

    async def _refresh_queue(self, session_ids: Collection[UUID]) -> None:
        """The rows of these sessions changed: draw what depends on the open one's."""
        if self.current not in session_ids:
            return
        row = self.monitor.row(self.current)
        waiting = await self._core.sessions.queue(row.id) if row is not None and row.queued else []
        if row is not None and row.id == self.current:
            is_next = row.is_running and not row.queue_paused
            why = waits_for(waiting) if is_next else "paused until your next message"
            if row.parent_session_id is not None and not row.is_running:
                why = "the child agent has ended"
            self.queue.show(waiting, why, is_running=row.is_running)
        self.draw()

    def draw(self) -> None:
        place, screen = self.place, self._screen
        current = place.session_id
        row = self.monitor.row(current)
        stopping = "stopping …" if current in self.feed.stopping else ""
        retry = self._conversations.retry_note(current) if current else ""
        trouble = self.catching_up.trouble or self.trouble
        note = trouble or self.drafts.trouble or stopping or retry
        screen.sessions.mark_open(current)
        screen.show_title(title_of(row, place.tags))
        screen.status_line.status = status_of(
            self._core.profiles[place.profile_id],
            row,
            self._tally,
            note,
            next_tags=place.tags,
            cost=self.cost.today,
            is_db_up=not trouble,
        )
        screen.cost.show(self.cost.shown(self._tally.usage(current)))
        asks = row is not None and bool(row.waiting) and row.waiting_kind != "tool_call"
        screen.composer.border_subtitle = QUESTION_HINT if asks else ""
        is_child = row is not None and row.parent_session_id is not None
        if self._hinted != (self.is_running, is_child):
            # Only then: the footer is built anew each time.
            self._hinted = (self.is_running, is_child)
            screen.composer.turn_runs, screen.composer.is_of_child = self._hinted
            screen.refresh_bindings()
