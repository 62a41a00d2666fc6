"""Files that appear whole or not at all, and never over another file unasked."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from pathlib import Path

from cos.agent.errors import CosError


class FileIsThereError(CosError):
    """There is such a file, and it was not to be replaced."""


def refuse_existing(target: Path) -> None:
    """Before anything is written, though only `put_in_place` is sure.

    Raises:
        FileIsThereError
    """
    if os.path.lexists(target):
        raise FileIsThereError(f"{target} exists; give another file")


def write_new(target: Path, text: str) -> None:
    """Write a file that only its owner may read.

    Raises:
        FileIsThereError: there is one.
        OSError: it cannot be written.
    """
    refuse_existing(target)
    handle, name = tempfile.mkstemp(prefix=".cos-", dir=target.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
        put_in_place(Path(name), target, force=False)
    finally:
        Path(name).unlink(missing_ok=True)


def put_in_place(temporary: Path, target: Path, *, force: bool) -> None:
    """Give the finished file its name, when the disk has it. `force`: it may take the place of another.

    Raises:
        FileIsThereError: there is one, and `force` is not given.
        OSError: it cannot be written.
    """
    with temporary.open("rb") as file:
        os.fsync(file.fileno())
    if force:
        temporary.replace(target)
    else:
        _link(temporary, target)
    _keep_names(target.parent)


def _link(temporary: Path, target: Path) -> None:
    try:
        # Unlike a rename, a link fails when somebody else was first.
        os.link(temporary, target)
    except FileExistsError:
        refuse_existing(target)
        raise
    except OSError:
        # A file system without hard links.
        refuse_existing(target)
        temporary.replace(target)


def _keep_names(folder: Path) -> None:
    """Have the disk know the names in `folder`, where the file system can do that."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
