"""`cos serve`: the core with the dashboard; headless for a service, or with the terminal app in the same process."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import os
import signal
import sys
from typing import TYPE_CHECKING, Any

import uvloop

from cos.agent.errors import CosError
from cos.agent.text import visible
from cos.cli.compose import open_core
from cos.cli.logs import log_to, log_to_stderr
from cos.cli.opening import StartRequest
from cos.cli.served_core import ServedCore
from cos.core.effective import Flags
from cos.core.paths import Paths
from cos.web.server import Dashboard, listening_socket

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable

    from cos.tui.core_port import CorePort


def run(options: argparse.Namespace) -> int:
    if not (options.headless or all(stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))):
        raise CosError("cos serve opens the app, which needs a terminal; for a service use cos serve --headless")
    with listening_socket(options.port) as listening:
        if options.headless:
            return uvloop.run(_headless(options, listening))
        return _with_app(options, listening)


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


def _with_app(options: argparse.Namespace, listening: socket.socket) -> int:
    async def open_served(say: Callable[[str], None]) -> CorePort:
        log_to(Paths.from_environment(os.environ).log_file)
        request = StartRequest(env=os.environ, flags=Flags(profile=options.profile), surface="tui", say=say)
        core = await open_core(request)
        try:
            return ServedCore.serving(core, Dashboard(core, listening))
        except BaseException:
            await core.close()
            raise

    options.session, options.resume, options.tags = None, False, []
    app: Any = importlib.import_module("cos.cli.chat_app")  # A service needs nothing of the app.
    code: int = app.run_app(options, open_served)
    return code


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
