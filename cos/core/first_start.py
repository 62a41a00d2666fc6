"""What happens once on a machine: the folders, commonos.toml and the profiles that ship with cos."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from cos.core.config_errors import FolderError
from cos.core.paths import Paths
from cos.core.shipped import shipped

_TEMPLATE = Path(__file__).with_name("default_config.toml")


def install_shipped(paths: Paths) -> None:
    """Creates what is missing of the two folders, commonos.toml and the profiles folder; overwrites nothing.

    The shipped profiles are copied only while there is no profiles folder, so a deleted profile stays deleted.
    Two processes may do this at the same instant: each file and the profiles folder appear whole, once.

    Raises:
        FolderError: something cannot be created, or the data folder cannot be written to.
    """
    for folder in (paths.config_dir, paths.data_dir):
        with _explained(folder):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not os.access(paths.data_dir, os.W_OK | os.X_OK):
        raise FolderError(_advice("cannot be written to"), file=paths.data_dir)
    if not os.path.lexists(paths.config_file):
        with _explained(paths.config_file):
            _write_once(paths.config_file, _TEMPLATE.read_bytes())
    if not os.path.lexists(paths.profiles_dir):
        with _explained(paths.profiles_dir):
            _copy_once(shipped("profiles"), paths.profiles_dir)


@contextlib.contextmanager
def _explained(target: Path) -> Iterator[None]:
    try:
        yield
    except FileExistsError as error:
        raise FolderError(_advice("is in the way: it is no folder"), file=target) from error
    except OSError as error:
        raise FolderError(_advice(f"cannot be created: {error.strerror}"), file=target) from error


def _advice(problem: str) -> str:
    return f"{problem}. Set COS_HOME to a folder that you may write to"


def _write_once(target: Path, data: bytes) -> None:
    """Writes the whole file or leaves the one that is there."""
    handle, name = tempfile.mkstemp(prefix=".cos-", dir=target.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        _link_or_rename(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def _link_or_rename(temporary: Path, target: Path) -> None:
    try:
        # A link never replaces a file that appeared meanwhile, a rename would.
        target.hardlink_to(temporary)
    except FileExistsError:
        return
    except OSError:
        # Some file systems have no links.
        temporary.rename(target)


def _copy_once(source: Path, target: Path) -> None:
    """Copies a folder whole or leaves the one that is there. File modes are not copied: the user's copy is writable."""
    temporary = Path(tempfile.mkdtemp(prefix=".cos-", dir=target.parent))
    try:
        for file in sorted(item for item in source.rglob("*") if item.is_file()):
            copy = temporary / file.relative_to(source)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(file.read_bytes())
        try:
            temporary.rename(target)
        except OSError:
            # Another process was first: a folder with content cannot be renamed onto.
            if not target.is_dir():
                raise
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
