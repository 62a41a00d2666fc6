"""Processes that a killed cos has left behind are named, those of a living one are not (H-072)."""

from __future__ import annotations

import asyncio
import os

from cos.plugins.workspace.process_tree import MARKER
from cos.plugins.workspace.strays import OWNER, owner_mark, stray_processes


async def test_only_processes_of_a_dead_owner_are_strays() -> None:
    marked = {"PATH": os.environ["PATH"], MARKER: "a-call"}
    ours = await asyncio.create_subprocess_exec("sleep", "60", env=marked | {OWNER: owner_mark()})
    left = await asyncio.create_subprocess_exec("sleep", "60", env=marked | {OWNER: f"{os.getpid()}-1"})
    try:
        (sentence,) = await stray_processes()
        assert f"{left.pid} (sleep 60)" in sentence
        assert f"{ours.pid} (" not in sentence
    finally:
        for process in (ours, left):
            process.kill()
            await process.wait()
