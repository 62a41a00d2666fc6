"""An export as a file: whole or not at all, readable by its owner only, and never over another file unasked."""

from __future__ import annotations

import asyncio
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from cos.agent.errors import CosError
from cos.core.export import Format, export_session
from cos.core.whole_file import put_in_place, refuse_existing

if TYPE_CHECKING:
    from uuid import UUID

    from cos.core.postgres.exports import Exports


class ExportError(CosError):
    """The file cannot be written."""


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
        if not force:
            await asyncio.to_thread(refuse_existing, target)
        handle, name = tempfile.mkstemp(prefix=".cos-export-", dir=target.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
                count = await export_session(exports, session_id, format, file.write, thinking=thinking)
            await asyncio.to_thread(put_in_place, Path(name), target, force=force)
        finally:
            await asyncio.to_thread(Path(name).unlink, missing_ok=True)
    except OSError as error:
        raise ExportError(f"{target} cannot be written: {error.strerror or error}; give another file") from error
    return count
