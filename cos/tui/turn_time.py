"""The line above a turn: when it began, how long it worked, apart from that how long it waited for the user, and what
it used. The same words for a turn that is loaded and for one that runs here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Self

from cos.agent.events import Usage
from cos.agent.records import TurnStatus
from cos.tui import wording

if TYPE_CHECKING:
    from uuid import UUID

    from cos.core.sessions import TurnRow

_NOTICEABLE = timedelta(seconds=1)
_SEPARATOR = " · "


@dataclass(slots=True)
class TurnClock:
    """Counts the time of a running turn. Waiting begins with its first open request and ends with the last answer."""

    turn_id: UUID
    started_at: datetime
    waited: timedelta = timedelta()
    """In waits that are over."""
    waits_since: datetime | None = None
    open_requests: set[UUID] = field(default_factory=set)

    @classmethod
    def of(cls, turn: TurnRow) -> Self:
        """Of a turn as it is stored."""
        waited = timedelta(seconds=turn.waited_seconds)
        return cls(turn.id, turn.started_at, waited, turn.waits_since, set(turn.open_requests))

    def asked(self, request_id: UUID, at: datetime) -> None:
        if self.waits_since is None:
            self.waits_since = at
        self.open_requests.add(request_id)

    def answered(self, request_id: UUID, at: datetime) -> None:
        self.open_requests.discard(request_id)
        if self.waits_since is not None and not self.open_requests:
            self.waited += max(timedelta(), at - self.waits_since)
            self.waits_since = None

    def header(self, now: datetime) -> str:
        """`09:41 · running for 42s · waited 3m 2s for you`, or `09:41 · waiting for you 12s · worked 42s`.

        What counts on stands first: the end is left out where there is little room.
        """
        waiting = None if self.waits_since is None else max(timedelta(), now - self.waits_since)
        running = now - self.started_at - self.waited - (waiting or timedelta())
        if waiting is None:
            pieces = [f"running for {wording.duration(running)}", *_waited(self.waited)]
        else:
            pieces = [f"waiting for you {wording.duration(waiting)}", f"worked {wording.duration(running)}"]
        return _SEPARATOR.join([wording.moment(self.started_at), *pieces])


def header(turn: TurnRow) -> str:
    """The line above a stored turn."""
    if turn.completed_at is None:
        return TurnClock.of(turn).header(wording.now())
    took = turn.completed_at - turn.started_at
    return ended_header(turn.started_at, took, turn.waited_seconds, turn.status, turn.usage)


def ended_header(
    started_at: datetime,
    took: timedelta,
    waited_seconds: float,
    status: TurnStatus,
    used: Usage | None,
    *,
    more: Sequence[str] = (),
) -> str:
    """`09:41 · 1m 12s · waited 3m 2s for you · failed · 12.3k in · 450 out tokens`, then `more`, such as a cost."""
    waited = timedelta(seconds=waited_seconds)
    pieces = [wording.moment(started_at), wording.duration(took - waited), *_waited(waited)]
    if status is not TurnStatus.COMPLETED:
        pieces.append(status.value)
    return _SEPARATOR.join([*pieces, wording.usage(used or Usage()), *more])


def _waited(waited: timedelta) -> list[str]:
    return [f"waited {wording.duration(waited)} for you"] if waited >= _NOTICEABLE else []
