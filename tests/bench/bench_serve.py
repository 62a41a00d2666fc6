"""Many sessions that stream at once in one headless process, watched by many WebSocket clients.

How late events are, whether every client has exactly what is stored, and what it costs beside as many streams of the
bare SDK against the same server.
"""

from __future__ import annotations

import asyncio
import os
import re
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass

import psutil

from tests.bench.rows import Row, alone, p95, times
from tests.bench.stage import Run, home_folder
from tests.web.fix_dashboard import PATIENCE_SECONDS, WebClient, client_of

SENT_AT = re.compile(r"@([0-9.]+);")
DELTA = "session.message.delta"
PER_SECOND, IDLE_SECONDS = 10.0, 20.0


class Watcher:
    """One client that starts some sessions and watches them."""

    def __init__(self, client: WebClient, count: int) -> None:
        self._client = client
        self._count = count
        self.lags: list[float] = []

    async def begin(self) -> None:
        for _ in range(self._count):
            sent = await self._client.ask("message.send", text="hello", profile_id="home")
            await self._client.ask("session.subscribe", session_id=sent["payload"]["session_id"])

    async def run(self) -> None:
        sessions = self._client.reader.sessions
        while len(sessions) < self._count or any(seen.active or not seen.turns for seen in sessions.values()):
            async with asyncio.timeout(PATIENCE_SECONDS * 10):
                frame = self._client.reader.take(str(await self._client.socket.recv()))
            if frame["action"] == DELTA:
                now = time.time()
                self.lags += [now - float(at) for at in SENT_AT.findall(frame["payload"]["text"])]

    def check(self, stored: dict[str, str]) -> tuple[int, int]:
        """How many sessions differ from what is stored, and how many holes there were."""
        seen = self._client.reader.sessions
        return sum(watched.texts != [stored[key]] for key, watched in seen.items()), sum(
            watched.holes for watched in seen.values()
        )


def start(*arguments: str, **env: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **env},
    )


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What the load itself took."""

    cpu_seconds: float
    lag_ms: float
    """p95."""
    idle_mb: float
    """Resident before it."""


async def load(url: str, pid: int, clients: int, each: int, run: Run) -> Load:
    process = psutil.Process(pid)
    peak = 0

    async def measure() -> None:
        nonlocal peak
        while True:
            peak = max(peak, process.memory_info().rss)
            await asyncio.sleep(0.2)

    idle = process.memory_info().rss
    await warm(url)
    async with asyncio.TaskGroup() as group:
        opened = [client_of(url) for _ in range(clients)]
        watchers = [Watcher(await client.__aenter__(), each) for client in opened]
        measuring = group.create_task(measure())
        before = cpu(process)
        began = time.monotonic()
        await asyncio.gather(*(watcher.begin() for watcher in watchers))
        begun = time.monotonic() - began
        await asyncio.gather(*(watcher.run() for watcher in watchers))
        spent, took = cpu(process) - before, time.monotonic() - began
        measuring.cancel()
        stored = await texts(watchers)
        wrong, holes = map(sum, zip(*(watcher.check(stored) for watcher in watchers), strict=True))
        for client in opened:
            await client.__aexit__(None, None, None)
    lags = [lag for watcher in watchers for lag in watcher.lags]
    run.say(f"{clients * each} sessions begun in {begun:.1f} s, all ended after {took:.1f} s; {len(lags):,} pieces")
    run.say(f"lag p50 {statistics.median(lags) * 1000:.0f} ms, worst {max(lags) * 1000:.0f} ms")
    run.say(f"sessions that differ from what is stored: {wrong}; holes: {holes}")
    run.say(f"memory {idle / 1e6:.0f} MB idle, {peak / 1e6:.0f} MB at most; {spent:.1f} s CPU")
    return Load(cpu_seconds=spent, lag_ms=p95(lags) * 1000, idle_mb=idle / 1e6)


async def warm(url: str) -> None:
    """A first turn loads the SDK, as the baseline has before its clock starts."""
    async with client_of(url) as client:
        sent = await client.ask("message.send", text="hello", profile_id="home")
        session_id = sent["payload"]["session_id"]
        await client.ask("session.subscribe", session_id=session_id)
        await client.told(DELTA)
        await client.ask("turn.cancel", session_id=session_id)
        await client.told("session.turn.completed")


async def texts(watchers: list[Watcher]) -> dict[str, str]:
    """What is stored, as a client that comes later reads it."""
    found: dict[str, str] = {}
    for watcher in watchers:
        client = watcher._client
        for session_id in list(client.reader.sessions):
            watched = client.reader.sessions.pop(session_id)
            (found[session_id],) = (await client.subscribed(session_id)).texts
            client.reader.sessions[session_id] = watched
    return found


def measure(run: Run) -> Iterable[Row]:
    sessions, clients, pieces = (20, 4, 30) if run.quick else (200, 20, 300)
    with home_folder() as home:
        api = start("tests.bench.streaming_api", str(pieces), str(PER_SECOND))
        url = f"http://127.0.0.1:{first_line(api)}"
        profile = home / "profiles" / "home" / "config.toml"
        profile.parent.mkdir(parents=True)
        profile.write_text('provider = "anthropic"\nmodel = "claude-sonnet-5-5"\n')
        serving = start(
            "cos", "serve", "--headless", "--port", "0", "--profile", "home",
            COS_HOME=str(home), ANTHROPIC_BASE_URL=url, ANTHROPIC_API_KEY="key",
        )  # fmt: skip
        try:
            address = first_line(serving).removeprefix("cos: dashboard at ")
            idle = _idle_percent(serving.pid, 3.0 if run.quick else IDLE_SECONDS)
            spent = asyncio.run(load(address, serving.pid, clients, sessions // clients, run))
            bare = start("tests.bench.bare_streams", url, str(sessions))
            bare_spent = float(first_line(bare).split()[0])
            bare.wait()
        finally:
            serving.send_signal(signal.SIGTERM)
            serving.wait(30)
            api.kill()
            api.wait()
    yield times(
        f"{sessions} streaming sessions, CPU beside bare streams", [bare_spent], [spent.cpu_seconds], 1.3, unit="s"
    )
    yield alone(f"{sessions} streaming sessions, lag of events p95", spent.lag_ms, 250)
    yield alone("idle headless, CPU", idle, 1, unit="%")
    yield alone("idle headless, resident memory", spent.idle_mb, 110, unit="MB")


def _idle_percent(pid: int, seconds: float) -> float:
    process = psutil.Process(pid)
    time.sleep(2)
    before, began = cpu(process), time.monotonic()
    time.sleep(seconds)
    return (cpu(process) - before) / (time.monotonic() - began) * 100
