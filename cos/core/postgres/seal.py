"""A check sum at the end of a backup: pg_dump's format has none for the statements in it. pg_restore ignores it."""

from __future__ import annotations

import hashlib
import os
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path

_MARK: Final = b"\ncos sha256 "
_LENGTH: Final = len(_MARK) + 64
_PIECE: Final = 1 << 20


def add_seal(file: Path) -> None:
    """
    Raises:
        OSError: it cannot be read or written.
    """
    seal = _MARK + _digest(file, file.stat().st_size)
    with file.open("ab") as end:
        end.write(seal)


def is_intact(file: Path) -> bool:
    """False when the content is not what was sealed; also a file without a seal counts as intact.

    Raises:
        OSError: it cannot be read.
    """
    size = file.stat().st_size
    if size < _LENGTH:
        return True
    with file.open("rb") as content:
        content.seek(-_LENGTH, os.SEEK_END)
        seal = content.read(_LENGTH)
    return not seal.startswith(_MARK) or seal == _MARK + _digest(file, size - _LENGTH)


def _digest(file: Path, size: int) -> bytes:
    """Of the first `size` bytes, in hexadecimal."""
    found = hashlib.sha256()
    with file.open("rb") as content:
        while size > 0 and (piece := content.read(min(size, _PIECE))):
            found.update(piece)
            size -= len(piece)
    return found.hexdigest().encode()
