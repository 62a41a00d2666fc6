"""One WebSocket: its requests are worked on one after the other, what waits for it is sent by a task of its own."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Final

from starlette.websockets import WebSocket, WebSocketDisconnect

from cos import __version__
from cos.web.errors import RequestError
from cos.web.frames import control, error
from cos.web.hub import HEARTBEAT_SECONDS
from cos.web.objects import server_time
from cos.web.outbox import TOO_SLOW, TRY_AGAIN_LATER

if TYPE_CHECKING:
    from cos.web.counts import Counts
    from cos.web.hub import Hub
    from cos.web.outbox import Outbox
    from cos.web.requests import Requests

PROTOCOL: Final = 1
SEND_SECONDS: Final = 30.0
"""A client that takes nothing for so long is closed."""
CLOSE_SECONDS: Final = 1.0
MOST_BYTES: Final = 1024 * 1024
"""Of a frame that a client sends."""


class Sockets:
    """The endpoint `/ws`; the guard has let the client in."""

    def __init__(self, hub: Hub, requests: Requests) -> None:
        self._hub = hub
        self._requests = requests

    async def serve(self, websocket: WebSocket) -> None:
        await websocket.accept()
        client = self._hub.join()
        client.answer(control("hello", self._hello()))
        sending = asyncio.create_task(_send(websocket, client, self._hub.counts), name="websocket-send")
        receiving = asyncio.create_task(self._receive(websocket, client), name="websocket-receive")
        try:
            await asyncio.wait({sending, receiving}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            self._hub.leave(client)
            for task in (sending, receiving):
                task.cancel()
            await asyncio.gather(sending, receiving, return_exceptions=True)
            await _close(websocket, *(client.fault or (1000, "")))

    def _hello(self) -> dict[str, object]:
        return {
            "protocol": PROTOCOL,
            "boot_id": self._hub.boot_id,
            "version": __version__,
            "heartbeat_seconds": HEARTBEAT_SECONDS,
        } | server_time()

    async def _receive(self, websocket: WebSocket, client: Outbox) -> None:
        while True:
            message = await websocket.receive()
            if message["type"] == "websocket.disconnect":
                return
            text = message.get("text")
            try:
                frame = json.loads(text if text is not None else "")
            except (ValueError, RecursionError):
                refusal = RequestError("bad_request", "a frame is one JSON object, sent as text")
                client.answer(error(None, None, refusal))
                continue
            client.answer(await self._requests.answer(client, frame))


async def _send(websocket: WebSocket, client: Outbox, counts: Counts) -> None:
    while (text := await client.take()) is not None:
        try:
            async with asyncio.timeout(SEND_SECONDS):
                await websocket.send_text(text)
            counts.sent += 1
        except TimeoutError:
            client.fail(TRY_AGAIN_LATER, TOO_SLOW)
            return
        except WebSocketDisconnect:
            return


async def _close(websocket: WebSocket, code: int, reason: str) -> None:
    try:
        async with asyncio.timeout(CLOSE_SECONDS):
            await websocket.close(code, reason)
    except (TimeoutError, RuntimeError, WebSocketDisconnect):
        pass  # It is closed already, or takes not even that.
