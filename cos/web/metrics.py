"""What an operator's monitoring reads: whether the server works, and how much. Never a word of any session."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from starlette.responses import Response

from cos import __version__
from cos.agent.errors import CosError
from cos.web.objects import server_time
from cos.web.reading import json_answer

if TYPE_CHECKING:
    from starlette.requests import Request

    from cos.web.core_port import WebCore
    from cos.web.hub import Hub

LOOK_SECONDS: Final = 2.0


class Metrics:
    """Of one server."""

    def __init__(self, core: WebCore, hub: Hub) -> None:
        self._core = core
        self._hub = hub
        self._lag = 0.0
        self._began = time.time()

    async def run(self) -> None:
        """Measure how late the event loop is, until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            due = loop.time() + LOOK_SECONDS
            await asyncio.sleep(LOOK_SECONDS)
            self._lag = max(0.0, loop.time() - due)

    async def health(self, request: Request) -> Response:
        trouble = await self._trouble()
        status = {"status": "ok" if not trouble else "unavailable", "version": __version__}
        return json_answer(status | ({"trouble": trouble} if trouble else {}) | server_time(), 503 if trouble else 200)

    async def page(self, request: Request) -> Response:
        lines = self._own()
        trouble = await self._trouble()
        lines += _metric("cos_database_up", "gauge", "The database answers.", {"": 0 if trouble else 1})
        if not trouble:
            with suppress(CosError):  # It went away this moment: what this process knows is told all the same.
                lines += await self._stored()
        return Response("\n".join(lines) + "\n", media_type="text/plain; version=0.0.4; charset=utf-8")

    async def _trouble(self) -> str:
        try:
            async with asyncio.timeout(LOOK_SECONDS):
                trouble = await self._core.pulse.ask()
        except TimeoutError:
            trouble = "late"
        return "the database does not answer" if trouble else ""

    def _own(self) -> list[str]:
        hub = self._hub
        return [
            *_metric("cos_info", "gauge", "This program.", {f'{{version="{__version__}"}}': 1}),
            *_metric("process_start_time_seconds", "gauge", "Start, seconds since 1970.", {"": round(self._began, 3)}),
            *_metric("cos_running_turns", "gauge", "Turns that this process runs.", {"": len(hub.live)}),
            *_metric("cos_web_clients", "gauge", "Connected WebSocket clients.", {"": len(hub.clients)}),
            *_metric("cos_web_watched_sessions", "gauge", "Sessions that are recorded.", {"": len(hub.channels)}),
            *_metric("cos_web_frames_total", "counter", "Notifications made.", {"": hub.counts.frames}),
            *_metric("cos_web_sent_total", "counter", "Frames handed to clients.", {"": hub.counts.sent}),
            *_metric("cos_web_resyncs_total", "counter", "Sessions given up: slow clients.", {"": hub.counts.resyncs}),
            *_metric("cos_approvals_waiting", "gauge", "Requests that wait.", {"": len(hub.keeper.approvals)}),
            *_metric("cos_event_loop_lag_seconds", "gauge", "How late the event loop was.", {"": round(self._lag, 6)}),
        ]

    async def _stored(self) -> list[str]:
        counts = await self._core.session_turns.counts()
        by_status = {f'{{status="{status}"}}': count for status, count in sorted(counts.turns.items())}
        return [
            *_metric("cos_sessions", "gauge", "Sessions in the database.", {"": counts.sessions}),
            *_metric("cos_turns", "gauge", "Turns in the database.", by_status),
        ]


def _metric(name: str, kind: str, help_text: str, values: Mapping[str, float]) -> list[str]:
    head = [f"# HELP {name} {help_text}", f"# TYPE {name} {kind}"]
    return head + [f"{name}{labels} {value}" for labels, value in values.items()]
