"""As much of HTTP/1.1 as the server needs, with every byte in its own hands: so that a test can cut anywhere."""

from __future__ import annotations

import asyncio
import json
import socket
import struct
import time
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any


class PeerClosed(Exception):
    """The client is gone."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    method: str
    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: bytes
    arrived_at: float
    """When its last byte was there, as time.monotonic() says on the whole machine."""


async def read_request(reader: asyncio.StreamReader) -> HttpRequest | None:
    """The next request on a connection, None when the client closed it."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        method, path, _ = lines[0].split(" ", 2)
        pairs = (line.partition(":") for line in lines[1:] if line)
        headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    return HttpRequest(method, path.partition("?")[0], headers, body, time.monotonic())


class Connection:
    """Writes one answer at a time; knows when the client leaves."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def send_whole(self, status: int, body: bytes, content_type: str, headers: Mapping[str, str]) -> None:
        sized = {"content-type": content_type, "content-length": str(len(body)), **headers}
        await self._write(_head(status, sized) + body)

    async def begin_stream(self, status: int, headers: Mapping[str, str]) -> None:
        kinds = {"content-type": "text/event-stream; charset=utf-8", "transfer-encoding": "chunked"}
        await self._write(_head(status, {**kinds, **headers}))

    async def send_event(self, name: str, data: dict[str, Any] | bytes) -> None:
        payload = data if isinstance(data, bytes) else json.dumps(data, ensure_ascii=False).encode()
        await self._write(_chunk(b"event: " + name.encode() + b"\ndata: " + payload + b"\n\n"))

    async def end_stream(self) -> None:
        await self._write(b"0\r\n\r\n")

    async def close_in_mid_chunk(self) -> None:
        await self._write(b"ff\r\nevent: content_bl")
        self._writer.close()

    def reset(self) -> None:
        """Close with RST: what the client has not read yet is lost too."""
        sock: socket.socket = self._writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    async def wait(self, seconds: float | None) -> None:
        """Let time pass (None = for ever).

        Raises:
            PeerClosed: the client left meanwhile.
        """
        try:
            async with asyncio.timeout(seconds):
                # A client sends nothing while it waits for an answer, so that any end of this read is its leaving.
                await self._reader.read(1)
        except TimeoutError:
            return
        except ConnectionError:
            pass
        raise PeerClosed

    async def _write(self, data: bytes) -> None:
        try:
            self._writer.write(data)
            await self._writer.drain()
        except ConnectionError as error:
            raise PeerClosed from error


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase if status in _PHRASES else 'Scripted'}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _chunk(data: bytes) -> bytes:
    return f"{len(data):x}\r\n".encode() + data + b"\r\n"


_PHRASES = {int(status) for status in HTTPStatus}
