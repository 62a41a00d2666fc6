"""What waits to be sent to one client. Putting never waits and never grows beyond a bound, however slow the client is.

Answers go first. Of replaceable frames only the newest of a key waits; pieces of a text are put together while they
wait; when there is still too much of a session, all of it is dropped and the client is told to read it again.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from cos.web.frames import Frame, JsonText, control

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable
    from uuid import UUID

MOST_ANSWERS: Final = 256
MOST_FRAMES: Final = 1_000
"""Semantic ones of one session."""
MOST_BYTES: Final = 4 * 1024 * 1024
"""Of one session."""
MOST_BYTES_OF_ALL: Final = 16 * 1024 * 1024
TRY_AGAIN_LATER: Final = 1013
TOO_SLOW: Final = "too slow"


@dataclass(slots=True)
class _Waiting:
    """One frame, or pieces of one text that go out together."""

    frames: list[Frame]
    lane: _Lane
    size: int


@dataclass(slots=True, eq=False)
class _Lane:
    """What waits of one session; None = of what is told to everybody."""

    session_id: UUID | None
    sent: int = 0
    """The seq up to which the client has everything."""
    count: int = 0
    """Of semantic frames that wait."""
    size: int = 0
    """Bytes that wait."""
    last: Hashable = None
    """The key of what came in last."""
    held: list[Frame] | None = None
    """What came before the snapshot is there."""


@dataclass(slots=True)
class _Sums:
    count: int = 0
    size: int = 0


class Outbox:
    """Of one client. One task takes, the others put."""

    def __init__(self, dropped: Callable[[UUID], object] = lambda session_id: None) -> None:
        """`dropped` is told of a session whose frames were given up; it is not subscribed any more."""
        self.fault: tuple[int, str] | None = None
        """The code and reason to close with."""
        self._dropped = dropped
        self._control: deque[JsonText] = deque()
        self._waiting: OrderedDict[Hashable, _Waiting] = OrderedDict()
        self._lanes: dict[UUID | None, _Lane] = {None: _Lane(None)}
        self._ready: list[tuple[UUID, Iterable[Frame], int]] = []
        self._sums = _Sums()
        self._arrived = asyncio.Event()

    @property
    def size(self) -> int:
        """Bytes that wait."""
        return self._sums.size

    @property
    def sessions(self) -> list[UUID]:
        """Those that are subscribed."""
        return [session_id for session_id in self._lanes if session_id is not None]

    @property
    def sent(self) -> dict[UUID, int]:
        """By subscribed session: the seq up to which everything was sent."""
        lanes = (lane for lane in self._lanes.values() if lane.held is None)
        return {lane.session_id: lane.sent for lane in lanes if lane.session_id is not None}

    def answer(self, text: JsonText) -> None:
        """An answer or a control frame: it goes before everything else."""
        self._control.append(text)
        ready, self._ready = self._ready, []
        for session_id, frames, sent in ready:
            self._begin(session_id, frames, sent)
        if len(self._control) > MOST_ANSWERS:
            self.fail(TRY_AGAIN_LATER, TOO_SLOW)
        self._arrived.set()

    def fail(self, code: int, reason: str) -> None:
        """Close instead of sending what waits; the first reason counts."""
        self.fault = self.fault or (code, reason)
        self._arrived.set()

    def hold(self, session_id: UUID) -> None:
        """Subscribe; frames are held back until `begin`."""
        self.forget(session_id)
        self._lanes[session_id] = _Lane(session_id, held=[])

    def begin(self, session_id: UUID, frames: Iterable[Frame], sent: int) -> None:
        """Behind the next answer, let `frames` go first, the client having everything up to seq `sent`, then what was
        held back.
        """
        self._ready.append((session_id, frames, sent))

    def _begin(self, session_id: UUID, frames: Iterable[Frame], sent: int) -> None:
        lane = self._lanes.get(session_id)
        if lane is None or lane.held is None:
            return  # Unsubscribed, or too much came meanwhile.
        held, lane.held, lane.sent = lane.held, None, sent
        self._add(lane, -lane.size, -lane.count)
        for frame in [*frames, *held]:
            self.put(frame)

    def forget(self, session_id: UUID) -> None:
        """Unsubscribe; what waits is not sent."""
        lane = self._lanes.pop(session_id, None)
        if lane is not None:
            self._take_out(lane)

    def give_up(self, session_id: UUID) -> None:
        """Unsubscribe and tell the client, which has to read the session again."""
        self.forget(session_id)
        self.answer(control("session.resync_required", {}, session_id))

    def put(self, frame: Frame) -> None:
        """A frame for whoever is subscribed to its session; one without a session is for everybody."""
        lane = self._lanes.get(frame.session_id)
        if lane is None or self.fault is not None:
            return
        if lane.held is not None:
            lane.held.append(frame)
            self._add(lane, len(frame.text), 1)
        else:
            self._put(lane, frame)
        is_long = lane.size > MOST_BYTES or self._sums.size > MOST_BYTES_OF_ALL
        if lane.count > MOST_FRAMES or (is_long and lane.size > len(frame.text)):
            self._overflow(lane)  # A frame that waits alone may be as long as it is.
        self._arrived.set()

    async def take(self) -> JsonText | None:
        """The next frame to send; None when the client is to be closed."""
        while self.fault is None:
            if self._control:
                return self._control.popleft()
            if self._waiting:
                return self._text(self._waiting.popitem(last=False)[1])
            self._arrived.clear()
            await self._arrived.wait()
        return None

    def _put(self, lane: _Lane, frame: Frame) -> None:
        notice, size = frame.notice, len(frame.text)
        key: Hashable = (lane.session_id, notice.key) if notice.key is not None else frame
        before = self._waiting.get(lane.last) if notice.grows is not None else None
        if before is not None and before.frames[-1].notice.grows == notice.grows:
            before.frames.append(frame)
            before.size += size
            self._add(lane, size, 0)
            return
        replaced = self._waiting.pop(key, None)
        if replaced is not None:
            self._add(lane, -replaced.size, 0)
        self._waiting[key] = _Waiting([frame], lane, size)
        lane.last = key
        self._add(lane, size, notice.key is None)

    def _text(self, waiting: _Waiting) -> JsonText:
        lane, frames = waiting.lane, waiting.frames
        self._add(lane, -waiting.size, -(frames[0].notice.key is None))
        seq = frames[-1].seq
        if seq is None:
            return frames[0].text
        first, lane.sent = lane.sent + 1, seq
        if len(frames) > 1:
            return frames[0].joined(frames[1:], first)
        # Frames that newer ones have taken the place of leave no hole: the next one stands for them.
        return frames[0].text if seq == first else frames[0].after(first)

    def _add(self, lane: _Lane, size: int, count: int) -> None:
        lane.size += size
        lane.count += count
        self._sums.size += size

    def _overflow(self, lane: _Lane) -> None:
        if lane.session_id is None:
            self.fail(TRY_AGAIN_LATER, TOO_SLOW)
            return
        self.give_up(lane.session_id)
        self._dropped(lane.session_id)

    def _take_out(self, lane: _Lane) -> None:
        for key in [key for key, waiting in self._waiting.items() if waiting.lane is lane]:
            del self._waiting[key]
        self._sums.size -= lane.size
