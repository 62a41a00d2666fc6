"""Stops turns, whichever process runs them: its own at once, another's by a wish that is kept with the turn.

A turn that nobody runs any more is closed instead: its process is gone, or this process lost it while it was opened.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from uuid import UUID

if TYPE_CHECKING:
    from cos.core.postgres.cancels import Cancels
    from cos.core.postgres.sweep import Sweeper
    from cos.core.running_turns import RunningTurns

CHANNEL: Final = "cos_cancels"
NEW_MESSAGE: Final = "by the user's new message"


class Cancelling:
    """One per process."""

    def __init__(self, turns: RunningTurns, stored: Cancels, sweeper: Sweeper) -> None:
        self._turns = turns
        self._stored = stored
        self._sweeper = sweeper

    async def stop(self, session_id: UUID, turn_id: UUID | None = None, reason: str = "by the user") -> bool:
        """See `Dispatcher.stop`."""
        if self._stop_here(session_id, turn_id, reason):
            return True
        turn = await self._stored.request(session_id, turn_id, reason)
        if turn is None:
            return False
        if turn.owner_boot_id == self._stored.boot_id:
            await self._stop_mine(session_id, turn.id, reason)
        else:
            await self._sweeper.sweep(turn.id)
        return True

    async def make_way(self, session_id: UUID, message_id: UUID) -> bool:
        """A waiting message found a turn open that does not run here; its caller holds the session's admission.

        The turn is stopped when the message is to be sent now. True when the message may be tried again at once.

        Raises:
            DatabaseError: whoever ran the turn may be gone; that is certain in a moment.
        """
        turn = await self._stored.make_way(session_id, message_id, NEW_MESSAGE)
        if turn is None:
            return True
        if turn.owner_boot_id == self._stored.boot_id:
            return await self._sweeper.close_mine(turn.id)
        return await self._sweeper.close_left(turn.id)

    async def is_taken(self, session_id: UUID) -> bool:
        """Whether another living process runs a turn in the session; one of a process that is gone is closed.

        Raises:
            DatabaseError: whoever ran the turn may be gone; that is certain in a moment.
        """
        turn = await self._stored.open_turn(session_id)
        if turn is None or turn.owner_boot_id == self._stored.boot_id:
            return False
        return not await self._sweeper.close_left(turn.id)

    async def goes_on(self, turn_id: UUID) -> bool:
        """Whether the queue is not to pause when this turn was cancelled: another process has sent a message since."""
        return await self._stored.goes_on(turn_id)

    async def hear(self, payload: str) -> None:
        """Some process wants a turn stopped: its owner's boot id and its id.

        Raises:
            ValueError: it is something else.
        """
        owner, _, turn_id = payload.partition(" ")
        if UUID(owner) == self._stored.boot_id:
            await self._look_at(UUID(turn_id))

    async def look(self) -> None:
        """Look at every turn that runs here: word of a wish may have been missed."""
        await self._look_at(None)

    async def close_lost(self) -> None:
        """Close turns of this process that it does not run: such as one whose beginning the database kept unheard."""
        for turn_id, session_id in await self._stored.mine():
            async with self._turns.admission[session_id]:
                if self._turns.of(session_id) is None:
                    await self._sweeper.close_mine(turn_id)

    async def _look_at(self, turn_id: UUID | None) -> None:
        for wish in await self._stored.of_mine(turn_id):
            await self._stop_mine(wish.session_id, wish.turn_id, wish.reason)

    async def _stop_mine(self, session_id: UUID, turn_id: UUID, reason: str) -> None:
        if self._stop_here(session_id, turn_id, reason):
            return
        async with self._turns.admission[session_id]:  # It may be on its way into `turns`.
            if not self._stop_here(session_id, turn_id, reason) and self._turns.of(session_id) is None:
                await self._sweeper.close_mine(turn_id)

    def _stop_here(self, session_id: UUID, turn_id: UUID | None, reason: str) -> bool:
        running = self._turns.of(session_id)
        if running is None or turn_id not in {None, running.turn.turn_id}:
            return False
        running.cancel.cancel(reason)
        return True
