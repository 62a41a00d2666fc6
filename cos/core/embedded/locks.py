"""File locks by `flock`: the kernel drops them when the last copy of the descriptor closes, also after kill -9."""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def open_private(path: Path, flags: int) -> int:
    """Open or create `path` with mode 0600, close-on-exec.

    A symbolic link is refused: as root, the folder belongs to an account that must not choose what root opens.
    """
    return os.open(path, flags | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)


class FileLock:
    """One lock on one file, held through an own descriptor; unlocked until a `try_` method returned true."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._descriptor: int | None = None

    def try_exclusive(self) -> bool:
        return self._try(fcntl.LOCK_EX)

    def try_shared(self) -> bool:
        return self._try(fcntl.LOCK_SH)

    def fileno(self) -> int:
        if self._descriptor is None:
            self._descriptor = open_private(self.path, os.O_RDWR)
        return self._descriptor

    def release(self) -> None:
        """Close the own descriptor; copies inherited by another process keep the lock."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _try(self, kind: int) -> bool:
        try:
            fcntl.flock(self.fileno(), kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def is_locked(path: Path) -> bool:
    """Whether someone holds `path` exclusively; creates nothing."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
