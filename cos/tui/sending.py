"""Hands what was written to the Dispatcher; what is not accepted goes back to where it was written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cos.agent.errors import CosError
from cos.agent.ids import new_id
from cos.core.inbound import Accepted, Inbound
from cos.tui.transcript.entries import Notice

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from uuid import UUID

    from cos.core.commands import CommandAnswer
    from cos.core.dispatcher import Dispatcher
    from cos.tui.conversations import Conversations
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
        load: Callable[[UUID], Awaitable[None]],
        refresh: Callable[[], Awaitable[None]],
        open_session: Callable[[UUID], Awaitable[None]],
    ) -> None:
        """`load` reads the history of a session that a message began; `refresh` reads the list of sessions again."""
        self._open = open_session
        self._dispatcher = dispatcher
        self._screen = screen
        self._conversations = conversations
        self._places = places
        self._load = load
        self._refresh = refresh

    async def send(self, text: str, place: Place) -> None:
        """Hand a message to the Dispatcher; when it is not accepted, give it back and say why.

        Raises:
            CosError: it was accepted, but what became of it cannot be read.
        """
        async with place.sending:
            tags = place.tags if place.session_id is None else ()
            inbound = Inbound(
                text=text, profile_id=place.profile_id, source="cli", session_id=place.session_id, tags=tags
            )
            try:
                accepted = await self._dispatcher.dispatch(inbound)
            except CosError as error:
                self._give_back(text, place)
                self._screen.notify(str(error), title="Not sent", severity="error", markup=False)
            else:
                await self._accepted(accepted, place)

    def _give_back(self, text: str, place: Place) -> None:
        if place is self._places.open:
            self._screen.composer.put_back(text)
        else:
            place.draft = place.draft or text

    async def _accepted(self, accepted: Accepted, place: Place) -> None:
        if accepted.command is not None:
            await self._commanded(accepted.command, place)
            return
        if accepted.session_id is None:
            self._screen.notify("A plugin dropped the message.", severity="warning", markup=False)
            return
        conversation = self._conversations.of(accepted.session_id)
        if place.session_id is None:
            self._places.born(place, accepted.session_id)
            await self._load(accepted.session_id)
            if place is self._places.open:
                conversation.show_in(self._screen.conversation)
        if accepted.handled:
            conversation.notice("info", accepted.reply or "A plugin took the message.")
        await self._refresh()

    async def _commanded(self, answer: CommandAnswer, place: Place) -> None:
        """Show what came of a slash command; what it gives back to write comes back to where it was typed."""
        if answer.draft is not None:
            self._give_back(answer.draft, place)
        if answer.session_id is not None:
            await self._open(answer.session_id)
        if not answer.text:
            return
        if place.session_id is None:
            self._screen.conversation.append(Notice(key=f"command:{new_id()}", text=answer.text, level="info"))
        else:
            self._conversations.of(answer.session_id or place.session_id).notice("info", answer.text)
