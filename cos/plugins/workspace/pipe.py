"""Reading the output pipe of a command in the event loop, and keeping it drained for what still runs afterwards."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

READ_BYTES = 65_536
_DISCARD_PAUSE_SECONDS = 0.1


class PipeReader:
    """Owns the read end of a pipe.

    Each read is one callback of the event loop, so that everything else there gets its turn between two reads, however
    fast the writer is.
    """

    def __init__(self, receive: Callable[[bytes], None]) -> None:
        self._receive = receive
        self._loop = asyncio.get_running_loop()
        self._fd, self.write_fd = os.pipe()
        os.set_blocking(self._fd, False)
        self._ended = asyncio.Event()
        self._resume: asyncio.TimerHandle | None = None
        self._loop.add_reader(self._fd, self._on_readable)

    @property
    def is_open(self) -> bool:
        return self._fd >= 0

    def close_write_end(self) -> None:
        """Close this process' copy of the write end; the pipe ends when every child has closed its own."""
        if self.write_fd >= 0:
            os.close(self.write_fd)
            self.write_fd = -1

    async def drain(self, seconds: float) -> None:
        """Receive what is in the pipe: up to its end, or for at most `seconds` when somebody keeps it open."""
        try:
            async with asyncio.timeout(seconds):
                await self._ended.wait()
        except TimeoutError:
            # A busy event loop may not have read at all in that time: one pipe full is there at most.
            self._on_readable()

    def discard(self) -> None:
        """Go on reading slowly and forget it all: a background process that writes is neither blocked nor killed."""
        self._receive = _forget
        if self.is_open:
            self._loop.remove_reader(self._fd)
            self._discard_some()

    def close(self) -> None:
        self.close_write_end()
        if self._resume is not None:
            self._resume.cancel()
        if self.is_open:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1
        self._ended.set()

    def _on_readable(self) -> None:
        if not self.is_open:
            return
        try:
            data = os.read(self._fd, READ_BYTES)
        except BlockingIOError:
            return
        if data:
            self._receive(data)
        else:
            self.close()

    def _discard_some(self) -> None:
        self._on_readable()
        if self.is_open:
            self._resume = self._loop.call_later(_DISCARD_PAUSE_SECONDS, self._discard_some)


def _forget(_: bytes) -> None:
    """The receiver of output that nobody waits for any more."""
