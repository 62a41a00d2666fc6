"""The server as a process: what `postmaster.pid` says, whether that process is really ours, and how to stop it."""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cos.core.embedded.connection import is_stand_in
from cos.core.embedded.locks import FileLock, is_locked

if TYPE_CHECKING:
    from cos.core.embedded.folders import Folders

FAST_STOP_SECONDS = 60
HURRIED_STOP_SECONDS = 2
IMMEDIATE_STOP_SECONDS = 10
POLL_SECONDS = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class PostmasterFile:
    """The lines of `postmaster.pid` that matter here; PostgreSQL's `pidfile.h` names them all."""

    pid: int
    port: int
    socket_folder: Path
    ready: bool


def read_postmaster_file(data: Path) -> PostmasterFile | None:
    """None when there is no file, or none with at least the process id in it."""
    try:
        lines = (data / "postmaster.pid").read_text(errors="surrogateescape").split("\n")
    except FileNotFoundError:
        return None
    pid = lines[0].strip().lstrip("-")
    if not pid.isdecimal() or int(pid) == 0:
        return None
    lines += [""] * 8
    return PostmasterFile(
        pid=int(pid),
        port=int(lines[3]) if lines[3].strip().isdecimal() else 0,
        socket_folder=Path(lines[4]),
        ready=lines[7].strip() == "ready",
    )


def postmaster_pid(data: Path) -> int | None:
    """The process id of the living server on `data`, or None: also when it lives in another container."""
    file = read_postmaster_file(data)
    return file.pid if file is not None and _works_in(file.pid, data) else None


def quit_orphans(data: Path) -> None:
    """Tell server processes whose postmaster is gone to quit at once; they keep the data locked until they do."""
    if not sys.platform.startswith("linux") or postmaster_pid(data) is not None:
        return
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and _runs_postgres(entry) and _works_in(int(entry.name), data):
            _signal(int(entry.name), signal.SIGQUIT)


def stop(folders: Folders, patience_seconds: float = FAST_STOP_SECONDS) -> bool:
    """Stop the server: clients are disconnected, data is written. Never SIGKILL: it leaves shared memory behind.

    Needs no thread and no other program, so that it works while the interpreter exits. Returns whether nothing runs
    any more; false too for a server of another container, which is left alone.
    """
    if not is_locked(folders.server_lock):
        return True
    file = read_postmaster_file(folders.data)
    pid = postmaster_pid(folders.data)
    if file is None or pid is None:
        return False
    for kind, seconds in ((signal.SIGINT, patience_seconds), (signal.SIGQUIT, IMMEDIATE_STOP_SECONDS)):
        if not _signal(pid, kind):
            return False
        if _wait_until_free(folders.server_lock, seconds):
            _remove_socket_folder(file.socket_folder)
            return True
    return False


def _remove_socket_folder(folder: Path) -> None:
    """Leave nothing in /tmp when the socket had to be there."""
    if is_stand_in(folder):
        with suppress(OSError):  # it stays when something is in it, which is then not ours
            folder.rmdir()


def _wait_until_free(path: Path, seconds: float) -> bool:
    lock = FileLock(path)
    deadline = time.monotonic() + seconds
    try:
        while not lock.try_exclusive():
            if time.monotonic() > deadline:
                return False
            time.sleep(POLL_SECONDS)
    finally:
        lock.release()
    return True


def _works_in(pid: int, data: Path) -> bool:
    """Whether process `pid` is a server process of `data`: its working folder is the data folder."""
    if not sys.platform.startswith("linux"):
        return _exists(pid)
    process = Path("/proc") / str(pid)
    try:
        return (process / "cwd").samefile(data)
    except PermissionError:
        # Root in a container without CAP_SYS_PTRACE may not look at the account's process.
        return _runs_postgres(process)
    except OSError:
        return False


def _runs_postgres(process: Path) -> bool:
    try:
        return (process / "comm").read_text().startswith("postgres")
    except OSError:
        return False


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _signal(pid: int, kind: signal.Signals) -> bool:
    """False when this root lacks CAP_KILL: then the server stays, as it does after a kill -9 of cos."""
    try:
        os.kill(pid, kind)
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return True
