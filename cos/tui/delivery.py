"""Hands messages to the Dispatcher. One that the database cannot take now waits, on screen, until it can."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from cos.core.commands import parse_command
from cos.core.errors import DatabaseError
from cos.core.inbound import Accepted, Inbound
from cos.core.pictures import read_pictures

if TYPE_CHECKING:
    from cos.core.dispatcher import Dispatcher
    from cos.core.postgres.pulse import Pulse
    from cos.tui.screens.chat import ChatScreen
    from cos.tui.unsent import Unsent, UnsentMessages

SHOW_SECONDS: Final = 0.15
"""A message that is not stored after this is shown as one that is not."""

_NOT_LATER: Final = "the database does not answer, and a command is not carried out later; give it again then"


class Delivery:
    """Of one screen."""

    def __init__(self, dispatcher: Dispatcher, pulse: Pulse, unsent: UnsentMessages, screen: ChatScreen) -> None:
        self._dispatcher = dispatcher
        self._pulse = pulse
        self._screen = screen
        self.unsent = unsent
        self._outages = 0
        """How often a message has met a database that did not answer."""

    async def deliver(self, message: Unsent) -> Accepted:
        """Raises CosError when it was not taken in, for good. A slash command is never carried out later."""
        is_command = parse_command(message.outgoing.text) is not None
        if is_command and self._pulse.trouble and message.place.sending.locked():
            raise DatabaseError(_NOT_LATER)
        outages = self._outages
        if self._pulse.trouble:
            self.unsent.show(message)
        late = self._screen.set_timer(SHOW_SECONDS, partial(self.unsent.show, message))
        try:
            async with message.place.sending:
                if is_command and self._outages != outages:
                    raise DatabaseError(_NOT_LATER)
                return await self._until_taken(message, is_command=is_command)
        finally:
            late.stop()

    async def _until_taken(self, message: Unsent, *, is_command: bool) -> Accepted:
        was_tried = False
        while True:
            try:
                return await self._dispatcher.dispatch(await _inbound(message))
            except DatabaseError:
                if is_command:
                    raise
                if await self._pulse.ask():
                    self._outages += 1
                    self.unsent.show(message)
                    await self._pulse.answers()
                elif was_tried:
                    raise
                was_tried = True


async def _inbound(message: Unsent) -> Inbound:
    """
    Raises:
        AttachmentError: a picture cannot be read any more.
    """
    outgoing, place = message.outgoing, message.place
    return Inbound(
        text=outgoing.text,
        profile_id=place.profile_id,
        source="cli",
        session_id=place.session_id,
        tags=place.tags if place.session_id is None else (),
        pictures=await read_pictures(outgoing.attachments),
        mode=outgoing.mode,
        client_message_id=str(message.id),
    )
