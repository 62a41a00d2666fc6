"""`cos serve`: the core with the dashboard; headless for a service, or with the terminal app in the same process."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from typing import TYPE_CHECKING

from cos.agent.text import visible
from cos.cli.compose import open_core
from cos.cli.logs import log_to_stderr
from cos.cli.opening import StartRequest
from cos.core.effective import Flags
from cos.web.server import Dashboard, listening_socket

if TYPE_CHECKING:
    import socket


def run(options: argparse.Namespace) -> int:
    listening = listening_socket(options.port)
    with listening:
        return asyncio.run(_headless(options, listening))


async def _headless(options: argparse.Namespace, listening: socket.socket) -> int:
    log_to_stderr(options.log_format)
    stopped = _stopped_by_signals()
    request = StartRequest(env=os.environ, flags=Flags(profile=options.profile), surface="web", say=_progress)
    core = await open_core(request)
    try:
        dashboard = Dashboard(core, listening)
        serving = asyncio.create_task(dashboard.run(lambda: _say_ready(dashboard.url)), name="dashboard")
        waiting = asyncio.create_task(stopped.wait(), name="signals")
        await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if serving.done():
            serving.result()
        serving.cancel()
        await asyncio.wait({serving})
    finally:
        await core.close()
    return 0


def _stopped_by_signals() -> asyncio.Event:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, stopped.set)
    return stopped


def _say_ready(url: str) -> None:
    print(f"cos: dashboard at {url}", flush=True)


def _progress(line: str) -> None:
    print(f"cos: {visible(line)}", file=sys.stderr, flush=True)
