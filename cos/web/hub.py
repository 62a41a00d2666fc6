"""Between the live feed and the clients: one reader of the feed, one channel per watched session, one outbox a client.

Nothing here waits for a client. What has to be read from the tables is read by the `Keeper`.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Final

from cos.agent.ids import new_id
from cos.core.live import Resync, SessionDeleted, session_of
from cos.web.channel import Channel
from cos.web.counts import Counts
from cos.web.frames import Frame, Notice, control
from cos.web.keeper import Keeper
from cos.web.known import QUEUE
from cos.web.live_turns import LiveTurns
from cos.web.money import Money
from cos.web.objects import server_time
from cos.web.outbox import Outbox
from cos.web.snapshots import LiveState, Snapshots
from cos.web.telling import Telling

if TYPE_CHECKING:
    from uuid import UUID

    from cos.core.live import CoreEvent
    from cos.web.core_port import WebCore

FLUSH_SECONDS: Final = 0.02
HEARTBEAT_SECONDS: Final = 15.0
KEPT_SECONDS: Final = 60.0
"""How long a session that nobody watches any more is still recorded, for clients that come back."""
FEED_LIMIT: Final = 200_000
GOING_AWAY: Final = 1001


class Hub:
    """One per server."""

    def __init__(self, core: WebCore) -> None:
        self.boot_id: Final = new_id()
        """Of this server: sequences of another one mean nothing here."""
        self.clients: set[Outbox] = set()
        self.counts: Final = Counts()
        self.live: Final = LiveTurns()
        self.channels: dict[UUID, Channel] = {}
        self.money: Final = Money(core.plugins.offered("bill"))
        self.snapshots: Final = Snapshots(core, self.money, self.live)
        self.keeper: Final = Keeper(core, self)
        self._telling = Telling(self)
        self._core = core
        self._floor = 0
        self._grown = asyncio.Event()

    async def run(self) -> None:
        """Serve the clients until cancelled; then close them."""
        self._core.pulse.watchers.append(self._pulse_changed)
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._read())
                tasks.create_task(self._flush())
                tasks.create_task(self._beat())
                tasks.create_task(self.keeper.run())
        finally:
            self._core.pulse.watchers.remove(self._pulse_changed)
            for client in tuple(self.clients):
                client.fail(GOING_AWAY, "the server is ending")

    def join(self) -> Outbox:
        """A new client."""
        client = Outbox(lambda session_id: self._gave_up(client, session_id))
        self.clients.add(client)
        return client

    def leave(self, client: Outbox) -> None:
        self.clients.discard(client)
        for session_id in client.sessions:
            self.unsubscribe(client, session_id)

    def tell_all(self, notice: Notice) -> None:
        if self.clients:
            frame = Frame(notice=notice, session_id=None, seq=None)
            self.counts.frames += 1
            for client in tuple(self.clients):
                client.put(frame)

    def grow(self) -> None:
        """Text waits in a channel."""
        self._grown.set()

    async def subscribe(
        self, client: Outbox, session_id: UUID, *, after_seq: int | None, boot_id: UUID | None
    ) -> tuple[int, bool]:
        """Let the client have the session's frames; the seq that it begins after, and whether frames are sent again.

        The client is registered first and what comes from then on held back; then the tables are read.

        Raises:
            RequestError: there is no such session.
        """
        self.unsubscribe(client, session_id)
        channel = self._channel(session_id)
        channel.flush()
        missed = channel.frames_after(after_seq) if after_seq is not None and boot_id == self.boot_id else None
        client.hold(session_id)
        channel.clients.add(client)
        channel.left_at = None
        if missed is not None:
            assert after_seq is not None
            client.begin(session_id, missed, after_seq)
            return channel.seq, True
        channel.known.forget(QUEUE)
        seq, state = channel.seq, LiveState.of(self.live.of(session_id), channel.reply)
        try:
            payload = await self.snapshots.snapshot(session_id, state)
        except BaseException:
            self.unsubscribe(client, session_id)
            raise
        self.keeper.given(payload["approvals"])
        channel.known.begin(payload["messages"], payload["turns"])
        if self.live.of(session_id) is None:
            self.keeper.wake(touched=session_id)  # What another process did meanwhile was not told to it yet.
        client.begin(session_id, [channel.snapshot(payload, seq)], seq - 1)
        return seq, False

    def unsubscribe(self, client: Outbox, session_id: UUID) -> None:
        client.forget(session_id)
        channel = self.channels.get(session_id)
        if channel is not None:
            channel.clients.discard(client)
            if not channel.clients:
                channel.left_at = time.monotonic()

    def _channel(self, session_id: UUID) -> Channel:
        channel = self.channels.get(session_id)
        if channel is None:
            # Above every seq of a channel that was dropped: a client that comes back with one of those has missed some.
            channel = self.channels[session_id] = Channel(session_id, self.boot_id, self._floor, self.counts)
        return channel

    def _drop(self, session_id: UUID) -> None:
        channel = self.channels.pop(session_id)
        self._floor = max(self._floor, channel.seq + 1)

    def _gave_up(self, client: Outbox, session_id: UUID) -> None:
        self.counts.resyncs += 1
        self.unsubscribe(client, session_id)

    async def _read(self) -> None:
        with self._core.feed.subscribe(limit=FEED_LIMIT) as events:
            async for live in events:
                if isinstance(live.event, Resync):
                    self._missed_events(live.event)
                else:
                    self._see(live.event)

    def _see(self, event: CoreEvent) -> None:
        session_id = session_of(event)
        self._telling.tell(event, self.channels.get(session_id))
        if isinstance(event, SessionDeleted) and session_id in self.channels:
            for client in tuple(self.channels[session_id].clients):
                self.unsubscribe(client, session_id)
            self._drop(session_id)

    def _missed_events(self, missed: Resync) -> None:
        """Read again what other processes do; of this one clients read everything again, as this server has to."""
        self.keeper.wake(approvals=True)
        if missed.of_others:
            for session_id in self.channels:
                self.keeper.wake(touched=session_id)
            return
        self.live.tear()
        for session_id, channel in tuple(self.channels.items()):
            for client in tuple(channel.clients):
                client.give_up(session_id)
            self._drop(session_id)

    async def _flush(self) -> None:
        """At most 50 times a second: what has grown in the channels."""
        while True:
            await self._grown.wait()
            await asyncio.sleep(FLUSH_SECONDS)
            self._grown.clear()
            for channel in tuple(self.channels.values()):
                channel.flush()

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            for client in tuple(self.clients):
                seqs = {str(session_id): seq for session_id, seq in client.sent.items()}
                client.answer(control("heartbeat", {"seqs": seqs} | server_time()))
            left = time.monotonic() - KEPT_SECONDS
            for session_id, channel in tuple(self.channels.items()):
                if channel.left_at is not None and channel.left_at < left:
                    self._drop(session_id)

    def _pulse_changed(self) -> None:
        trouble = self._core.pulse.words
        self.tell_all(Notice(action="database.changed", payload={"trouble": trouble}, key="database.changed"))
        if not trouble:
            self.keeper.wake(approvals=True)
