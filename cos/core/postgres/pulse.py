"""Whether the database answers: looked at every few seconds, and at once when something gives reason to doubt it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from typing import Final

from cos.core.errors import DatabaseError

log = logging.getLogger("cos.database")

BEAT_SECONDS: Final = 5.0
AGAIN_SECONDS: Final = 0.5
"""Between two looks while it does not answer."""
LATE_SECONDS: Final = 1.0
"""A look that takes longer counts as no answer, until it has one after all."""
_LATE: Final = "the database does not answer"


class Pulse:
    """One per process. Whatever fails may doubt; only a look of its own changes what is said."""

    def __init__(self, look: Callable[[], Awaitable[None]]) -> None:
        """`look` raises DatabaseError when the database does not answer."""
        self.trouble = ""
        """Why the database does not answer, as a sentence; empty while it does."""
        self.watchers: list[Callable[[], object]] = []
        """Called when `trouble` has changed."""
        self._look = look
        self._doubted = asyncio.Event()
        self._looked = asyncio.Event()
        self._answers = asyncio.Event()
        self._answers.set()

    @property
    def words(self) -> str:
        """What a status line says while there is trouble; the log has the reason. Else empty."""
        return f"{self.trouble.partition(':')[0]}; trying again" if self.trouble else ""

    def doubt(self) -> None:
        """Something failed that the database may be the reason of: look now."""
        self._doubted.set()

    async def ask(self) -> str:
        """Look now: `trouble` after that."""
        self.doubt()
        looked = self._looked
        await looked.wait()
        return self.trouble

    async def answers(self) -> None:
        """Wait until it answers."""
        await self._answers.wait()

    async def run(self) -> None:
        """Look for as long as the program runs."""
        while True:
            self._doubted.clear()
            await self._once()
            self._looked.set()
            self._looked = asyncio.Event()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(AGAIN_SECONDS if self.trouble else BEAT_SECONDS):
                    await self._doubted.wait()

    async def _once(self) -> None:
        looking = asyncio.ensure_future(self._look())
        try:
            done, _ = await asyncio.wait({looking}, timeout=LATE_SECONDS)
            if not done:
                self._say(_LATE)
            await looking
        except DatabaseError as error:
            self._say(str(error))
        else:
            self._say("")
        finally:
            looking.cancel()

    def _say(self, trouble: str) -> None:
        changed, self.trouble = trouble != self.trouble, trouble
        if changed:
            log.warning("%s", trouble or "the database answers again")
        if trouble:
            self._answers.clear()
        else:
            self._answers.set()
        for watcher in list(self.watchers) if changed else ():
            watcher()
