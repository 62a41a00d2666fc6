"""What the panes show: which session is open, what was sent, what happens. Widgets draw; this decides what."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from uuid import UUID

from cos.agent import events
from cos.agent.events import Usage
from cos.agent.records import ApprovalAnswer
from cos.core.inbound import Inbound
from cos.tui import wording
from cos.tui.conversation import Conversation
from cos.tui.history import entries_of
from cos.tui.live_events import apply_event
from cos.tui.transcript.entries import UserMessage as UserEntry
from cos.tui.welcome import welcome
from cos.tui.widgets.approvals_pane import Card
from cos.tui.widgets.status_line import Status

if TYPE_CHECKING:
    from cos.core.live import Live
    from cos.core.postgres.approvals import PendingApproval
    from cos.core.sessions import SessionRow
    from cos.tui.core_port import CorePort
    from cos.tui.screens.main import MainScreen

ANSWERED_BY = "tui"


class SessionControl:
    """Connects the core with the main screen."""

    def __init__(self, core: CorePort, screen: MainScreen) -> None:
        self._core = core
        self._screen = screen
        self._conversations: dict[UUID, Conversation] = {}
        self._rows: dict[UUID, SessionRow] = {}
        self._started: dict[UUID, events.TurnStarted] = {}
        self._usage = Usage()
        self.current: UUID | None = None
        """The open session; None = the next message begins one."""
        self.profile_id = core.profile.id
        """Of the open session, or of the next new one."""

    async def begin(self, session_id: UUID | None) -> None:
        """Fill the panes for the first time."""
        await self.refresh_sessions()
        await self.refresh_approvals()
        if session_id is not None:
            await self.open(session_id)
        else:
            self.new()

    def new(self, profile_id: str | None = None) -> None:
        """Begin a session with the next message."""
        self.profile_id = profile_id or self.profile_id
        self._leave()
        self.current = None
        self._usage = Usage()
        self._screen.conversation.set_entries(welcome(self._core, self.profile_id))
        self._screen.sessions.mark_current(None)
        self._draw_status()

    def next_profile(self) -> None:
        """Let the next new session use the profile after this one."""
        names = sorted(self._core.profiles)
        self.new(names[(names.index(self.profile_id) + 1) % len(names)])

    async def open(self, session_id: UUID) -> None:
        """Show a session: stored history first, then what is under way."""
        if session_id == self.current:
            return
        self._leave()
        self.current = session_id
        conversation = self._conversation(session_id)
        session = await self._core.sessions.get(session_id)
        self.profile_id = session.profile_id
        if not conversation.is_loaded:
            page = await self._core.sessions.transcript(session_id)
            oldest = page.messages[0].ordinal if page.has_older else None
            conversation.load(entries_of(page), oldest)
        self._usage = await self._core.sessions.usage(session_id)
        if self.current == session_id:
            conversation.show_in(self._screen.conversation)
            self._screen.sessions.mark_current(session_id)
            self._draw_status()

    async def load_older(self) -> None:
        """One more page of the open session's history."""
        conversation = self._conversations.get(self.current) if self.current else None
        if conversation is None or conversation.oldest_ordinal is None:
            self._screen.conversation.prepend([])
            return
        page = await self._core.sessions.transcript(conversation.session_id, before=conversation.oldest_ordinal)
        oldest = page.messages[0].ordinal if page.has_older else None
        conversation.load_older(entries_of(page), oldest)

    async def send(self, text: str) -> None:
        """Hand a message to the Dispatcher.

        Raises:
            CosError: it was not accepted.
        """
        inbound = Inbound(text=text, profile_id=self.profile_id, source="cli", session_id=self.current)
        was_new = self.current is None
        accepted = await self._core.dispatcher.dispatch(inbound)
        if accepted.session_id is None:
            self._screen.notify("A plugin dropped the message.", severity="warning", markup=False)
            return
        if was_new and self.current is None:
            await self.open(accepted.session_id)
        conversation = self._conversation(accepted.session_id)
        if accepted.handled:
            conversation.notice("info", accepted.reply or "A plugin took the message.")
        elif accepted.turn_id is None and not conversation.has(f"msg:{accepted.message_id}"):
            key = f"msg:{accepted.message_id}"
            conversation.add(UserEntry(key=key, text=text, label="you · waits for its turn"))
        await self.refresh_sessions()

    def interrupt(self) -> bool:
        """Stop the open session's turn; whether there was one."""
        return self.current is not None and self._core.dispatcher.cancel(self.current)

    async def decide(self, approval_id: UUID, decision: str) -> None:
        """Answer a request; say so when somebody else was first."""
        allowed = decision == "allowed"
        answer = ApprovalAnswer(decision="allowed" if allowed else "denied", answered_by=ANSWERED_BY)
        counted = await self._core.desk.answer(approval_id, answer)
        if counted != answer:
            who = f" by {counted.answered_by}" if counted.answered_by else ""
            self._screen.notify(f"Already answered: {counted.decision}{who}.", severity="warning", markup=False)
        await self.refresh_approvals()

    async def take(self, live: Live) -> None:
        """Show one event of the live feed."""
        event = live.event
        if event.type == "resync":
            await self._resync()
            return
        if isinstance(event, events.TurnEvent):
            self._turn_event(event)
        if event.type in _CHANGES_LIST:
            await self.refresh_sessions()
        if event.type in _CHANGES_APPROVALS:
            await self.refresh_approvals()

    def tick(self) -> None:
        """Once a second: what counts time."""
        self._screen.sessions.tick()
        self._screen.approvals.tick()
        started = self._started.get(self.current) if self.current else None
        if started is not None:
            began = started.started_at.astimezone().strftime("%Y-%m-%d %H:%M")
            running = wording.duration(wording.now() - started.started_at)
            conversation = self._conversation(started.turn.session_id)
            conversation.header(started.turn.turn_id, f"{began} · running for {running}")

    async def refresh_sessions(self) -> None:
        rows = await self._core.sessions.page()
        self._rows = {row.id: row for row in rows}
        self._screen.sessions.show(rows)
        self._draw_title()

    async def refresh_approvals(self) -> None:
        self._screen.approvals.show([_card(pending) for pending in await self._core.desk.pending()])
        self._draw_title()

    def _turn_event(self, event: events.TurnEvent) -> None:
        session_id = event.turn.session_id
        if isinstance(event, events.TurnStarted):
            self._started[session_id] = event
        elif isinstance(event, events.TurnCompleted):
            self._started.pop(session_id, None)
        apply_event(self._conversation(session_id), event)  # type: ignore[arg-type]  # every TurnEvent is an AgentEvent
        if session_id == self.current and isinstance(event, events.ContextUpdated):
            self._usage += event.usage
            self._draw_status(event)

    def _conversation(self, session_id: UUID) -> Conversation:
        return self._conversations.setdefault(session_id, Conversation(session_id))

    def _leave(self) -> None:
        if self.current is not None:
            self._conversation(self.current).hide()

    async def _resync(self) -> None:
        current, self.current = self.current, None
        self._conversations.clear()
        await self.begin(current)

    def _draw_title(self) -> None:
        row = self._rows.get(self.current) if self.current else None
        title = row.title if row and row.title else "New session"
        tags = " ".join(f"#{tag}" for tag in row.tags) if row else ""
        self._screen.set_title(wording.one_line(f"{title}  {tags}"), self._screen.approvals.count)

    def _draw_status(self, updated: events.ContextUpdated | None = None) -> None:
        profile = self._core.profiles[self.profile_id]
        line = self._screen.status_line
        status = Status(
            profile=self.profile_id,
            tags=tuple(profile.settings.tags),
            model=profile.settings.model or profile.settings.provider,
            used=wording.usage(self._usage) if self._usage != Usage() else "",
            note="",
        )
        if updated is not None:
            used, window = updated.usage.prompt_tokens, updated.context_window
            status = replace(status, context_tokens=used, context_window=window)
        line.status = status
        self._draw_title()


_CHANGES_LIST = frozenset(
    {"session.created", "session.updated", "turn.started", "turn.completed", "approval.requested",
     "approval.resolved", "queue.changed"}
)  # fmt: skip
_CHANGES_APPROVALS = frozenset({"approval.requested", "approval.resolved", "turn.completed"})


def _card(pending: PendingApproval) -> Card:
    return Card(
        id=pending.id,
        session_id=pending.session_id,
        session_title=pending.session_title or "untitled",
        profile_id=pending.profile_id,
        tool=pending.tool,
        detail=pending.detail or pending.title,
        reason=pending.reason,
        risk=pending.risk,
        cwd=pending.cwd,
        requested_at=pending.requested_at,
        expires_at=pending.expires_at,
    )
