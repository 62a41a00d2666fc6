"""A client that keeps what the page keeps, as its scripts do: connects for ever, notices holes, asks again.

See `static/js/connection.js`, `conversation_model.js` and `approvals_model.js`.
"""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from tests.web.reader import Json, Watched

AGAIN_SECONDS = 0.05


class UnansweredError(Exception):
    """The connection ended first: nobody knows what became of the request."""


@dataclass(slots=True)
class Followed:
    """One session."""

    watched: Watched = field(default_factory=Watched)
    boot_id: str | None = None
    is_asking: bool = False


class PageClient:
    """`address` gives the printed URL of the server, which is another one after each start."""

    def __init__(self, address: Callable[[], str], *, drop_every: int) -> None:
        self.sessions: dict[str, Followed] = {}
        self.approvals: dict[str, Json] = {}
        """All that were told of, as known."""
        self.drop_every = drop_every
        """0 = no frame of a session is lost on its way."""
        self.counts = {"replayed": 0, "snapshots": 0, "dropped": 0, "connections": 0}
        self._address = address
        self._ids = count(1)
        self._numbers = count(1)
        self._open: dict[int, Callable[[Json | None], object]] = {}
        self._socket: ClientConnection | None = None
        self._reading: asyncio.Task[None] | None = None

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            base, token = self._address().split("/?token=")
            headers, address = {"Authorization": f"Bearer {token}"}, base.replace("http://", "ws://") + "/ws"
            with suppress(OSError, WebSocketException):
                async with connect(address, additional_headers=headers, max_size=None, compression=None) as socket:
                    await self._read(socket)
            await asyncio.sleep(AGAIN_SECONDS)

    async def reconnect(self) -> None:
        if self._socket is not None:
            await self._socket.close()

    async def ask(self, action: str, **payload: Any) -> Json:
        """The frame that answers.

        Raises:
            UnansweredError: the connection ended.
        """
        told: asyncio.Future[Json | None] = asyncio.get_running_loop().create_future()
        await self._send(action, payload, lambda frame: None if told.done() else told.set_result(frame))
        answer = await told
        if answer is None:
            raise UnansweredError
        return answer

    async def follow(self, session_id: str) -> None:
        self.sessions[session_id] = Followed()
        with suppress(UnansweredError):  # The next hello asks again.
            await self._subscribe(session_id)

    async def unfollow(self, session_id: str) -> None:
        del self.sessions[session_id]
        with suppress(UnansweredError):
            await self.ask("session.unsubscribe", session_id=session_id)

    async def get(self, path: str) -> Json:
        """The JSON of a GET."""
        base, token = self._address().split("/?token=")
        request = urllib.request.Request(base + path, headers={"Authorization": f"Bearer {token}"})

        def read() -> Json:
            with urllib.request.urlopen(request, timeout=30) as answer:
                found: Json = json.load(answer)
                return found

        return await asyncio.to_thread(read)

    async def look_for_lost(self) -> None:
        """What the second heartbeat would bring to light: the last frames of a session were lost."""
        for session_id, followed in list(self.sessions.items()):
            last = (await self.get(f"/api/sessions/{session_id}/turns"))["last_seq"]
            if (followed.watched.seq or 0) < (last or 0) and not followed.is_asking:
                with suppress(UnansweredError):
                    await self._subscribe(session_id)

    @property
    def pending(self) -> list[Json]:
        return [approval for approval in self.approvals.values() if approval["status"] == "pending"]

    async def _send(self, action: str, payload: Json, answered: Callable[[Json | None], object]) -> None:
        socket = self._socket
        if socket is None:
            raise UnansweredError
        request_id = next(self._ids)
        self._open[request_id] = answered
        frame = {"id": request_id, "type": "request", "action": action, "payload": payload}
        try:
            await socket.send(json.dumps(frame, default=str))
        except WebSocketException as error:
            raise UnansweredError from error

    async def _subscribe(self, session_id: str) -> None:
        followed = self.sessions[session_id]
        followed.is_asking = True
        known = {} if followed.watched.seq is None else {
            "after_seq": followed.watched.seq, "boot_id": followed.boot_id,
        }  # fmt: skip

        def answered(frame: Json | None) -> None:
            followed.is_asking = False
            if frame is not None:
                assert frame["type"] == "response", frame
                self.counts["replayed"] += frame["payload"]["replayed"]

        await self._send("session.subscribe", {"session_id": session_id} | known, answered)

    async def _read(self, socket: ClientConnection) -> None:
        loads: set[asyncio.Task[None]] = set()
        try:
            async for text in socket:
                frame = json.loads(text)
                if frame["action"] == "hello":
                    self._socket = socket
                    self.counts["connections"] += 1
                    loads.add(asyncio.create_task(self._load_approvals()))
                with suppress(UnansweredError):
                    for session_id in self._take(frame):
                        await self._subscribe(session_id)
        finally:
            self._socket = None
            answers, self._open = self._open, {}
            for answered in answers.values():
                answered(None)
            await asyncio.gather(*loads)

    def _take(self, frame: Json) -> list[str]:
        """The sessions that have to be asked for then."""
        action, payload = frame["action"], frame["payload"]
        if frame["type"] != "notification":
            self._open.pop(frame["id"])(frame)
        elif action == "hello":
            return list(self.sessions)
        elif action == "session.resync_required":
            self.sessions[frame["session_id"]].watched.seq = None
            return [frame["session_id"]]
        elif action in {"approval.requested", "approval.resolved"}:
            self._put(payload)
        elif "seq" in frame and frame["session_id"] in self.sessions:
            return self._of_session(frame, self.sessions[frame["session_id"]])
        return []

    def _of_session(self, frame: Json, followed: Followed) -> list[str]:
        watched, is_snapshot = followed.watched, frame["action"] == "session.snapshot"
        if is_snapshot:
            self.counts["snapshots"] += 1
        elif self.drop_every and next(self._numbers) % self.drop_every == 0:
            self.counts["dropped"] += 1
            return []
        elif watched.seq is None or frame["boot_id"] != followed.boot_id or frame["seq"] <= watched.seq:
            return []
        elif frame.get("first", frame["seq"]) != watched.seq + 1:
            return [] if followed.is_asking else [frame["session_id"]]
        followed.boot_id = frame["boot_id"]
        watched.apply(frame)
        return []

    async def _load_approvals(self) -> None:
        before = set(self.approvals)
        try:
            waiting = {approval["id"]: approval for approval in (await self.get("/api/approvals"))["approvals"]}
        except (OSError, urllib.error.URLError):
            return  # It died; the next hello reads them.
        for approval in waiting.values():
            self._put(approval)
        for approval_id in before - waiting.keys():
            self._put(self.approvals[approval_id] | {"status": "gone"})

    def _put(self, approval: Json) -> None:
        before = self.approvals.get(approval["id"])
        if before is None or before["status"] == "pending" or approval["status"] != "pending":
            self.approvals[approval["id"]] = (before or {}) | approval
