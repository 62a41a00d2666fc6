"""Sends what was written; what is not accepted goes back to where it was written."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from cos.agent.errors import CosError
from cos.agent.ids import new_id
from cos.core.errors import SessionError
from cos.tui.paste_fold import packed_message
from cos.tui.timing import GATHER_SECONDS
from cos.tui.transcript.entries import Notice

if TYPE_CHECKING:
    from uuid import UUID

    from cos.core.commands import CommandAnswer
    from cos.core.inbound import Accepted
    from cos.tui.conversations import Conversations
    from cos.tui.delivery import Delivery
    from cos.tui.drafts import DraftKeeper
    from cos.tui.outgoing import Outgoing
    from cos.tui.places import Place, Places
    from cos.tui.screens.chat import ChatScreen
    from cos.tui.unsent import Unsent


class SessionReader(Protocol):
    """Reads what a message has changed. Raises CosError when it cannot be read."""

    async def load(self, session_id: UUID) -> None:
        """The history of a session that a message began."""
        ...

    async def refresh(self) -> None:
        """The list of sessions."""
        ...

    async def open(self, session_id: UUID) -> None:
        """Show another session."""
        ...


class Sending:
    """Sends from any place, also from one that is not open any more."""

    def __init__(
        self,
        delivery: Delivery,
        screen: ChatScreen,
        conversations: Conversations,
        places: Places,
        drafts: DraftKeeper,
        reader: SessionReader,
    ) -> None:
        self._delivery = delivery
        self._screen = screen
        self._conversations = conversations
        self._places = places
        self._drafts = drafts
        self._reader = reader

    async def send(self, outgoing: Outgoing, place: Place, back: Callable[[str], bool] | None = None) -> None:
        """Hand a message over; when it is not accepted, give it back and say why.

        `back` takes the draft if it was written elsewhere than in the composer, and answers whether it could.

        Raises:
            CosError: it was accepted, but what became of it cannot be read.
        """
        message = self._delivery.unsent.begin(outgoing, place)
        try:
            accepted = await self._delivery.deliver(message)
        except CosError as error:
            self._screen.notify(str(error), title="Not sent", severity="error", markup=False)
            if back is not None and back(outgoing.draft):
                self._delivery.unsent.end(message)
            else:
                self._came_back(message, error)
        else:
            self._delivery.unsent.end(message)
            await self._accepted(accepted, place)

    def came_back(self, outgoing: Outgoing, place: Place, error: CosError) -> None:
        """A message that was not taken goes back to where it was written."""
        self._came_back(self._delivery.unsent.begin(outgoing, place), error)

    def _came_back(self, message: Unsent, error: CosError) -> None:
        """Into the composer when that is empty; else it stands above it, with the reason, until the user takes it."""
        unsent, composer = self._delivery.unsent, self._screen.composer
        if message.place is self._places.open and not composer.text and composer.editing is None:
            composer.restore(message.outgoing.draft)
            unsent.end(message)
        elif message.place is not self._places.open and isinstance(error, SessionError):
            # The session it belongs to may be gone, and its place with it.
            composer.put_back(message.outgoing.draft)
            unsent.end(message)
        else:
            unsent.show(message, str(error))
        self._drafts.sent(message.place)

    def _give_back(self, draft: str, place: Place) -> None:
        """What a command has taken back to write: in its place, unless something else is written there now."""
        if place is self._places.open:
            self._screen.composer.put_back(draft)
        elif (place.is_read or place.session_id is None) and not place.draft:
            place.draft = draft
            self._drafts.put(place, draft)
        else:
            self._screen.composer.prompts.sent(draft)

    async def _accepted(self, accepted: Accepted, place: Place) -> None:
        self._drafts.sent(place)
        if accepted.trouble:
            self._screen.notify(accepted.trouble, title="Waits", severity="warning", markup=False)
        if accepted.command is not None:
            await self._commanded(accepted.command, place)
            return
        if accepted.session_id is None:
            self._screen.notify("A plugin dropped the message.", severity="warning", markup=False)
            return
        is_new = place.session_id is None
        if is_new:
            self._places.born(place, accepted.session_id)
            self._drafts.born(place)
        await asyncio.sleep(GATHER_SECONDS)
        if is_new:
            await self._reader.load(accepted.session_id)
            if place is self._places.open:
                self._conversations.of(accepted.session_id).show_in(self._screen.conversation)
        if accepted.handled:
            self._conversations.of(accepted.session_id).notice("info", accepted.reply or "A plugin took the message.")
        await self._reader.refresh()

    async def _commanded(self, answer: CommandAnswer, place: Place) -> None:
        """Show what came of a slash command; what it gives back to write comes back to where it was typed."""
        if answer.draft:
            self._give_back("\n\n".join(packed_message(message) for message in answer.draft), place)
        if answer.session_id is not None:
            await self._reader.open(answer.session_id)
        if not answer.text:
            return
        if place.session_id is None:
            self._screen.conversation.append(Notice(key=f"command:{new_id()}", text=answer.text, level="info"))
        else:
            self._conversations.of(answer.session_id or place.session_id).notice("info", answer.text)
