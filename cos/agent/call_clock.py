"""The running time of one tool call. It stands still, and with it the time limit, while the call waits for the user."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager


class CallClock:
    """Starts when it is made; `limit` is the call's own time limit."""

    def __init__(self, limit: asyncio.Timeout) -> None:
        self._limit = limit
        self._began = time.monotonic()
        self._waited = 0.0
        self._waits = 0
        """How many questions of the call are open."""
        self._stopped_at = self._began
        self._due: float | None = None
        """When the limit would have been reached, had the clock not stopped."""

    @property
    def running_ms(self) -> int:
        return round((time.monotonic() - self._began - self._waited) * 1000)

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Within a running call. The first question stops the clock, the end of the last one starts it again."""
        self._waits += 1
        if self._waits == 1:
            self._stopped_at, self._due = time.monotonic(), self._limit.when()
            self._limit.reschedule(None)
        try:
            yield
        finally:
            self._waits -= 1
            if self._waits == 0:
                waited = time.monotonic() - self._stopped_at
                self._waited += waited
                self._limit.reschedule(None if self._due is None else self._due + waited)
