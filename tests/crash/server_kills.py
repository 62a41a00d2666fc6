"""`kill -9` for the embedded Postgres: one backend of cos, the postmaster alone, or all of it at once."""

from __future__ import annotations

import contextlib
import os
import random
import signal
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cos.core.embedded import EmbeddedPostgres


def children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (FileNotFoundError, ProcessLookupError):
        return []


def kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


def backends(postmaster: int) -> list[int]:
    """Those that serve a connection of cos."""
    found = []
    for pid in children(postmaster):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            # The title of a backend: `postgres: cos: user database [local] state`.
            if b" [local] " in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
    return found


def kill_server(server: EmbeddedPostgres, how: str) -> None:
    """`how`: backend, postmaster or all. The server restarts after the first, and is gone after the others."""
    postmaster = server.status().pid
    if postmaster is None:
        return
    if how == "backend":
        if found := backends(postmaster):
            kill(random.choice(found))
        return
    whole = [postmaster, *(children(postmaster) if how == "all" else [])]
    for pid in whole:
        kill(pid)
