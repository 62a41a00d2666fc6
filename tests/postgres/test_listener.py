"""What one process says reaches another on the same database."""

from __future__ import annotations

import asyncio

import psycopg

from cos.core.postgres.listener import Listener


async def test_notification_reaches_the_listener_and_it_looks_after_connecting(database_url: str) -> None:
    looked, heard = asyncio.Event(), asyncio.Queue[str]()
    listener = Listener(database_url)

    async def look() -> None:
        looked.set()

    listener.on("cos_test", heard.put, look=look)
    task = asyncio.create_task(listener.listen())
    await looked.wait()
    async with await psycopg.AsyncConnection.connect(database_url, autocommit=True) as other:
        await other.execute("SELECT pg_notify('cos_test', 'hello')")
    assert await heard.get() == "hello"
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
