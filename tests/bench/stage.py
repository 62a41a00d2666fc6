"""What measurements stand on: a folder, a running database, a program in a terminal, and an API server beside them."""

from __future__ import annotations

import json
import queue
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg.conninfo import make_conninfo

from cos.core.embedded import ConnectionTarget, EmbeddedPostgres
from cos.tui.burst import BURST_SECONDS
from tests.api_server.server import KEY
from tests.fix_database import shared_folder
from tests.program.fix_program import PATIENCE_SECONDS, ROOT, Program
from tests.program.terminal import Terminal

READY = "F6 another profile"
"""On screen when the core of `cos chat` is there."""


PLOT = Path("bench-growth.svg")


@dataclass(frozen=True, slots=True)
class Run:
    """How the suite was called."""

    quick: bool = False
    plot: Path = PLOT

    def rounds(self, full: int) -> int:
        return 2 if self.quick else full

    def say(self, line: str) -> None:
        """What a measurement found besides its rows."""
        print(f"  {line}", flush=True)


@contextmanager
def home_folder() -> Iterator[Path]:
    """A COS_HOME of its own."""
    folder = shared_folder()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def running_database(home: Path) -> Iterator[ConnectionTarget]:
    """The embedded server of a home, kept running while the programs that use it come and go."""
    server = EmbeddedPostgres(home / "pg")
    try:
        yield server.attach()
    finally:
        server.leave()


@contextmanager
def fresh_database(name: str = "many") -> Iterator[str]:
    """The connection string of an empty database on a server of its own."""
    with home_folder() as home, running_database(home) as target:
        with psycopg.connect(make_conninfo(**target.conninfo_parameters("postgres")), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        yield make_conninfo(**target.conninfo_parameters(name))


class Child:
    """A process of the suite that is told lines and answers JSON lines."""

    def __init__(self, module: str, *arguments: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT,
        )  # fmt: skip
        self._heard: queue.Queue[str] = queue.Queue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._heard.put(line)

    def tell(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()

    def hear(self) -> dict[str, Any]:
        """Raises queue.Empty when nothing comes."""
        heard: dict[str, Any] = json.loads(self._heard.get(timeout=PATIENCE_SECONDS))
        return heard

    def has_said(self, lines: int) -> bool:
        """Whether so many are there to be heard."""
        return self._heard.qsize() >= lines

    def end(self) -> None:
        """A child ends when its input does."""
        with self._process as process:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(20)


@contextmanager
def child(module: str, *arguments: str) -> Iterator[Child]:
    made = Child(module, *arguments)
    try:
        yield made
    finally:
        made.end()


@dataclass(frozen=True, slots=True)
class Stage:
    """cos and the bare SDK before the same API server, each a process of its own."""

    program: Program
    api: Child
    url: str

    def arrivals(self, count: int = 1) -> list[float]:
        """When the next requests were there, as time.monotonic() says on the whole machine."""
        return [self.api.hear()["arrived"] for _ in range(count)]

    def arrivals_of_turn(self, chat: Terminal, count: int = 1, *, rest_seconds: float = 0.5) -> list[float]:
        """As `arrivals`, for a turn that makes so many requests; it is over then, and everything is drawn.

        The terminal is read meanwhile: one that nobody reads holds its program up.
        """
        chat.watch(lambda: self.api.has_said(count), 2 * PATIENCE_SECONDS)
        heard = [self.api.hear() for _ in range(count)]
        chat.until(f"answer {heard[-1]['number']} is here", "idle ·")
        rest(chat, rest_seconds)
        return [request["arrived"] for request in heard]

    @contextmanager
    def chat(self, *arguments: str) -> Iterator[Terminal]:
        """`cos chat`, connected."""
        terminal = self.program.chat(*arguments)
        try:
            terminal.until(READY)
            yield terminal
        finally:
            terminal.close()

    @contextmanager
    def bare(self, body: dict[str, Any]) -> Iterator[Child]:
        """The bare SDK with this request; see `bare_sdk`."""
        file = self.program.home / "request.json"
        file.write_text(json.dumps(body))
        with child("tests.bench.bare_sdk", self.url, KEY, str(file)) as sdk:
            sdk.hear()
            yield sdk


@contextmanager
def stage() -> Iterator[Stage]:
    with home_folder() as home, running_database(home), child("tests.bench.api_process") as api:
        url = api.hear()["url"]
        program = Program(home, None, env={"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": KEY})
        yield Stage(program, api, url)


def rest(chat: Terminal, seconds: float = 0.5) -> None:
    """Read on until what follows a turn is drawn, too."""
    until = time.monotonic() + seconds
    chat.watch(lambda: time.monotonic() > until)


def send(chat: Terminal, text: str) -> float:
    """Write a message as a person does, and send it; when Enter was pressed (time.monotonic())."""
    chat.type(text)
    chat.until(f"││ {text}")
    time.sleep(2 * BURST_SECONDS)
    pressed = time.monotonic()
    chat.press("enter")
    return pressed
