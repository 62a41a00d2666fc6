"""The live feed inside one process: everything that happens, in one order per session, to every reader at its own pace.

Text that a reader has not fetched yet is merged, so a slow reader gets larger pieces and never fewer characters. One
that falls too far behind is told to read the tables again.
"""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from types import TracebackType
from typing import TYPE_CHECKING, ClassVar, Self

from cos.agent.events import AgentEvent, MessageDelta, ThinkingDelta, ToolOutput, TurnEvent

if TYPE_CHECKING:
    from uuid import UUID

LIMIT = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEvent:
    """Something about a session as a whole."""

    type: ClassVar[str]
    session_id: UUID
    profile_id: str
    at: datetime = field(default_factory=lambda: datetime.now(UTC))


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionCreated(SessionEvent):
    type: ClassVar[str] = "session.created"
    title: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionUpdated(SessionEvent):
    """Its row in the list changed."""

    type: ClassVar[str] = "session.updated"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionRewound(SessionEvent):
    """Turns were taken back: nobody sees them any more."""

    type: ClassVar[str] = "session.rewound"
    turn_ids: tuple[UUID, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionTouched(SessionEvent):
    """More happened in it than events say: another process works there, or turns were undone. Read it again."""

    type: ClassVar[str] = "session.touched"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyGrew(SessionEvent):
    """Another process streams a reply in it; `Sessions.open_reply` reads what there is of it so far."""

    type: ClassVar[str] = "reply.grew"


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionDeleted(SessionEvent):
    """It is gone with all that belonged to it."""

    type: ClassVar[str] = "session.deleted"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueChanged(SessionEvent):
    """Messages wait for their turn, or have left the queue."""

    type: ClassVar[str] = "queue.changed"
    waiting: int
    paused: bool


@dataclass(frozen=True, slots=True)
class Resync:
    """Events were missed: read the tables again."""

    type: ClassVar[str] = "resync"
    of_others: bool = False
    """Only of other processes: what runs in this one is known. Else this reader fell behind, and missed any."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginEvent(TurnEvent):
    """What a plugin says about a turn. Its `type` begins with the plugin's name and a dot."""


CoreEvent = (
    AgentEvent
    | SessionCreated
    | SessionUpdated
    | SessionRewound
    | SessionTouched
    | ReplyGrew
    | SessionDeleted
    | QueueChanged
    | PluginEvent
)


@dataclass(frozen=True, slots=True)
class Live:
    """An event in its place: `seq` counts the events of one session from 1."""

    seq: int
    event: CoreEvent | Resync


def session_of(event: CoreEvent) -> UUID:
    """The session that an event belongs to."""
    if isinstance(event, SessionEvent):
        return event.session_id
    return event.turn.session_id


class LiveFeed:
    """Publishing never waits for a reader."""

    def __init__(self) -> None:
        self._sequence: defaultdict[UUID, int] = defaultdict(int)
        self._readers: set[Subscription] = set()

    def publish(self, event: CoreEvent | Resync) -> None:
        """A Resync belongs to no session: its `seq` is 0."""
        if isinstance(event, Resync):
            for reader in self._readers:
                reader.put(0, event)
            return
        session_id = session_of(event)
        self._sequence[session_id] += 1
        for reader in self._readers:
            reader.put(self._sequence[session_id], event)

    def subscribe(self, *, limit: int = LIMIT) -> Subscription:
        """A reader of everything from now on; leave its context to end it."""
        subscription = Subscription(self._readers, limit)
        self._readers.add(subscription)
        return subscription


@dataclass(slots=True)
class _Pending:
    seq: int
    event: CoreEvent | Resync
    pieces: list[str]


class Subscription:
    """One reader. Iterate over it; several may not iterate at once."""

    def __init__(self, readers: set[Subscription], limit: int) -> None:
        self._readers = readers
        self._limit = limit
        self._pending: deque[_Pending] = deque()
        self._arrived = asyncio.Event()
        self._is_open = True

    def put(self, seq: int, event: CoreEvent | Resync) -> None:
        last = self._pending[-1] if self._pending else None
        if isinstance(event, MessageDelta | ThinkingDelta | ToolOutput):
            if last is not None and _continues(last.event, event):
                last.seq = seq
                last.pieces.append(event.text)
                return
            pieces = [event.text]
        elif last is not None and _repeats(last.event, event):
            last.seq = seq
            return
        else:
            pieces = []
        if len(self._pending) >= self._limit:
            self._pending.clear()
            self._pending.append(_Pending(seq, Resync(), []))
        self._pending.append(_Pending(seq, event, pieces))
        self._arrived.set()

    def close(self) -> None:
        self._is_open = False
        self._readers.discard(self)
        self._arrived.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __aiter__(self) -> AsyncIterator[Live]:
        return self._read(0)

    def gathered(self, seconds: float) -> AsyncIterator[Live]:
        """As iterating over it, for a reader that draws: what comes within `seconds` after a pause comes at once."""
        return self._read(seconds)

    async def _read(self, gather_seconds: float) -> AsyncIterator[Live]:
        while True:
            while self._pending:
                yield _taken(self._pending.popleft())
            if not self._is_open:
                return
            self._arrived.clear()
            await self._arrived.wait()
            if gather_seconds:
                await asyncio.sleep(gather_seconds)


def _repeats(before: CoreEvent | Resync, event: CoreEvent | Resync) -> bool:
    """Whether whoever reads the tables after `before` has read what `event` asks for."""
    return (
        isinstance(event, SessionTouched | ReplyGrew)
        and isinstance(before, SessionEvent)
        and before.type in {event.type, SessionTouched.type}
        and before.session_id == event.session_id
    )


def _continues(before: CoreEvent | Resync, event: MessageDelta | ThinkingDelta | ToolOutput) -> bool:
    if isinstance(event, ToolOutput):
        return isinstance(before, ToolOutput) and (
            (before.turn.session_id, before.call_id) == (event.turn.session_id, event.call_id)
        )
    if isinstance(before, MessageDelta | ThinkingDelta):
        return before.type == event.type and before.message_id == event.message_id
    return False


def _taken(pending: _Pending) -> Live:
    event = pending.event
    if len(pending.pieces) > 1 and isinstance(event, MessageDelta | ThinkingDelta | ToolOutput):
        event = replace(event, text="".join(pending.pieces))
    return Live(pending.seq, event)
