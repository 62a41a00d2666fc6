"""The end of a process whose server may hang: it has a few seconds to answer, then nobody waits for it any more."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from cos.core.postgres.pulse import Pulse

log = logging.getLogger("cos.database")

TROUBLED_SECONDS: Final = 5.0
"""How long a server has from the beginning of the end when it does not answer."""
LONGEST_SECONDS: Final = 30.0
"""How long it has when it seemed to answer: turns take up to 8 s to stop, and what they leave is stored."""


class Parting:
    """One per process."""

    def __init__(self, pulse: Pulse, cut: Callable[[], Awaitable[None]]) -> None:
        """`cut` lets everything fail that waits for the server."""
        self._pulse = pulse
        self._cut = cut
        self._waiting: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """The process ends. Said again it changes nothing."""
        if self._waiting is None:
            self._waiting = asyncio.create_task(self._wait(), name="parting")

    async def end(self) -> None:
        """The process has what it needs."""
        if self._waiting is not None:
            self._waiting.cancel()
            await asyncio.wait({self._waiting})

    async def _wait(self) -> None:
        began, changed = time.monotonic(), asyncio.Event()
        self._pulse.watchers.append(changed.set)
        try:
            while (left := began + self._seconds - time.monotonic()) > 0:
                changed.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(left):
                        await changed.wait()
        finally:
            self._pulse.watchers.remove(changed.set)
        log.warning("the database is not waited for any longer")
        await self._cut()

    @property
    def _seconds(self) -> float:
        return TROUBLED_SECONDS if self._pulse.trouble else LONGEST_SECONDS


def hang_up(line: int) -> None:
    """Let whoever waits on a connection read that its server has gone. Its descriptor stays: a loop watches it."""
    with contextlib.suppress(OSError), socket.socket(fileno=os.dup(line)) as copy:
        copy.shutdown(socket.SHUT_RDWR)
