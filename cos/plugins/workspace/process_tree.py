"""Finding and ending everything that one command started, also what left its session or lost its parent.

A process belongs to the call when it descends from the command's shell, is in the shell's session, carries the call's
marker in its environment, or was found in one of these ways before. A pid alone is never trusted: a process is its pid
and its creation time, and only such a pair is ever sent a signal.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass

import psutil

from cos.agent.ids import new_id
from cos.agent.text import storable

MARKER = "COS_CALL"
"""Environment variable that holds the id of the call; inherited by whatever the command starts."""
GENTLE_SECONDS = 1.0
TOTAL_SECONDS = 2.8
_POLL_SECONDS = 0.05
_COMMAND_CHARACTERS = 200
# What is clearly older than the call is not looked at closer. Generous, because the clock may be set meanwhile.
_CLOCK_SLACK_SECONDS = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningProcess:
    """A process that is still there."""

    pid: int
    command: str

    def __str__(self) -> str:
        return f"{self.pid} ({self.command})"


class ProcessTree:
    """The processes of one call."""

    def __init__(self) -> None:
        self.mark = str(new_id())
        self._session: int | None = None
        self._oldest = time.time() - _CLOCK_SLACK_SECONDS
        self._known: set[psutil.Process] = set()

    def lead(self, pid: int) -> None:
        """Take the process that was just started, the leader of its own session, as the root."""
        self._session = pid
        try:
            self._known.add(psutil.Process(pid))
        except psutil.Error:
            return  # it has ended already; its children are found by session and marker

    def leave_session(self) -> None:
        """Stop trusting the session id: once the shell has been reaped, the system may give its number away."""
        self._session = None

    async def look(self) -> list[psutil.Process]:
        """Every process of the call that runs now. Remembers what it found."""
        found = await asyncio.to_thread(self._find, frozenset(self._known), self._session)
        self._known = found
        return sorted(found, key=lambda process: process.pid)

    async def running(self) -> tuple[RunningProcess, ...]:
        processes = await self.look()
        return await asyncio.to_thread(_described, processes)

    async def stop(self, *, final: signal.Signals = signal.SIGKILL) -> tuple[RunningProcess, ...]:
        """End them all: TERM, `final` after a second, again for what started meanwhile. Return the survivors."""
        clock = asyncio.get_running_loop().time
        begun = clock()
        processes = await self.look()
        _signal(processes, signal.SIGTERM)
        while processes and clock() - begun < GENTLE_SECONDS:
            await asyncio.sleep(_POLL_SECONDS)
            processes = await self.look()
        while processes and clock() - begun < TOTAL_SECONDS:
            _signal(processes, final)
            await asyncio.sleep(_POLL_SECONDS)
            processes = await self.look()
        return await asyncio.to_thread(_described, processes)

    def _find(self, known: frozenset[psutil.Process], session: int | None) -> set[psutil.Process]:
        ours: dict[int, psutil.Process] = {}
        others: list[tuple[psutil.Process, int]] = []
        for process, parent in self._candidates():
            if process in known or _in_session(process, session) or _marked(process, self.mark):
                ours[process.pid] = process
            else:
                others.append((process, parent))
        grown = True
        while grown:
            children = [process for process, parent in others if parent in ours and process.pid not in ours]
            ours.update((process.pid, process) for process in children)
            grown = bool(children)
        return set(ours.values())

    def _candidates(self) -> Iterable[tuple[psutil.Process, int]]:
        for pid in psutil.pids():
            if pid == os.getpid():
                continue
            try:
                process = psutil.Process(pid)
                if process.create_time() >= self._oldest and process.status() != psutil.STATUS_ZOMBIE:
                    yield process, process.ppid()
            except psutil.Error:
                continue  # it ended while we looked


def _in_session(process: psutil.Process, session: int | None) -> bool:
    if session is None:
        return False
    try:
        return os.getsid(process.pid) == session
    except OSError:
        return False


def _marked(process: psutil.Process, mark: str) -> bool:
    try:
        return process.environ().get(MARKER) == mark
    except (psutil.Error, OSError):
        return False


def _signal(processes: Iterable[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        try:
            process.send_signal(number)  # refuses by itself when the pid belongs to another process by now
        except psutil.Error:
            continue  # gone, or not allowed: then the next look finds it and it is reported as a survivor


def _described(processes: Iterable[psutil.Process]) -> tuple[RunningProcess, ...]:
    found = []
    for process in processes:
        try:
            command = " ".join(process.cmdline()) or process.name()
        except psutil.Error:
            command = "unknown command"
        command = " ".join(storable(command).split())
        found.append(RunningProcess(pid=process.pid, command=command[:_COMMAND_CHARACTERS]))
    return tuple(found)
