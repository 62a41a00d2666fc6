"""Opening regular files only, and saying in words why a file cannot be read or written."""

from __future__ import annotations

import difflib
import errno
import itertools
import os
import stat
from pathlib import Path
from typing import BinaryIO, Literal

from cos.agent.errors import CosError
from cos.agent.text import storable, visible
from cos.plugins.workspace.paths import quoted, real_path, shown

_NAMES_LOOKED_AT = 2_000
_NAMES_SHOWN = 20

_NOT_READABLE = (
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)


class FileRefused(CosError):
    """The file cannot be read as text. `fields` go into the result beside the sentence."""

    def __init__(self, sentence: str, **fields: object) -> None:
        super().__init__(sentence)
        self.fields = fields


def open_regular(path: Path, written: str) -> BinaryIO:
    """
    Raises:
        FileRefused: it is no regular file (any more).
        OSError: it cannot be opened.
    """
    # O_NOFOLLOW and O_NONBLOCK: the file may have been exchanged for a link or a pipe since the check.
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise FileRefused(f"{quoted(written)} is not a regular file any more; look again with `ls -l`.")
    return os.fdopen(fd, "rb")


def check_kind(path: Path) -> None:
    """
    Raises:
        FileRefused: `path` is a folder, pipe, socket or device.
        OSError: there is no such file, or it may not be looked at.
    """
    mode = path.stat().st_mode
    if stat.S_ISDIR(mode):
        names = sorted(entry.name + "/" * entry.is_dir() for entry in path.iterdir())
        more = f" and {len(names) - _NAMES_SHOWN} more" if len(names) > _NAMES_SHOWN else ""
        listing = ", ".join(visible(storable(name)) for name in names[:_NAMES_SHOWN]) or "nothing"
        raise FileRefused(f"{shown(path)} is a folder and holds: {listing}{more}. Name a file in it.")
    for is_kind, kind in _NOT_READABLE:
        if is_kind(mode):
            raise FileRefused(f"{shown(path)} is {kind}, not a file with content; it was not opened.")


def missing(path: Path, written: str, workspace: Path) -> FileRefused:
    """The refusal for a file that does not exist, with names that are near."""
    parent = path.parent
    while not parent.is_dir():
        parent = parent.parent
    if parent != path.parent:
        return FileRefused(f"{quoted(written)} does not exist: there is no folder {shown(path.parent)}.")
    near = [str(parent / name) for name in difflib.get_close_matches(path.name, _names(parent), n=5, cutoff=0.6)]
    at_root = real_path(workspace / written)
    if at_root.is_relative_to(workspace) and at_root.is_file():
        near.insert(0, str(at_root))
    hint = " Near matches are in `similar_files`." if near else " List the folder with `ls`."
    similar: dict[str, object] = {"similar_files": [shown(Path(name)) for name in near]} if near else {}
    return FileRefused(f"{quoted(written)} does not exist in {shown(parent)}.{hint}", **similar)


def _names(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in itertools.islice(entries, _NAMES_LOOKED_AT)]
    except OSError:
        return []  # a folder that may not be listed has no near matches to offer


def failure(error: OSError, written: str, verb: Literal["read", "written"]) -> str:
    """The sentence for the model about `error`, which kept the file from being read or written."""
    if isinstance(error, PermissionError):
        return f"{quoted(written)} may not be {verb}: no permission. Ask the user to change it, or use another file."
    if error.errno == errno.ELOOP:
        return f"{quoted(written)} leads through a symbolic link that goes in a circle or has just changed; look again."
    if isinstance(error, NotADirectoryError):
        return f"{quoted(written)} cannot be {verb}: a part of its path is no folder; name another path."
    return f"{quoted(written)} could not be {verb}: {error.strerror or error}."
