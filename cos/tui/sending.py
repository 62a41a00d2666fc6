"""Hands what was written to the Dispatcher; what is not accepted goes back to where it was written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cos.agent.errors import CosError
from cos.core.inbound import Accepted, Inbound

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from uuid import UUID

    from cos.core.dispatcher import Dispatcher
    from cos.tui.conversations import Conversations
    from cos.tui.drafts import DraftKeeper
    from cos.tui.outgoing import Outgoing
    from cos.tui.places import Place, Places
    from cos.tui.screens.chat import ChatScreen


class Sending:
    """Sends from any place, also from one that is not open any more."""

    def __init__(
        self,
        dispatcher: Dispatcher,
        screen: ChatScreen,
        conversations: Conversations,
        places: Places,
        *,
        drafts: DraftKeeper,
        load: Callable[[UUID], Awaitable[None]],
        refresh: Callable[[], Awaitable[None]],
    ) -> None:
        """`load` reads the history of a session that a message began; `refresh` reads the list of sessions again."""
        self._dispatcher = dispatcher
        self._screen = screen
        self._conversations = conversations
        self._places = places
        self._drafts = drafts
        self._load = load
        self._refresh = refresh

    async def send(self, outgoing: Outgoing, place: Place) -> None:
        """Hand a message to the Dispatcher; when it is not accepted, give it back and say why.

        Raises:
            CosError: it was accepted, but what became of it cannot be read.
        """
        async with place.sending:
            inbound = Inbound(
                text=outgoing.text,
                profile_id=place.profile_id,
                source="cli",
                session_id=place.session_id,
                mode=outgoing.mode,
            )
            try:
                accepted = await self._dispatcher.dispatch(inbound)
            except CosError as error:
                self.give_back(outgoing, place)
                self._screen.notify(str(error), title="Not sent", severity="error", markup=False)
            else:
                await self._accepted(accepted, place)

    def give_back(self, outgoing: Outgoing, place: Place) -> None:
        """Put a message that was not taken where it was written, unless something else is written there now."""
        if place is self._places.open:
            self._screen.composer.put_back(outgoing.draft)
        else:
            place.draft = place.draft or outgoing.draft
            self._drafts.put(place, place.draft)

    async def _accepted(self, accepted: Accepted, place: Place) -> None:
        self._drafts.sent(place)
        if accepted.session_id is None:
            self._screen.notify("A plugin dropped the message.", severity="warning", markup=False)
            return
        conversation = self._conversations.of(accepted.session_id)
        if place.session_id is None:
            self._places.born(place, accepted.session_id)
            self._drafts.born(place)
            await self._load(accepted.session_id)
            if place is self._places.open:
                conversation.show_in(self._screen.conversation)
        if accepted.handled:
            conversation.notice("info", accepted.reply or "A plugin took the message.")
        await self._refresh()
