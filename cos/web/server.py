"""The server: one loopback socket, uvicorn behind it, and the hub for as long as it runs."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

import uvicorn

from cos.agent.errors import CosError
from cos.web.access import Access, cookie_key
from cos.web.app import guarded
from cos.web.hub import Hub
from cos.web.metrics import Metrics
from cos.web.socket import MOST_BYTES

if TYPE_CHECKING:
    from cos.web.core_port import WebCore

HOST: Final = "127.0.0.1"
STOP_SECONDS: Final = 2
"""How long open connections have when the server ends."""
_WAITING: Final = 128


class PortError(CosError):
    """The port cannot be listened on."""


def listening_socket(port: int) -> socket.socket:
    """A socket on 127.0.0.1; port 0 takes one that is free.

    Raises:
        PortError: the port is taken, or not allowed to this user.
    """
    made = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((HOST, port))
        made.listen(_WAITING)
    except OSError as error:
        made.close()
        raise PortError(
            f"port {port} of {HOST} cannot be used ({error.strerror}): another cos serve may run there. "
            "Give another one with --port, or 0 for any that is free"
        ) from error
    made.setblocking(False)
    return made


class Dashboard:
    """One server on one listening socket."""

    def __init__(self, core: WebCore, listening: socket.socket) -> None:
        """
        Raises:
            FolderError: the key of the cookies cannot be kept.
        """
        self.port: Final[int] = listening.getsockname()[1]
        self._listening = listening
        self._access = Access(cookie_key(core.paths.data_dir / "web.key"), self.port)
        self.hub = Hub(core)
        self._metrics = Metrics(core, self.hub)
        app = guarded(core, self.hub, self._metrics, self._access, self.port)
        self._server = _Uvicorn(
            uvicorn.Config(
                app, loop="none", http="h11", ws="websockets-sansio", ws_max_size=MOST_BYTES,
                ws_per_message_deflate=False, lifespan="off", log_config=None, access_log=False,
                proxy_headers=False, server_header=False, timeout_graceful_shutdown=STOP_SECONDS,
            )
        )  # fmt: skip

    @property
    def url(self) -> str:
        """What a person opens; it logs in."""
        return f"http://{HOST}:{self.port}/?token={self._access.token}"

    async def run(self, ready: Callable[[], object] = lambda: None) -> None:
        """Serve until cancelled; `ready` is called when connections are taken. Clients are closed in the end."""
        serving = asyncio.create_task(self._server.serve([self._listening]), name="web-server")
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self.hub.run())
                tasks.create_task(self._metrics.run())
                tasks.create_task(self._tell(serving, ready))
        finally:
            self._server.should_exit = True
            await asyncio.gather(serving, return_exceptions=True)

    async def _tell(self, serving: asyncio.Task[None], ready: Callable[[], object]) -> None:
        await self._server.takes_connections.wait()
        ready()
        await asyncio.shield(serving)
        raise CosError("the web server has ended")


class _Uvicorn(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.takes_connections = asyncio.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.takes_connections.set()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals belong to whoever runs the program."""
        yield
