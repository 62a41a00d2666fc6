"""Running ripgrep: where the program is, and its output read piece by piece within limits of time and size."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from cos.agent.cancellation import uninterrupted
from cos.agent.errors import CosError
from cos.core.plugin_api import find_ripgrep

OUTPUT_BYTES = 64_000_000
TIMEOUT_SECONDS = 60.0
_READ_BYTES = 65_536
_ERROR_BYTES = 4_000
_NOT_FOUND = "The program `rg` (ripgrep) was not found; the user can install it with `pip install 'ripgrep>=14.1,<15'`."


class SearchFailed(CosError):
    """No search took place. The message tells the model why."""


@dataclass(slots=True)
class Run:
    """How a run of ripgrep ended."""

    exit_code: int = 0
    error: str = ""
    """What it wrote to standard error."""
    stopped: str | None = None
    """Why it was stopped before its end, or None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ripgrep:
    """Starts `rg` from PATH, else the one that the package `ripgrep` installed."""

    environment: Callable[[], Mapping[str, str]] = field(default=lambda: os.environ)
    timeout_seconds: float = TIMEOUT_SECONDS
    output_bytes: int = OUTPUT_BYTES

    async def run(
        self, arguments: Sequence[str], *, folder: Path, workspace: Path, receive: Callable[[bytes], bool]
    ) -> Run:
        """Give every piece of output to `receive` until that returns False.

        Raises:
            SearchFailed: there is no ripgrep, or it cannot be started.
        """
        program = await asyncio.to_thread(find_ripgrep, self.environment().get("PATH", ""), workspace)
        if program is None:
            raise SearchFailed(_NOT_FOUND)
        try:
            process = await asyncio.create_subprocess_exec(
                program, "--no-config", *arguments, cwd=folder, env={"PATH": os.defpath, **_plain(self.environment())},
                stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )  # fmt: skip
        except (OSError, ValueError) as error:
            raise SearchFailed(f"ripgrep could not be started: {error}. Shorten the pattern.") from error
        try:
            return await self._read(process, receive)
        finally:
            await uninterrupted(_ended(process))

    async def _read(self, process: asyncio.subprocess.Process, receive: Callable[[bytes], bool]) -> Run:
        assert process.stdout is not None
        assert process.stderr is not None
        run, left = Run(), self.output_bytes
        errors = asyncio.ensure_future(_head(process.stderr))
        try:
            async with asyncio.timeout(self.timeout_seconds):
                while data := await process.stdout.read(_READ_BYTES):
                    left -= len(data)
                    if not receive(data):
                        run.stopped = "there are too many matches to count"
                    elif left <= 0:
                        run.stopped = "there is too much output"
                    if run.stopped:
                        return run
                run.error = await errors
                run.exit_code = await process.wait()
        except TimeoutError:
            run.stopped = f"it took longer than {self.timeout_seconds:g} s"
        finally:
            errors.cancel()
            await asyncio.wait({errors})
        return run


def _plain(environment: Mapping[str, str]) -> dict[str, str]:
    """The little that ripgrep needs: where the user's global ignore file is, and the language of messages."""
    return {name: environment[name] for name in ("HOME", "XDG_CONFIG_HOME", "LANG", "LC_ALL") if name in environment}


async def _head(stream: asyncio.StreamReader) -> str:
    kept = b""
    while data := await stream.read(_READ_BYTES):
        kept = (kept + data)[:_ERROR_BYTES]
    return kept.decode("utf-8", "replace")


async def _ended(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    # What is left in the pipes is of no use, but the transport must see their end.
    await process.communicate()
