"""The queues that could not go on, such as while the database was away; somebody looks at them again."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from uuid import UUID

from cos.core.errors import SessionError

log = logging.getLogger("cos.dispatcher")


@dataclass(frozen=True, slots=True)
class Stuck:
    """Why a session's queue could not go on, and whether it is to pause once it can."""

    why: str
    pause: bool


class StuckQueues:
    """Of one process, by session."""

    def __init__(self) -> None:
        self._stuck: dict[UUID, Stuck] = {}

    def add(self, session_id: UUID, error: Exception, *, pause: bool) -> None:
        """A reason that is said already is not said again."""
        if isinstance(error, SessionError):
            self.remove(session_id)  # It was deleted meanwhile.
            return
        stuck = Stuck(str(error), pause)
        if self._stuck.get(session_id) != stuck:
            log.error("the queue of session %s could not go on", session_id, exc_info=error)
        self._stuck[session_id] = stuck

    def remove(self, session_id: UUID) -> None:
        self._stuck.pop(session_id, None)

    def trouble(self, session_id: UUID) -> str:
        """For the user, empty when the queue is not stuck."""
        stuck = self._stuck.get(session_id)
        return f"The message is kept and waits; its turn could not start yet: {stuck.why}" if stuck else ""

    def all(self) -> list[tuple[UUID, Stuck]]:
        return list(self._stuck.items())
