"""The files of a workspace by relative path, as they are found: from ripgrep, which knows what git ignores.

Without ripgrep the folders are walked, within limits and past those that hold what tools put there.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib.metadata
import os
import shutil
from collections.abc import AsyncGenerator, Iterator, Mapping
from pathlib import Path
from typing import Final

from cos.agent.cancellation import uninterrupted

MOST_FILES: Final = 200_000
WALK_MOST_FILES: Final = 50_000
TIMEOUT_SECONDS: Final = 20.0
_READ_BYTES: Final = 65_536
_BATCH: Final = 2_000
_SKIPPED: Final = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", "venv", ".tox", ".cache"})


async def list_files(
    workspace: Path, environment: Mapping[str, str], *, most: int = MOST_FILES
) -> AsyncGenerator[list[str], None]:
    """Batches of relative paths with `/`, in no order. Ends early, without an error, at a limit of time or number.

    A name that is not UTF-8 comes with U+FFFD in it.
    """
    program = await asyncio.to_thread(find_ripgrep, environment.get("PATH", ""), workspace)
    batches = _walked(workspace) if program is None else _listed(program, workspace, environment)
    left = min(most, WALK_MOST_FILES) if program is None else most
    async with contextlib.aclosing(batches):
        async for batch in batches:
            yield batch[:left]
            left -= len(batch)
            if left <= 0:
                return


def find_ripgrep(search_path: str, workspace: Path) -> str | None:
    """Where `rg` is: on PATH, else where the package `ripgrep` put it. Blocking.

    A program that lies in the workspace is not trusted: the model may have written it.
    """
    for folder in search_path.split(os.pathsep):
        found = shutil.which("rg", path=folder) if Path(folder).is_absolute() else None
        if found is not None and not Path(found).resolve().is_relative_to(workspace.resolve()):
            return found
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        for file in importlib.metadata.distribution("ripgrep").files or ():
            if file.name in {"rg", "rg.exe"} and os.access(path := Path(str(file.locate())).resolve(), os.X_OK):
                return str(path)
    return None


async def _listed(program: str, workspace: Path, environment: Mapping[str, str]) -> AsyncGenerator[list[str], None]:
    plain = {name: environment[name] for name in ("HOME", "XDG_CONFIG_HOME") if name in environment}
    try:
        process = await asyncio.create_subprocess_exec(
            program, "--no-config", "--files", "--null", "--hidden", "--glob=!.git", "--no-require-git",
            "--no-messages", cwd=workspace, env={"PATH": os.defpath, **plain}, stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
    except OSError:
        return  # The folder is not there: it has no files.
    assert process.stdout is not None
    rest = b""
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(TIMEOUT_SECONDS):
                while data := await process.stdout.read(_READ_BYTES):
                    *names, rest = (rest + data).split(b"\0")
                    yield [name.decode("utf-8", "replace") for name in names]
    finally:
        await uninterrupted(_ended(process))


async def _ended(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    await process.communicate()


async def _walked(workspace: Path) -> AsyncGenerator[list[str], None]:
    """The walk takes place on threads, a batch at a time."""
    walk = _walk(workspace)
    while batch := await asyncio.to_thread(_next_batch, walk):
        yield batch


def _next_batch(walk: Iterator[str]) -> list[str]:
    return [path for _, path in zip(range(_BATCH), walk, strict=False)]


def _walk(workspace: Path) -> Iterator[str]:
    for folder, folders, files in os.walk(workspace):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        base = Path(folder).relative_to(workspace)
        for name in files:
            yield os.fsencode((base / name).as_posix()).decode("utf-8", "replace")
