"""One command from its start to the end of its shell: its output, its processes, and how it came to an end."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable, Mapping
from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING

from cos.agent.cancellation import uninterrupted
from cos.agent.errors import CosError
from cos.plugins.workspace.output import LiveOutput, OutputCollector
from cos.plugins.workspace.paths import is_folder, shown
from cos.plugins.workspace.pipe import PipeReader
from cos.plugins.workspace.process_tree import MARKER, ProcessTree, RunningProcess
from cos.plugins.workspace.shell import Shell
from cos.plugins.workspace.strays import OWNER, owner_mark

if TYPE_CHECKING:
    from cos.agent.cancellation import CancelToken

_DRAIN_SECONDS = 0.2
_SETTLE_SECONDS = 0.1
_REAP_SECONDS = 1.0
_FIRST_LOOK_SECONDS = 0.05
_LONGEST_LOOK_SECONDS = 2.0


class Ending(Enum):
    """Why waiting for a command ended."""

    EXITED = auto()
    CANCELLED = auto()
    TIMED_OUT = auto()


class CommandNotStarted(CosError):
    """No shell could be started. The message tells the model why and what to do."""


class RunningCommand:
    """One command. End it by `settle` or `stop`, then `close` it."""

    def __init__(self, emit: Callable[[str], None]) -> None:
        self.collector = OutputCollector()
        self.tree = ProcessTree()
        self.exit_code: int | None = None
        self._live = LiveOutput(emit)
        self._pipe = PipeReader(self._receive)
        self._shell: Shell | None = None

    @classmethod
    async def start(
        cls, command: str, *, folder: Path, environment: Mapping[str, str], emit: Callable[[str], None]
    ) -> RunningCommand:
        """
        Raises:
            CommandNotStarted: no such folder, command too long, no more processes or open files.
        """
        try:
            running = cls(emit)
            try:
                await running._start(command, folder, environment)
            except BaseException:
                # A cancellation may arrive between the fork and our knowing of it: the marker finds the child.
                running._pipe.close_write_end()
                await uninterrupted(running.stop())
                running.close()
                raise
        except OSError as error:
            raise CommandNotStarted(_start_failure(error, command, folder)) from error
        return running

    async def _start(self, command: str, folder: Path, environment: Mapping[str, str]) -> None:
        marked = {**environment, MARKER: self.tree.mark, OWNER: owner_mark()}
        self._shell = await Shell.start(command, folder=folder, environment=marked, output_fd=self._pipe.write_fd)
        self._pipe.close_write_end()
        self.tree.lead(self._shell.pid)

    async def wait(self, seconds: float, cancel: CancelToken) -> Ending:
        """Wait until the shell exits, the turn is cancelled or the time is over, whichever is first."""
        exited = asyncio.ensure_future(self._wait_for_shell())
        cancelled = asyncio.ensure_future(cancel.wait())
        try:
            await self._watch({exited, cancelled}, seconds)
            if exited.done():
                return Ending.EXITED
            return Ending.CANCELLED if cancelled.done() else Ending.TIMED_OUT
        finally:
            exited.cancel()
            cancelled.cancel()
            await asyncio.wait({exited, cancelled})

    async def settle(self) -> tuple[RunningProcess, ...]:
        """After the shell's exit: take what is left in the pipe, and return what still runs in the background."""
        await self._drain()
        background = await self.tree.running()
        if background:
            # What is just ending, or has not yet become the program it is to be, would be reported wrongly.
            await asyncio.sleep(_SETTLE_SECONDS)
            background = await self.tree.running()
        self.tree.leave_session()
        return background

    async def stop(self) -> tuple[RunningProcess, ...]:
        """End the whole tree and return the survivors."""
        survivors = await self.tree.stop()
        if self._shell is not None:
            await asyncio.wait({reaped := asyncio.ensure_future(self._wait_for_shell())}, timeout=_REAP_SECONDS)
            reaped.cancel()
        await self._drain()
        self.tree.leave_session()
        return survivors

    def final_folder(self) -> Path | None:
        return None if self._shell is None else self._shell.final_folder()

    def detach(self) -> None:
        """Leave the background processes running: their output is read and dropped, so that they can go on writing."""
        self._pipe.discard()
        if self._shell is not None:
            self._shell.close()

    def close(self) -> None:
        """Let go of the pipes. What still runs is neither stopped nor waited for."""
        self._pipe.close()
        if self._shell is not None:
            self._shell.close()

    async def _wait_for_shell(self) -> None:
        if self._shell is not None:
            self.exit_code = await self._shell.wait()

    async def _watch(self, ends: set[asyncio.Task[None] | asyncio.Task[str]], seconds: float) -> None:
        # Looking now and then catches a child with a cleared environment before it loses its parent.
        clock = asyncio.get_running_loop().time
        deadline = clock() + seconds
        pause = _FIRST_LOOK_SECONDS
        while (left := deadline - clock()) > 0:
            done, _ = await asyncio.wait(ends, timeout=min(pause, left), return_when=asyncio.FIRST_COMPLETED)
            if done:
                return
            await self.tree.look()
            pause = min(2 * pause, _LONGEST_LOOK_SECONDS)

    async def _drain(self) -> None:
        await self._pipe.drain(_DRAIN_SECONDS)
        self._live.finish()

    def _receive(self, data: bytes) -> None:
        self.collector.feed(data)
        self._live.feed(data)


def _start_failure(error: OSError, command: str, folder: Path) -> str:
    if error.errno == errno.E2BIG:
        size = len(command.encode())
        return f"The command is too long ({size:,} bytes); write it into a file in the workspace and run that."
    if not is_folder(folder):
        return f"The folder {shown(folder)} does not exist any more, so no command can start in it; create it again."
    return f"The shell could not be started in {shown(folder)}: {error.strerror or error}."
