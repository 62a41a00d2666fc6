"""Hears what other processes on the same database say, over one connection of its own (LISTEN / NOTIFY)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING

import psycopg
from psycopg import sql

if TYPE_CHECKING:
    from psycopg.pq.misc import PGnotify

log = logging.getLogger("cos.database")

Hear = Callable[[str], Awaitable[None]]


class Listener:
    """Calls back for each notification. Whoever was not connected meanwhile is told to look for itself."""

    def __init__(self, conninfo: str, *, lost: Callable[[], object] = lambda: None) -> None:
        """`lost` is told when the connection is lost, or cannot be made."""
        self._conninfo = conninfo
        self._lost = lost
        self._channels: dict[str, Hear] = {}
        self._look: list[Callable[[], Awaitable[None]]] = []
        self._garbled: set[str] = set()
        """Channels on which something came that nobody here understands."""

    def on(self, channel: str, hear: Hear, *, look: Callable[[], Awaitable[None]]) -> None:
        """Await `hear` with each payload of `channel`, and `look` after each (re)connection: payloads may be missed.

        A payload at which `hear` raises ValueError is somebody else's, and passed over.
        """
        self._channels[channel] = hear
        self._look.append(look)

    async def listen(self) -> None:
        """Listen until the connection is lost.

        Raises:
            psycopg.Error: it was lost, or could not be made.
        """
        try:
            await self._listen()
        except psycopg.Error:
            self._lost()
            raise

    async def _listen(self) -> None:
        async with await psycopg.AsyncConnection.connect(self._conninfo, autocommit=True) as connection:
            for channel in self._channels:
                await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(channel)))
            for look in self._look:
                await look()
            encoding = connection.info.encoding
            async for word in _words(connection):
                await self._hear(word.relname.decode(encoding), word.extra.decode(encoding))

    async def _hear(self, channel: str, payload: str) -> None:
        try:
            await self._channels[channel](payload)
        except ValueError as error:
            if channel not in self._garbled:
                self._garbled.add(channel)
                log.warning("somebody says %.80r on %s, which means nothing here: %s", payload, channel, error)


async def _words(connection: psycopg.AsyncConnection) -> AsyncIterator[PGnotify]:
    """Each notification as it comes. psycopg's `notifies()` would wake up ten times a second to look for some."""
    while True:
        while word := connection.pgconn.notifies():
            yield word
        await _until_readable(connection.fileno())
        connection.pgconn.consume_input()


async def _until_readable(file: int) -> None:
    loop = asyncio.get_running_loop()
    is_readable = asyncio.Event()
    loop.add_reader(file, is_readable.set)
    try:
        await is_readable.wait()
    finally:
        loop.remove_reader(file)
