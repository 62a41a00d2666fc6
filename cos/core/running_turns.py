"""The turns that this process runs: at most one in a session, each in a task of its own, each closed in the journal."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections import defaultdict
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, TypeVar

from cos.agent.cancellation import CancelToken, begun
from cos.agent.errors import CosError
from cos.agent.events import TurnCompleted, Usage
from cos.agent.records import TurnStatus

if TYPE_CHECKING:
    from uuid import UUID

    from cos.agent.identity import TurnInfo
    from cos.agent.journal import Journal
    from cos.agent.outcomes import TurnOutcome
    from cos.agent.turn import Agent
    from cos.agent.turn_state import TurnState
    from cos.core.live import CoreEvent

log = logging.getLogger("cos.turns")
T = TypeVar("T")

SHUTDOWN: Final = "the program is ending"
_CLOSE_SECONDS: Final = 8.0
_CLOSE_LOST_SECONDS: Final = 0.5
_CLOSE_LOST_LONGEST_SECONDS: Final = 5.0


@dataclass(slots=True)
class Running:
    """One of them."""

    state: TurnState
    task: asyncio.Task[Any]
    goes_on: bool = False
    """A message came in after the turn was cancelled: the queue is not to wait when the turn has ended."""

    @property
    def turn(self) -> TurnInfo:
        return self.state.turn

    @property
    def message_id(self) -> UUID:
        """Of its prompt."""
        return self.state.prompt_id

    @property
    def cancel(self) -> CancelToken:
        return self.state.cancel

    @property
    def usage(self) -> Usage:
        """So far."""
        return self.state.usage


class RunningTurns:
    """One per process."""

    def __init__(self, journal: Journal, publish: Callable[[CoreEvent], None]) -> None:
        self._journal = journal
        self._publish = publish
        self._running: dict[UUID, Running] = {}
        self.admission: defaultdict[UUID, asyncio.Lock] = defaultdict(asyncio.Lock)
        """By session: held while it is decided what runs there next."""
        self.is_closing = False

    def of(self, session_id: UUID) -> Running | None:
        return self._running.get(session_id)

    @property
    def all(self) -> list[Running]:
        """Oldest first."""
        return sorted(self._running.values(), key=lambda running: running.turn.turn_id)

    async def begin(self, state: TurnState, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Let `work` run an opened turn. The caller holds its session's admission; whoever awaits `work` forgets it."""
        task = await begun(work, f"turn-{state.turn.turn_id}")
        self._running[state.turn.session_id] = Running(state, task)
        return task

    def forget(self, turn: TurnInfo) -> Running | None:
        """The turn's entry, taken out; None when it was taken out before."""
        running = self._running.get(turn.session_id)
        return self._running.pop(turn.session_id) if running and running.turn == turn else None

    async def run(self, agent: Agent, state: TurnState) -> TurnOutcome | None:
        """A turn from its first model call to its end; None when that could not be stored at once."""
        try:
            return await agent.run(state)
        except Exception as error:
            log.exception("turn %s could not be closed", state.turn.turn_id)
            self._publish(_lost(state, error))
            await self._close_lost(state)
            return None

    async def close(self) -> None:
        """Cancel every turn and wait until the journal is whole."""
        self.is_closing = True
        for admission in list(self.admission.values()):
            async with admission:
                pass  # A turn that is being opened is in `_running` afterwards.
        tasks = [running.task for running in self._running.values()]
        for running in self._running.values():
            running.cancel.cancel(SHUTDOWN)
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=_CLOSE_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _close_lost(self, state: TurnState) -> None:
        """Close the turn as soon as the journal answers, with what is on screen of a reply that it did not take.

        An open turn of a living process is swept by nobody.
        """
        turn = state.turn
        for attempt in itertools.count():
            if self.is_closing:
                return
            try:
                if state.open_reply is not None:
                    await state.open_reply.keep()
                await self._journal.finish_turn(turn, TurnStatus.FAILED, error="the end of this turn was stored late")
            except CosError as error:
                log.warning("turn %s is still open: %s", turn.turn_id, error)
                await asyncio.sleep(min(_CLOSE_LOST_SECONDS * 2**attempt, _CLOSE_LOST_LONGEST_SECONDS))
            else:
                return


def _lost(state: TurnState, error: Exception) -> TurnCompleted:
    """The end of a turn that the journal did not take: said on screen now, stored when it answers again."""
    return TurnCompleted(
        turn=state.turn,
        status=TurnStatus.FAILED,
        stop_reason=None,
        error=f"the end of this turn could not be stored ({error})",
        text=state.text,
        usage=Usage(),
        started_at=state.started_at,
        completed_at=datetime.now(UTC),
        had_output=state.had_output,
    )
