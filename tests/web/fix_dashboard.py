"""A dashboard on a real core and a real port inside the test, and clients of it."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from websockets.asyncio.client import ClientConnection, connect

from cos.web.server import Dashboard, listening_socket
from tests.web.reader import Json, Reader, Watched

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cos.agent.providers.scripted import ScriptedProvider
    from cos.cli.running_core import Core
    from tests.fix_home import CoreHome

PATIENCE_SECONDS = 30.0
SNAPSHOT = "session.snapshot"


@dataclass(slots=True)
class WebClient:
    """A connected client that reads on until something is so."""

    socket: ClientConnection
    reader: Reader = field(default_factory=Reader)
    _ids: Iterator[int] = field(default_factory=lambda: count(1))
    _passed: deque[Json] = field(default_factory=deque)
    """Notifications that came while something else was waited for, oldest first."""

    async def ask(self, action: str, **payload: Any) -> Json:
        """The frame that answers."""
        request_id = next(self._ids)
        frame = {"id": request_id, "type": "request", "action": action, "payload": payload}
        await self.socket.send(json.dumps(frame, default=str))
        async with asyncio.timeout(PATIENCE_SECONDS):
            while (frame := await self._read())["id"] != request_id:
                self._passed.append(frame)
        return frame

    async def until(self, is_it: Callable[[Json], object]) -> Json:
        """Read up to the frame that is meant."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not is_it(frame := self._passed.popleft() if self._passed else await self._read()):
                pass
        return frame

    async def when(self, holds: Callable[[], object]) -> None:
        """Read on while what is known is not so."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not holds():
                self._passed.append(await self._read())

    async def told(self, action: str) -> Json:
        """The payload of the next notification of this kind."""
        payload: Json = (await self.until(lambda frame: frame["action"] == action and frame["id"] is None))["payload"]
        return payload

    async def subscribed(self, session_id: str, **more: Any) -> Watched:
        """What is known of the session from now on, when the server has sent it whole."""
        sessions = self.reader.sessions
        before = sessions[session_id].actions.count(SNAPSHOT) if session_id in sessions else 0
        answer = await self.ask("session.subscribe", session_id=session_id, **more)
        assert answer["type"] == "response", answer
        if not answer["payload"]["replayed"]:
            await self.when(lambda: session_id in sessions and sessions[session_id].actions.count(SNAPSHOT) > before)
        return sessions[session_id]

    async def _read(self) -> Json:
        return self.reader.take(str(await self.socket.recv()))


@asynccontextmanager
async def client_of(url: str, **options: Any) -> AsyncIterator[WebClient]:
    """`url` is the printed one, with the token."""
    base, token = url.split("/?token=")
    headers = {"Authorization": f"Bearer {token}"} | options.pop("headers", {})
    address = base.replace("http://", "ws://") + "/ws"
    async with connect(address, additional_headers=headers, max_size=None, compression=None, **options) as socket:
        yield WebClient(socket)


@dataclass(slots=True)
class Served:
    """A running dashboard."""

    core: Core
    dashboard: Dashboard
    model: ScriptedProvider
    """Of the profile home; that of work runs the demo."""

    @property
    def url(self) -> str:
        return self.dashboard.url

    @property
    def base(self) -> str:
        return self.url.partition("/?")[0]

    @property
    def token(self) -> str:
        return self.url.partition("token=")[2]

    def client(self, **options: Any) -> Any:
        return client_of(self.url, **options)

    async def raw(self, request: str) -> bytes:
        """What the server answers to these bytes, up to its closing or a pause."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.dashboard.port)
        writer.write(request.replace("\n", "\r\n").encode())
        answer = b""
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while piece := await reader.read(65_536):
                    answer += piece
        finally:
            writer.close()
        return answer

    async def get(self, path: str, **headers: str) -> tuple[int, Json]:
        """Status and JSON body of a GET with the token."""
        more = "".join(f"{name.replace('_', '-')}: {value}\n" for name, value in headers.items())
        answer = await self.raw(
            f"GET {path} HTTP/1.1\nHost: localhost:{self.dashboard.port}\nConnection: close\n"
            f"Authorization: Bearer {self.token}\n{more}\n"
        )
        head, _, body = answer.partition(b"\r\n\r\n")
        return int(head.split()[1]), json.loads(body)


@pytest.fixture
async def dashboard(core_home: CoreHome) -> AsyncIterator[Served]:
    """Of a core with the profiles home and work."""
    async with served(core_home) as made:
        yield made


@asynccontextmanager
async def served(core_home: CoreHome) -> AsyncIterator[Served]:
    model = core_home.script()
    core = await core_home.open()
    ready = asyncio.Event()
    with listening_socket(0) as listening:
        dashboard = Dashboard(core, listening)
        task = asyncio.create_task(dashboard.run(ready.set))
        await ready.wait()
        try:
            yield Served(core, dashboard, model)
        finally:
            task.cancel()
            await asyncio.wait({task})
