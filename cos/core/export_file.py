"""An export as a file: whole or not at all, readable by its owner only, and never over another file unasked."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from cos.agent.errors import CosError
from cos.core.export import Format, export_session

if TYPE_CHECKING:
    from uuid import UUID

    from cos.core.postgres.exports import Exports


class ExportError(CosError):
    """The file cannot be written, or there is one already."""


class FileIsThereError(ExportError):
    """There is such a file, and it was not to be replaced."""


async def export_to_file(
    exports: Exports, session_id: UUID, format: Format, target: Path, *, thinking: bool = False, force: bool = False
) -> int:
    """Write the history of a session into `target`; answers how many messages. See `export_session`.

    Raises:
        FileIsThereError: there is one, and `force` is not given.
        ExportError: it cannot be written. What was there stays.
        SessionError: there is no such session, or it was deleted while it was read.
    """
    try:
        await asyncio.to_thread(_check, target, force=force)
        handle, name = tempfile.mkstemp(prefix=".cos-export-", dir=target.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                count = await export_session(exports, session_id, format, file.write, thinking=thinking)
            await asyncio.to_thread(_put, Path(name), target, force=force)
        finally:
            await asyncio.to_thread(Path(name).unlink, missing_ok=True)
    except OSError as error:
        raise ExportError(f"{target} cannot be written: {error.strerror or error}; give another file") from error
    return count


def _check(target: Path, *, force: bool) -> None:
    """Before anything is read, though only `_put` is sure."""
    if not force and os.path.lexists(target):
        raise _exists(target)


def _put(temporary: Path, target: Path, *, force: bool) -> None:
    """Give the finished file its name, when the disk has it."""
    with temporary.open("rb") as file:
        os.fsync(file.fileno())
    if force:
        temporary.replace(target)
        return
    try:
        # Unlike a rename, a link fails when somebody else was first.
        os.link(temporary, target)
    except FileExistsError:
        raise _exists(target) from None
    except OSError:
        # A file system without hard links.
        _check(target, force=force)
        temporary.replace(target)


def _exists(target: Path) -> FileIsThereError:
    return FileIsThereError(f"{target} exists; give another file")
