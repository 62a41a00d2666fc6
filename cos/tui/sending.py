"""Hands what was written to the Dispatcher; what is not accepted goes back to where it was written."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Protocol

from cos.agent.errors import CosError
from cos.agent.ids import new_id
from cos.core.inbound import Accepted, Inbound
from cos.core.pictures import read_picture
from cos.tui.outgoing import Outgoing
from cos.tui.transcript.entries import Notice

if TYPE_CHECKING:
    from uuid import UUID

    from cos.core.commands import CommandAnswer
    from cos.core.dispatcher import Dispatcher
    from cos.tui.conversations import Conversations
    from cos.tui.drafts import DraftKeeper
    from cos.tui.places import Place, Places
    from cos.tui.screens.chat import ChatScreen


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
        dispatcher: Dispatcher,
        screen: ChatScreen,
        conversations: Conversations,
        places: Places,
        drafts: DraftKeeper,
        reader: SessionReader,
    ) -> None:
        self._dispatcher = dispatcher
        self._screen = screen
        self._conversations = conversations
        self._places = places
        self._drafts = drafts
        self._reader = reader

    async def send(self, outgoing: Outgoing, place: Place) -> None:
        """Hand a message to the Dispatcher; when it is not accepted, give it back and say why.

        Raises:
            CosError: it was accepted, but what became of it cannot be read.
        """
        async with place.sending:
            try:
                accepted = await self._dispatcher.dispatch(await self._inbound(outgoing, place))
            except CosError as error:
                self.give_back(outgoing, place)
                self._screen.notify(str(error), title="Not sent", severity="error", markup=False)
            else:
                await self._accepted(accepted, place)

    async def _inbound(self, outgoing: Outgoing, place: Place) -> Inbound:
        paths = [attachment.path for attachment in outgoing.attachments]
        return Inbound(
            text=outgoing.text,
            profile_id=place.profile_id,
            source="cli",
            session_id=place.session_id,
            tags=place.tags if place.session_id is None else (),
            pictures=tuple([await asyncio.to_thread(read_picture, path) for path in paths]),
            mode=outgoing.mode,
        )

    def give_back(self, outgoing: Outgoing, place: Place) -> None:
        """Put a message that was not taken where it was written, unless something else is written there now."""
        if place is self._places.open:
            self._screen.composer.put_back(outgoing.draft)
        elif place.is_read or place.session_id is None:
            place.draft = place.draft or outgoing.draft
            self._drafts.put(place, place.draft)
        else:
            # Its stored draft is not known here and stays; the text is one Up away.
            self._screen.composer.prompts.sent(outgoing.text)

    async def _accepted(self, accepted: Accepted, place: Place) -> None:
        self._drafts.sent(place)
        if accepted.command is not None:
            await self._commanded(accepted.command, place)
            return
        if accepted.session_id is None:
            self._screen.notify("A plugin dropped the message.", severity="warning", markup=False)
            return
        conversation = self._conversations.of(accepted.session_id)
        if place.session_id is None:
            self._places.born(place, accepted.session_id)
            self._drafts.born(place)
            await self._reader.load(accepted.session_id)
            if place is self._places.open:
                conversation.show_in(self._screen.conversation)
        if accepted.handled:
            conversation.notice("info", accepted.reply or "A plugin took the message.")
        await self._reader.refresh()

    async def _commanded(self, answer: CommandAnswer, place: Place) -> None:
        """Show what came of a slash command; what it gives back to write comes back to where it was typed."""
        if answer.draft is not None:
            self.give_back(Outgoing(text=answer.draft, draft=answer.draft), place)
        if answer.session_id is not None:
            await self._reader.open(answer.session_id)
        if not answer.text:
            return
        if place.session_id is None:
            self._screen.conversation.append(Notice(key=f"command:{new_id()}", text=answer.text, level="info"))
        else:
            self._conversations.of(answer.session_id or place.session_id).notice("info", answer.text)
