"""The queue of a session as its user handles it: what waits is edited, removed, or delivered in another way."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from cos.agent.errors import CosError
from cos.core.errors import SessionError
from cos.core.live import QueueChanged

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from uuid import UUID

    from cos.agent.identity import TurnInfo
    from cos.agent.steering import DeliveryMode, Steered, SteerSource
    from cos.core.dispatcher import Dispatcher
    from cos.core.live import CoreEvent
    from cos.core.pictures import Picture
    from cos.core.postgres.sessions import Sessions
    from cos.core.postgres.waiting import WaitingMessages

log = logging.getLogger("cos.queue")


async def queue_changed(sessions: Sessions, session_id: UUID) -> QueueChanged:
    """The event that says how the session's queue now stands."""
    session, waiting = await sessions.get(session_id), await sessions.queue(session_id)
    return QueueChanged(
        session_id=session_id, profile_id=session.profile_id, waiting=len(waiting), paused=session.queue_paused
    )


class AnnouncedSteers:
    """A SteerSource that lets the surfaces of this process know what has left the queue."""

    def __init__(self, journal: SteerSource, sessions: Sessions, publish: Callable[[CoreEvent], None]) -> None:
        self._journal = journal
        self._sessions = sessions
        self._publish = publish

    async def take_steers(self, turn: TurnInfo) -> list[Steered]:
        taken = await self._journal.take_steers(turn)
        if taken:
            try:
                self._publish(await queue_changed(self._sessions, turn.session_id))
            except CosError as error:
                # They are stored: the turn goes on with them whoever knows.
                log.warning("the queue of session %s could not be announced: %s", turn.session_id, error)
        return taken


class QueueEditor:
    """Each method raises NotWaitingError, with a sentence for the user, when a turn or another person was faster."""

    def __init__(self, waiting: WaitingMessages, dispatcher: Dispatcher) -> None:
        self._waiting = waiting
        self._dispatcher = dispatcher

    async def has(self, message_id: UUID) -> bool:
        """Whether the message waits, or has been sent."""
        return await self._waiting.has(message_id)

    async def edit(self, message_id: UUID, text: str, pictures: Sequence[Picture] | None = None) -> None:
        """Give it another text and, unless None, other pictures.

        Raises:
            SessionError: `text` is blank.
        """
        if not text.strip():
            raise SessionError("an empty message cannot be sent; remove it from the queue instead")
        await self._dispatcher.announce_queue(await self._waiting.set_content(message_id, text, pictures))

    async def remove(self, message_id: UUID) -> None:
        await self._dispatcher.announce_queue(await self._waiting.remove(message_id))

    async def change_mode(self, message_id: UUID, mode: DeliveryMode) -> None:
        """Let a message that waits go into the running turn, be sent now in its place, or wait after all."""
        if mode == "now":
            session_id = await self._waiting.session_of(message_id)
            await self._dispatcher.send_now(session_id, message_id, lambda: self._waiting.set_mode(message_id, "now"))
        else:
            await self._dispatcher.announce_queue(await self._waiting.set_mode(message_id, mode))
