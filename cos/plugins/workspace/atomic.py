"""Writing a file whole or not at all, without following a symbolic link that appeared after the path was checked."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path

from cos.plugins.workspace.file_state import FileState
from cos.plugins.workspace.files import FileRefused, failure
from cos.plugins.workspace.paths import quoted, real_path

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def write_atomically(state: FileState, data: bytes, workspace: Path) -> bool:
    """Replace what `state` found by `data`, keeping mode and, where allowed, owner. Blocking.

    Folders that are missing are created; returns whether there were any.

    Raises:
        FileRefused: the file changed since `state` was read, is write-protected, or cannot be written.
    """
    try:
        if state.stat is not None and not os.access(state.path, os.W_OK):
            raise FileRefused(f"{quoted(state.written)} is write-protected; ask the user before you change that.")
        with _opened_folder(state.path.parent, real_path(workspace)) as (folder, created):
            _replace(folder, state, data)
            return created
    except OSError as error:
        raise FileRefused(failure(error, state.written, "written")) from error


@contextlib.contextmanager
def _opened_folder(path: Path, workspace: Path) -> Iterator[tuple[int, bool]]:
    """`path` opened step by step from the workspace down, and whether a part of it had to be created."""
    created = False
    folder = os.open(workspace, _FOLDER_FLAGS)
    try:
        for name in path.relative_to(workspace).parts:
            inner, is_new = _folder_in(folder, name)
            os.close(folder)
            folder, created = inner, created or is_new
        yield folder, created
    finally:
        os.close(folder)


def _folder_in(folder: int, name: str) -> tuple[int, bool]:
    try:
        return os.open(name, _FOLDER_FLAGS, dir_fd=folder), False
    except FileNotFoundError:
        os.mkdir(name, dir_fd=folder)
        return os.open(name, _FOLDER_FLAGS, dir_fd=folder), True


def _replace(folder: int, state: FileState, data: bytes) -> None:
    temporary = f".cos-{secrets.token_hex(8)}.tmp"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666, dir_fd=folder)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            _keep_owner_and_mode(fd, state.stat)
            file.flush()
            os.fsync(fd)
        _check_unchanged(folder, state)
        os.replace(temporary, state.path.name, src_dir_fd=folder, dst_dir_fd=folder)
    except BaseException:
        os.unlink(temporary, dir_fd=folder)
        raise
    os.fsync(folder)


def _keep_owner_and_mode(fd: int, old: os.stat_result | None) -> None:
    if old is None:
        return
    own = os.fstat(fd)
    mode = stat.S_IMODE(old.st_mode)
    if (own.st_uid, own.st_gid) != (old.st_uid, old.st_gid):
        try:
            os.fchown(fd, old.st_uid, old.st_gid)
        except PermissionError:
            mode &= 0o777  # another owner must not inherit a set-user-id bit
    os.fchmod(fd, mode)


def _check_unchanged(folder: int, state: FileState) -> None:
    try:
        now = os.stat(state.path.name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        now = None
    if _identity(now) != _identity(state.stat):
        raise FileRefused(
            f"{quoted(state.written)} changed while it was being written and was left as it is; read it again."
        )


def _identity(found: os.stat_result | None) -> tuple[int, int, int, int] | None:
    return None if found is None else (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
