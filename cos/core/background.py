"""Work that repeats while the program runs. Every task has an owner here, who logs its failures and ends it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

log = logging.getLogger("cos.background")

_AT_LEAST_SECONDS = 1.0
"""Between two beginnings of the same work."""


class Background:
    """Owns repeating tasks from `every` until `close`."""

    def __init__(self) -> None:
        self._tasks: list[asyncio.Task[None]] = []

    def every(
        self, seconds: float, name: str, work: Callable[[], Awaitable[object]], *, first: float | None = None
    ) -> None:
        """Await `work` every `seconds`, the first time after `first`. A failure is logged and tried again then."""
        pause = seconds if first is None else first
        self._tasks.append(asyncio.create_task(_repeat(pause, seconds, name, work), name=name))

    def keep(self, name: str, work: Callable[[], Awaitable[object]]) -> None:
        """Await `work`, which goes on for ever, and begin it again a moment after it has ended or failed."""
        self.every(0, name, work)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _repeat(pause: float, seconds: float, name: str, work: Callable[[], Awaitable[object]]) -> None:
    while True:
        await asyncio.sleep(pause)
        pause = max(seconds, _AT_LEAST_SECONDS)
        try:
            await work()
        except Exception:
            log.exception("%s failed; it is tried again in %g s", name, pause)
