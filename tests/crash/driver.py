"""The cos process of the crash matrix: the real core, composed as `cos` does it, worked through two pipes.

It is forked by a server process that has imported everything, so that one more start costs a tenth of a second.
What it was told and what it shows leaves as one JSON object each; what the harness has received counts as shown.
"""

from __future__ import annotations

import asyncio
import io
import json
import logging
import os
import signal
import threading
from typing import TYPE_CHECKING, Any
from uuid import UUID

import anthropic  # noqa: F401  # Imported here, it is imported before the fork.
import genai_prices  # noqa: F401
import httpx2  # noqa: F401

from cos.agent.errors import CosError
from cos.agent.retry import RetryPolicy
from cos.cli.compose import open_core
from cos.cli.logs import log_to
from cos.cli.opening import StartRequest
from cos.core.effective import Flags
from cos.core.event_json import event_object
from cos.core.inbound import Inbound
from cos.core.live import Resync
from cos.core.paths import Paths
from cos.plugins import bill, memory, workspace  # noqa: F401

if TYPE_CHECKING:
    from collections.abc import Mapping
    from multiprocessing.connection import Connection

    from cos.cli.running_core import Core

log = logging.getLogger("cos.crash")

QUICK = RetryPolicy(base_seconds=0.01, cap_seconds=0.05, silence_seconds=20)


def main(shown: Connection, commands: Connection, env: Mapping[str, str]) -> None:
    os.environ.clear()
    os.environ.update(env)
    log_to(Paths.from_environment(os.environ).log_file)
    asyncio.run(_Driver(shown, commands).run())


def _log_tasks() -> None:
    """For the harness, which asks when cos does not come to rest."""
    for task in asyncio.all_tasks():
        stack = io.StringIO()
        task.print_stack(file=stack)
        log.error("%s", stack.getvalue())


class _Driver:
    def __init__(self, shown: Connection, commands: Connection) -> None:
        self._shown = shown
        self._commands = commands
        self._received: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    def _say(self, **said: Any) -> None:
        self._shown.send_bytes(json.dumps(said).encode())

    async def run(self) -> None:
        core = await open_core(
            StartRequest(env=os.environ, flags=Flags(), surface="tui", say=lambda line: None, retry=QUICK)
        )
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGUSR1, _log_tasks)
        threading.Thread(target=self._listen, args=(loop,), daemon=True).start()
        showing = asyncio.ensure_future(self._show(core))
        self._say(type="ready", boot_id=str(core.database.boot_id))
        sending: set[asyncio.Task[None]] = set()
        while (command := await self._received.get())["do"] != "leave":
            task = asyncio.ensure_future(self._send(core, command))
            sending.add(task)
            task.add_done_callback(sending.discard)
        await core.close()
        showing.cancel()
        self._say(type="left")

    def _listen(self, loop: asyncio.AbstractEventLoop) -> None:
        while True:
            try:
                command = json.loads(self._commands.recv_bytes())
            except (EOFError, OSError):
                command = {"do": "leave"}
            loop.call_soon_threadsafe(self._received.put_nowait, command)
            if command["do"] == "leave":
                return

    async def _show(self, core: Core) -> None:
        with core.feed.subscribe() as events:
            async for live in events:
                if not isinstance(live.event, Resync):
                    self._say(**event_object(live.seq, live.event))

    async def _send(self, core: Core, command: dict[str, Any]) -> None:
        """Take a message in; the harness sends one that was not acknowledged again, under the same id."""
        session = command["session"]
        inbound = Inbound(
            text=command["text"], profile_id=command["profile"], source="cli", mode=command["mode"],
            session_id=UUID(session) if session else None, client_message_id=command["id"],
        )  # fmt: skip
        try:
            accepted = await core.dispatcher.dispatch(inbound)
        except CosError as error:
            self._say(type="refused", id=command["id"], error=str(error))
            return
        message = str(accepted.message_id) if accepted.message_id else None
        self._say(type="accepted", id=command["id"], session=str(accepted.session_id), message=message)
