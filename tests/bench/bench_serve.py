"""Many sessions that stream at once in one headless process, watched by many WebSocket clients.

`python -m tests.bench.bench_serve [SESSIONS CLIENTS PIECES PER_SECOND]`. It says how late events are, whether every
client has exactly what is stored, and what it costs beside as many streams of the bare SDK against the same server.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil

from tests.fix_database import shared_folder
from tests.web.fix_dashboard import PATIENCE_SECONDS, WebClient, client_of

SENT_AT = re.compile(r"@([0-9.]+);")
DELTA = "session.message.delta"


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


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[int(len(values) * share)] * 1000


async def load(url: str, pid: int, clients: int, each: int) -> float:
    """CPU seconds of the server for the load itself."""
    process = psutil.Process(pid)
    peak = 0

    async def measure() -> None:
        nonlocal peak
        while True:
            peak = max(peak, process.memory_info().rss)
            await asyncio.sleep(0.2)

    async with asyncio.TaskGroup() as group:
        opened = [client_of(url) for _ in range(clients)]
        watchers = [Watcher(await client.__aenter__(), each) for client in opened]
        measuring = group.create_task(measure())
        idle, before = process.memory_info().rss, cpu(process)
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
    print(f"{clients * each} sessions begun in {begun:.1f} s, all ended after {took:.1f} s; {len(lags):,} pieces")
    print(
        f"lag p50 {percentile(lags, 0.5):.0f} ms, p95 {percentile(lags, 0.95):.0f} ms, worst {max(lags) * 1000:.0f} ms"
    )
    print(f"sessions that differ from what is stored: {wrong}; holes: {holes}")
    print(f"memory {idle / 2**20:.0f} MB idle, {peak / 2**20:.0f} MB at most; {spent:.1f} s CPU")
    return spent


async def texts(watchers: list[Watcher]) -> dict[str, str]:
    """What is stored, as a client that comes later reads it."""
    found: dict[str, str] = {}
    for watcher in watchers:
        client = watcher._client
        for session_id in list(client.reader.sessions):
            late = {"session_id": session_id}
            watched = client.reader.sessions.pop(session_id)
            await client.ask("session.subscribe", **late)
            await client.told("session.snapshot")
            (found[session_id],) = client.reader.sessions[session_id].texts
            client.reader.sessions[session_id] = watched
    return found


def main(sessions: int = 200, clients: int = 20, pieces: int = 150, rate: float = 10.0) -> None:
    home = shared_folder()
    api = start("tests.bench.streaming_api", str(pieces), str(rate))
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
        spent = asyncio.run(load(address, serving.pid, clients, sessions // clients))
        bare = start("tests.bench.bare_streams", url, str(sessions))
        bare_spent = float(first_line(bare).split()[0])
        bare.wait()
        print(f"{sessions} bare SDK streams: {bare_spent:.1f} s CPU; the server took {spent / bare_spent:.2f} times it")
    finally:
        serving.send_signal(signal.SIGTERM)
        serving.wait(30)
        api.kill()
        api.wait()
        shutil.rmtree(Path(home), ignore_errors=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:4]), *map(float, sys.argv[4:5]))
