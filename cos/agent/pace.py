"""How often something is done that is wanted again and again: at once after a rest, and else when the rest is over."""

from __future__ import annotations

import asyncio
import time


class Pace:
    """One task works: `turn`, the work, `rest`, and again. Whoever has work for it calls `want`."""

    def __init__(self, shortest_seconds: float, longest_seconds: float) -> None:
        """A rest is as long as the work before it took, within these bounds."""
        self._shortest = shortest_seconds
        self._longest = longest_seconds
        self._may_work = asyncio.Event()
        self._is_working = self._is_hurried = False
        self._began = self._rests_until = 0.0
        self._end_of_rest: asyncio.TimerHandle | None = None

    async def turn(self) -> None:
        """Wait until there is something to do and the rest is over."""
        await self._may_work.wait()
        self._may_work.clear()
        self._began, self._is_working = time.monotonic(), True

    def rest(self) -> None:
        """The work is done. What was wanted while it went on has to be wanted again."""
        ended, self._is_working = time.monotonic(), False
        self._rests_until = ended + min(max(self._shortest, ended - self._began), self._longest)

    def want(self) -> None:
        """There is something to do. Most of the time nothing has to be timed for that."""
        if self._is_working or self._end_of_rest is not None:
            return
        seconds = self._rests_until - time.monotonic()
        if seconds <= 0 or self._is_hurried:
            self._may_work.set()
        else:
            self._end_of_rest = asyncio.get_running_loop().call_later(seconds, self._go_on)

    def hurry(self) -> None:
        """No rest any more, and a turn at once."""
        self._is_hurried = True
        self._go_on()

    def _go_on(self) -> None:
        if self._end_of_rest is not None:
            self._end_of_rest.cancel()
            self._end_of_rest = None
        self._may_work.set()
