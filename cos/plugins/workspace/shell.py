"""One shell that runs one command: in its own session, without a terminal, and reporting the folder it ended in."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

_FOLDER_BYTES = 8_192
# The report is a trap because a command may end anywhere by `exit`. `eval` keeps the command's own line numbers and
# keeps this wrapper out of the shell's error messages. `set +x` keeps the trap out of a traced command's output.
_WRAPPER = (
    "trap '{{ set +x; }} 2>/dev/null; command pwd -P >/dev/fd/{fd} 2>/dev/null' EXIT; "
    '_cos_command=$1; shift; eval "$_cos_command"'
)


def shell_program(environment: Mapping[str, str]) -> str:
    """The path of bash, or of sh where there is no bash."""
    return shutil.which("bash", path=environment.get("PATH")) or "/bin/sh"


class Shell:
    """A started shell. `close` it when it has ended; that does not stop it."""

    def __init__(self, process: asyncio.subprocess.Process, report_fd: int) -> None:
        self._process = process
        self._report_fd = report_fd

    @classmethod
    async def start(cls, command: str, *, folder: Path, environment: Mapping[str, str], output_fd: int) -> Shell:
        """
        Raises:
            OSError: the shell cannot be started: no such folder, command too long, no more processes.
        """
        report_fd, write_fd = os.pipe()
        os.set_blocking(report_fd, False)
        try:
            process = await asyncio.create_subprocess_exec(
                shell_program(environment), "-c", _WRAPPER.format(fd=write_fd), "bash", command,
                stdin=asyncio.subprocess.DEVNULL, stdout=output_fd, stderr=asyncio.subprocess.STDOUT,
                cwd=folder, env=environment, pass_fds=(write_fd,), start_new_session=True,
            )  # fmt: skip
        except BaseException:
            os.close(report_fd)
            raise
        finally:
            os.close(write_fd)
        return cls(process, report_fd)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def wait(self) -> int:
        """The exit code as a shell gives it: 128 + n for the signal n."""
        code = await self._process.wait()
        return code if code >= 0 else 128 - code

    def final_folder(self) -> Path | None:
        """Where the shell was when it ended, or None when it did not say: killed, replaced by `exec`, own exit trap."""
        try:
            report = os.read(self._report_fd, _FOLDER_BYTES)
        except BlockingIOError:
            return None
        name = report.removesuffix(b"\n")
        return Path(os.fsdecode(name)) if name.startswith(b"/") and b"\0" not in name else None

    def close(self) -> None:
        if self._report_fd >= 0:
            os.close(self._report_fd)
            self._report_fd = -1
