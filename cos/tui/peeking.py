"""Opens the look at a session that is not open, and connects it with what the app knows of that session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cos.core.commands import parse_command
from cos.tui import wording
from cos.tui.headline import title_of
from cos.tui.outgoing import Outgoing
from cos.tui.screens.peek import Peek
from cos.tui.session_words import state_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from uuid import UUID

    from cos.core.commands import Commands
    from cos.core.sessions import SessionRow
    from cos.tui.conversations import Conversations
    from cos.tui.places import Place, Places
    from cos.tui.screens.peek_requests import PeekEnd
    from cos.tui.session_control import SessionControl
    from cos.tui.transcript.view import Transcript
    from cos.tui.widgets.approval_card import Card
    from cos.tui.widgets.approvals_pane import ApprovalsPane, Decision, PanelName


class PeekedSession:
    """Implements `Peeked`. The conversation is the one that opening the session would show."""

    def __init__(self, peeking: Peeking, row: SessionRow) -> None:
        self._peeking = peeking
        self._control = peeking.control
        self._row = row

    @property
    def heading(self) -> str:
        row = self._control.monitor.row(self._row.id) or self._row
        state = state_of(row, self._control.screen.sessions.lines.activities.of(row.id), wording.now())
        return f"{state.glyph} {state.words} · {title_of(row)}"

    def cards(self) -> Sequence[Card]:
        return self._control.answering.cards_of(self._row.id)

    async def load(self, view: Transcript) -> None:
        control = self._control
        await control.load(self._row.id)
        if self._peeking.session_id == self._row.id:
            self._peeking.conversations.of(self._row.id).show_in(view)
            await control.seeing.see(self._row.id)

    def hide(self) -> None:
        self._peeking.session_id = None
        conversation = self._peeking.conversations.of(self._row.id)
        if self._row.id == self._control.current:
            conversation.show_in(self._control.screen.conversation)
        else:
            conversation.hide()

    async def load_older(self) -> None:
        await self._control.load_older(self._row.id)

    async def decide(self, approval_ids: Sequence[UUID], decision: Decision) -> None:
        for approval_id in approval_ids:
            await self._control.answering.decide(approval_id, decision)

    async def answer(self, approval_id: UUID, answer: str) -> None:
        await self._control.answering.reply(approval_id, answer)

    async def open_panel(self, panel: PanelName, card: Card, pane: ApprovalsPane) -> None:
        await self._control.panels.open(panel, card, pane)

    async def reply(self, text: str, back: Callable[[str], bool]) -> None:
        parsed = parse_command(text)
        if parsed is not None and parsed[0] in self._peeking.only_open() and back(text):
            self._control.screen.notify(
                f"/{parsed[0]} works on the screen of an open session; ^O opens this one.",
                title="Not done",
                severity="warning",
                markup=False,
            )
            return
        await self._control.sending.send(Outgoing(text=text, draft=text), self._peeking.place_of(self._row), back)


class Peeking:
    """One session at a time."""

    def __init__(
        self, control: SessionControl, conversations: Conversations, places: Places, commands: Commands
    ) -> None:
        self.control = control
        self.conversations = conversations
        self._places = places
        self._commands = commands
        self.session_id: UUID | None = None
        """The session that is looked at."""

    def only_open(self) -> set[str]:
        """Names of the commands that cannot be used from here: they would act on the screen beneath."""
        return {command.name for command in self._commands.all() if command.only_open}

    def place_of(self, row: SessionRow) -> Place:
        return self._places.of(row.id, row.profile_id)

    async def peek(self, row: SessionRow) -> bool:
        """Look at a session until the user goes on; whether it is to be opened."""
        control = self.control
        self.session_id = row.id
        # On screen before anything is read: the next keys are meant for it.
        screen = Peek(PeekedSession(self, row), arm_seconds=control.screen.approvals.arming.seconds)
        end: PeekEnd = await control.screen.app.push_screen_wait(screen)
        if end.written.strip():
            await self._keep(end.written, row)
        return end.is_wanted_open

    async def _keep(self, written: str, row: SessionRow) -> None:
        """A reply that was not sent comes last in the session's draft; without its session, into the composer."""
        control, place = self.control, self.place_of(row)
        if place is self._places.open or control.monitor.row(row.id) is None:
            control.screen.composer.put_back(written)
            return
        if not place.is_read:
            place.draft = await control.drafts.read(place.profile_id, row.id)
            place.is_read = True
        place.draft = "\n".join(text for text in (place.draft, written) if text)
        control.drafts.put(place, place.draft)
        control.screen.notify("What you wrote and did not send is that session's draft.", markup=False)
