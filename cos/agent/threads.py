"""Foreign sync code on threads of its own, which hold up neither the loop nor the end of the program."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from functools import partial
from typing import TypeVar

T = TypeVar("T")


async def on_a_thread(work: Callable[[], T], name: str) -> T:
    """Run `work` on a daemon thread. Whoever stops waiting for it leaves it to its fate.

    Raises:
        Exception: what `work` raised; anything worse, such as SystemExit, as RuntimeError.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()

    def settle(settled: Callable[[], None]) -> None:
        if not future.done():
            settled()

    def run() -> None:
        try:
            outcome = work()
        except BaseException as error:
            # StopIteration cannot be raised into a future.
            is_fit = isinstance(error, Exception) and not isinstance(error, StopIteration)
            failure = error if is_fit else RuntimeError(repr(error))
            settled = partial(future.set_exception, failure)
        else:
            settled = partial(future.set_result, outcome)
        if not loop.is_closed():
            loop.call_soon_threadsafe(settle, settled)

    threading.Thread(target=run, name=name, daemon=True).start()
    return await future
