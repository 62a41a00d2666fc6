"""Cancellation as a normal outcome: one token per turn, joined by everybody who wants to stop it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine
from typing import Any, TypeVar
from weakref import WeakSet

from cos.agent.errors import TurnCancelled

T = TypeVar("T")


class CancelToken:
    """Set once, never unset. Cancelling twice, or from two places, keeps the first reason."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._reason: str | None = None
        self._children: WeakSet[CancelToken] = WeakSet()

    def child(self) -> CancelToken:
        """A token that is set when this one is, and may be set alone."""
        child = CancelToken()
        self._children.add(child)
        if self._event.is_set():
            child.cancel(self._reason or "")
        return child

    @property
    def reason(self) -> str | None:
        """Why the turn is to stop, or None while it may go on."""
        return self._reason

    @property
    def is_set(self) -> bool:
        return self._event.is_set()

    def cancel(self, reason: str = "by the user") -> None:
        if not self._event.is_set():
            self._reason = reason
            self._event.set()
            for child in tuple(self._children):
                child.cancel(reason)

    async def wait(self) -> str:
        """Return the reason once the token is set."""
        await self._event.wait()
        return self._reason or ""

    def check(self) -> None:
        """
        Raises:
            TurnCancelled: the token is set.
        """
        if self._event.is_set():
            raise TurnCancelled(self._reason or "")

    async def guard(self, work: Coroutine[Any, Any, T], *, grace_seconds: float = 0) -> T:
        """Await `work`; when the token is set first, cancel `work`, wait until it has cleaned up, and raise.

        With `grace_seconds` it may first end by itself for that long.

        Raises:
            TurnCancelled: the token was set before `work` ended. A result that arrived in the same instant is kept.
        """
        if self._event.is_set():
            work.close()
            self.check()
        task = asyncio.ensure_future(work)
        stop = asyncio.ensure_future(self._event.wait())
        try:
            await asyncio.wait({task, stop}, return_when=asyncio.FIRST_COMPLETED)
            if not task.done() and grace_seconds:
                await asyncio.wait({task}, timeout=grace_seconds)
            if task.done():
                return task.result()
            await _end(task)
            if not task.cancelled() and task.exception() is None:
                return task.result()
            raise TurnCancelled(self._reason or "")
        finally:
            stop.cancel()
            if not task.done():
                await _end(task)


async def _end(task: asyncio.Future[Any]) -> None:
    """Cancel `task` and wait until it has cleaned up, also when the caller is cancelled a second time meanwhile.

    An error while it stops changes nothing.
    """
    task.cancel()
    cancelled = await _ended(task)
    if not task.cancelled():
        task.exception()
    if cancelled is not None:
        raise cancelled


async def uninterrupted(work: Awaitable[T]) -> T:
    """Await `work` to its end even when the caller is cancelled meanwhile; the cancellation is raised afterwards.

    For the few writes that must not be cut in half: the final records of a turn, and everything that holds a
    database connection.
    """
    task = asyncio.ensure_future(work)
    cancelled = await _ended(task)
    if cancelled is not None:
        if not task.cancelled():
            task.exception()
        raise cancelled
    return task.result()


async def begun(work: Coroutine[Any, Any, T], name: str) -> asyncio.Task[T]:
    """A task that has made its first step: cancelled before that, its `finally` would never run."""
    task = asyncio.create_task(work, name=name)
    await asyncio.sleep(0)
    return task


async def _ended(task: asyncio.Future[Any]) -> asyncio.CancelledError | None:
    """Wait until `task` is done, whatever happens to the caller meanwhile; return the caller's cancellation, if any."""
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError as error:
            cancelled = error
    return cancelled


def is_being_cancelled() -> bool:
    """Whether somebody wants the current task to stop; False for a CancelledError that foreign code made itself."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
