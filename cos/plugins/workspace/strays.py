"""Processes that commands of a cos started which is gone: it was killed and could not end them."""

from __future__ import annotations

import asyncio
import os

import psutil

from cos.agent.text import storable
from cos.plugins.workspace.process_tree import MARKER

OWNER = "COS_OWNER"
"""Environment variable that names the cos that started a command, as `owner_mark` writes it."""
_HOME = "COS_HOME"
"""Another home is another cos, whose commands are not this user's business."""
_COMMAND_CHARACTERS = 80
_MOST = 5


def owner_mark() -> str:
    """This process, told apart from a later one with the same number."""
    return f"{os.getpid()}-{psutil.Process().create_time():.0f}"


async def stray_processes() -> list[str]:
    """One sentence when there are any; nothing is ended."""
    strays = await asyncio.to_thread(_strays)
    if not strays:
        return []
    named = ", ".join(f"{process.pid} ({_command(process)})" for process in strays[:_MOST])
    more = f" and {len(strays) - _MOST} more" if len(strays) > _MOST else ""
    return [f"Commands of a cos that was killed still run: {named}{more}. End those that you do not want with kill."]


def _strays() -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            environment = process.environ()
            is_ours = MARKER in environment and environment.get(_HOME, "") == os.environ.get(_HOME, "")
            if is_ours and OWNER in environment and not _lives(environment[OWNER]):
                found.append(process)
        except (psutil.Error, OSError):
            continue
    return found


def _lives(mark: str) -> bool:
    pid, _, created = mark.partition("-")
    try:
        return f"{psutil.Process(int(pid)).create_time():.0f}" == created
    except (psutil.Error, ValueError):
        return False


def _command(process: psutil.Process) -> str:
    try:
        return storable(" ".join(process.cmdline()))[:_COMMAND_CHARACTERS] or process.name()
    except (psutil.Error, OSError):
        return "?"
