"""The files of one workspace, known from the last time while they are looked up again."""

from __future__ import annotations

import asyncio
import os
from contextlib import aclosing
from pathlib import Path

from cos.core.workspace_files import list_files


class FileList:
    """`paths` only grows, until a new look-up that is complete takes its place: then `generation` changes."""

    def __init__(self, workspace: Path) -> None:
        self.workspace = workspace
        self.paths: list[str] = []
        self.generation = 0
        self.is_complete = False
        """Nothing more comes from the look-up that `paths` is from."""
        self._more = asyncio.Event()

    async def look_up(self) -> None:
        """List the files again. What is known stays in use until the end; the first time, files appear as they come."""
        is_first = not self.paths
        fresh = self.paths if is_first else []
        async with aclosing(list_files(self.workspace, os.environ)) as batches:
            async for batch in batches:
                fresh.extend(batch)
                if is_first:
                    self._tell()
        if not is_first:
            self.paths = fresh
            self.generation += 1
        self.is_complete = True
        self._tell()

    async def more(self) -> None:
        """Wait until there are other paths, or no more of them."""
        await self._more.wait()

    def _tell(self) -> None:
        self._more.set()
        self._more = asyncio.Event()
