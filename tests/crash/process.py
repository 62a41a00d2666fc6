"""One life of the cos process, seen from outside: what it has shown until it ended, and how to end it."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.crash import driver

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from multiprocessing.connection import Connection
    from multiprocessing.context import ForkServerContext

START_SECONDS = 40.0


def forks() -> ForkServerContext:
    """Where drivers are forked from: a process that has imported all of cos and runs no thread."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.crash.driver"])
    return context


@dataclass(slots=True)
class Shown:
    """What one process has shown. An id is the text form of a UUID."""

    texts: dict[str, list[tuple[float, str]]] = field(default_factory=dict)
    """Pieces of a message, with the moment at which each arrived here."""
    thoughts: dict[str, list[tuple[float, str]]] = field(default_factory=dict)
    messages: dict[str, dict[str, Any]] = field(default_factory=dict)
    results: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    """Records of finished calls, by session and call id."""
    calls: dict[tuple[str, int], dict[str, Any]] = field(default_factory=dict)
    """Model calls that were said to be recorded, by turn and ordinal."""
    answers: dict[str, str] = field(default_factory=dict)
    """Decisions, by approval."""
    ends: dict[str, str] = field(default_factory=dict)
    """Status, by turn."""
    begun: set[str] = field(default_factory=set)
    accepted: dict[str, dict[str, Any]] = field(default_factory=dict)
    """By the harness's own message id."""
    refused: dict[str, str] = field(default_factory=dict)

    def take(self, said: dict[str, Any], at: float) -> None:
        match said["type"]:
            case "message.delta" | "thinking.delta" as kind:
                pieces = self.texts if kind == "message.delta" else self.thoughts
                pieces.setdefault(said["message_id"], []).append((at, said["text"]))
            case "turn.started":
                self.begun.add(said["turn_id"])
            case "turn.completed":
                self.ends[said["turn_id"]] = said["status"]
            case "accepted":
                self.accepted[said["id"]] = said
                self.refused.pop(said["id"], None)
            case "refused":
                self.refused[said["id"]] = said["error"]
            case _:
                self._take_record(said)

    def _take_record(self, said: dict[str, Any]) -> None:
        match said["type"]:
            case "message.added":
                self.messages[said["message_id"]] = said
            case "tool.finished":
                self.results[said["session_id"], said["call_id"]] = said["record"]
            case "bill.call_recorded":
                self.calls[said["turn_id"], said["ordinal"]] = said
            case "approval.resolved":
                self.answers[said["approval_id"]] = said["answer"]["decision"]

    @property
    def runs(self) -> bool:
        return bool(self.begun - self.ends.keys())


class CosProcess:
    """A running driver."""

    def __init__(self, context: ForkServerContext, env: Mapping[str, str]) -> None:
        self.shown = Shown()
        self.changed = threading.Condition()
        self.last_said = time.monotonic()
        self.types: set[str] = set()
        self.was_killed = False
        events, childs_events = context.Pipe(duplex=False)
        childs_commands, self._commands = context.Pipe(duplex=False)
        self._process = context.Process(target=driver.main, args=(childs_events, childs_commands, dict(env)))
        self._process.start()
        childs_events.close()
        childs_commands.close()
        self._reader = threading.Thread(target=self._read, args=(events,), daemon=True)
        self._reader.start()

    @property
    def is_alive(self) -> bool:
        return self._process.is_alive()

    def wait_ready(self) -> None:
        assert self.until(lambda: "ready" in self.types or not self.is_alive, START_SECONDS), "cos did not start"
        assert "ready" in self.types, "cos ended while it started"

    def kill(self) -> None:
        """May be called from any thread. `buried` afterwards."""
        assert self._process.pid is not None
        self.was_killed = True
        os.kill(self._process.pid, signal.SIGKILL)

    def log_tasks(self) -> None:
        """Let it write into its log what it waits for."""
        if self.is_alive and self._process.pid is not None:
            os.kill(self._process.pid, signal.SIGUSR1)

    def buried(self) -> None:
        """Wait for the end of a killed process, and for what it had said before."""
        self._process.join(20)
        assert not self._process.is_alive()
        self._reader.join(20)
        self._commands.close()

    def leave(self) -> bool:
        """The normal end; whether it came."""
        self._commands.send_bytes(json.dumps({"do": "leave"}).encode())
        left = self.until(lambda: "left" in self.types or not self.is_alive, 30) and "left" in self.types
        self._process.join(10)
        if self._process.is_alive():
            self.kill()
        self.buried()
        return left

    def send(self, **command: Any) -> None:
        self._commands.send_bytes(json.dumps({"do": "send", **command}).encode())

    def until(self, holds: Callable[[], object], seconds: float) -> bool:
        """Wait until `holds`, looked at whenever something is said and every 20 ms; whether it came to that."""
        deadline = time.monotonic() + seconds
        with self.changed:
            while not holds():
                if time.monotonic() > deadline:
                    return False
                self.changed.wait(0.02)
        return True

    def _read(self, events: Connection) -> None:
        with events:
            while True:
                try:
                    said = json.loads(events.recv_bytes())
                except (EOFError, OSError):
                    break
                with self.changed:
                    self.last_said = time.monotonic()
                    self.types.add(said["type"])
                    self.shown.take(said, self.last_said)
                    self.changed.notify_all()
        with self.changed:
            self.changed.notify_all()
