"""What one watched session says: its frames in one sequence, the newest of them held for clients that come back."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from cos.web.frames import Frame, Notice
from cos.web.known import Known

if TYPE_CHECKING:
    from uuid import UUID

    from cos.web.counts import Counts
    from cos.web.objects import Json
    from cos.web.outbox import Outbox

HELD_FRAMES: Final = 500
HELD_BYTES: Final = 1024 * 1024
MOST_OUTPUT: Final = 64 * 1024
"""Characters of a tool's live output in one frame; the newest count, the whole stands in its result."""


@dataclass(slots=True)
class _Growth:
    """Text that has come since the last frame of it."""

    action: str
    place: Json
    pieces: deque[str] = field(default_factory=deque)
    length: int = 0
    omitted: int = 0

    def add(self, text: str, most: int | None) -> None:
        self.pieces.append(text)
        self.length += len(text)
        while most is not None and self.length > most:
            over, piece = self.length - most, self.pieces.popleft()
            kept = piece[over:]
            self.omitted += len(piece) - len(kept)
            self.length -= len(piece) - len(kept)
            if kept:
                self.pieces.appendleft(kept)

    def notice(self, key: Hashable, most: int | None) -> Notice:
        omitted = {} if most is None else {"omitted": self.omitted}
        return Notice(action=self.action, payload=self.place | {"text": "".join(self.pieces)} | omitted, grows=key)


class Channel:
    """Of one session, from its first subscriber until a while after its last."""

    def __init__(self, session_id: UUID, boot_id: UUID, seq: int, counts: Counts) -> None:
        """`seq`: no frame of this boot has a higher one."""
        self.session_id: Final = session_id
        self.seq = seq
        self.clients: set[Outbox] = set()
        self.left_at: float | None = None
        """When the last subscriber left."""
        self.known: Final = Known()
        self.reply: Json | None = None
        """What was told of the reply that a turn of another process streams, as `open_reply` of a snapshot."""
        self._names: Json = {"session_id": str(session_id), "boot_id": str(boot_id)}
        self._counts = counts
        self._held: deque[Frame] = deque()
        self._held_bytes = 0
        self._growing: dict[Hashable, tuple[_Growth, int | None]] = {}

    def tell(self, notice: Notice) -> None:
        """Say it now, and before it all text that came before it."""
        self.flush()
        self._emit(notice)

    def grow(self, action: str, key: Hashable, place: Json, text: str) -> None:
        """Text that the next `flush` says, together with what comes until then."""
        growth = self._growing.get(key)
        if growth is None:
            most = MOST_OUTPUT if action == "session.tool.output" else None
            growth = self._growing[key] = (_Growth(action, place), most)
        growth[0].add(text, growth[1])

    def flush(self) -> None:
        if self._growing:
            growing, self._growing = self._growing, {}
            for key, (growth, most) in growing.items():
                self._emit(growth.notice(key, most))

    def frames_after(self, seq: int) -> list[Frame] | None:
        """The frames that follow it; None when they are not all held, or it is of another time."""
        if not self.seq - len(self._held) <= seq <= self.seq:
            return None
        missing = self.seq - seq
        return list(self._held)[len(self._held) - missing :]

    def snapshot(self, payload: Json, seq: int) -> Frame:
        """The state as of `seq`, for one client: it takes the place of the frame with that number."""
        notice = Notice(action="session.snapshot", payload=payload)
        return Frame(notice=notice, session_id=self.session_id, seq=seq, names=self._names)

    def _emit(self, notice: Notice) -> None:
        self.seq += 1
        self._counts.frames += 1
        frame = Frame(notice=notice, session_id=self.session_id, seq=self.seq, names=self._names)
        self._held.append(frame)
        self._held_bytes += len(frame.text)
        while len(self._held) > HELD_FRAMES or self._held_bytes > HELD_BYTES:
            self._held_bytes -= len(self._held.popleft().text)
        for client in tuple(self.clients):
            client.put(frame)
