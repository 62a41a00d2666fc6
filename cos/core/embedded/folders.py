"""The folders of the embedded Postgres: where they are, who owns them, and what is refused."""

from __future__ import annotations

import os
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cos.core.embedded.connection import short_hash, socket_folder
from cos.core.embedded.errors import DatabaseFolderError, DatabaseVersionError, folder_error

if TYPE_CHECKING:
    from cos.core.embedded.account import Account

SYSTEM_FOLDER = Path("/var/lib/cos")
NETWORK_FILE_SYSTEMS = ("nfs", "cifs", "smb", "fuse.sshfs")


@dataclass(frozen=True, slots=True)
class Folders:
    """Every path of one state folder and one major version."""

    state: Path
    major: int

    @property
    def version(self) -> Path:
        return self.state / str(self.major)

    @property
    def data(self) -> Path:
        return self.version / "data"

    @property
    def run(self) -> Path:
        return self.version / "run"

    @property
    def log(self) -> Path:
        return self.version / "server.log"

    @property
    def server_lock(self) -> Path:
        return self.version / "server.lock"

    @property
    def server_version(self) -> Path:
        """Holds the version of the programs that the server was last started with."""
        return self.version / "server.version"

    @property
    def start_lock(self) -> Path:
        return self.state / "start.lock"

    @property
    def keep_running(self) -> Path:
        """While this file is there, the last user does not stop the server."""
        return self.state / "keep-running"

    @property
    def users_lock(self) -> Path:
        return self.state / "users.lock"


def default_state_dir(data_dir: Path) -> Path:
    """Where the embedded Postgres lives, for cos's data folder `data_dir`.

    Root's data folder is mostly one that no other account can enter, so root gets a folder in /var/lib/cos; one of
    its own for each COS_HOME.
    """
    data_dir = data_dir.absolute()
    if os.geteuid() != 0:
        return data_dir / "pg"
    if not os.environ.get("COS_HOME", "").strip():
        return SYSTEM_FOLDER / "pg"
    beside, away = data_dir / "pg", SYSTEM_FOLDER / f"pg-{short_hash(data_dir)}"
    # A choice once made stands, whatever becomes of the mode of the folders above it.
    for made in (beside, away):
        if made.exists():
            return made
    open_to_all = data_dir.is_dir() and all(folder.stat().st_mode & 0o001 for folder in (data_dir, *data_dir.parents))
    return beside if open_to_all else away


def existing_majors(state: Path) -> list[int]:
    """The major versions that have data in `state`, newest first."""
    found = [int(folder.parent.parent.name) for folder in state.glob("[0-9]*/data/PG_VERSION") if _is_major(folder)]
    return sorted(found, reverse=True)


def _is_major(file: Path) -> bool:
    return file.parent.parent.name.isdecimal()


def refuse_other_major(folders: Folders, version: str) -> None:
    """Never open data of another major version, and never set up an empty database beside it.

    Raises:
        DatabaseVersionError
    """
    found: str | None = None
    if (folders.data / "PG_VERSION").exists():
        written = (folders.data / "PG_VERSION").read_text(errors="replace").strip()
        found = written if written != str(folders.major) else None
    elif others := existing_majors(folders.state):
        found = str(others[0])
    if found is not None:
        raise DatabaseVersionError(
            f"Data of PostgreSQL {found} was found in {folders.state}, and the programs here are {version}. "
            f"Set database.bin_dir to the programs of PostgreSQL {found}. To move to the new version: with them run "
            f"`cos db backup FILE`, without them and with {folders.state} out of the way `cos db restore FILE`."
        )


def make_state(state: Path, account: Account) -> None:
    """Make the state folder: private, but root's can be passed by the account that owns the folders in it.

    Raises:
        DatabaseError: it cannot be made, or is on a file system that is no place for a database.
    """
    if "\n" in str(state):
        raise DatabaseFolderError(f"The database folder {str(state)!r} has a line break in it: set database.data_dir.")
    parents_mode, mode = (0o755, 0o711) if account.borrowed else (0o700, 0o700)
    try:
        for folder in reversed(state.parents):
            _make(folder, parents_mode)
        _make(state, mode)
        if not os.access(state, os.W_OK | os.X_OK):
            raise PermissionError(1, "no write permission", str(state))
    except OSError as error:
        raise folder_error(error, state) from error
    kind = _file_system(state)
    if kind.startswith(NETWORK_FILE_SYSTEMS):
        raise DatabaseFolderError(
            f"The database folder {state} is on a network file system ({kind}), where locks are not to be trusted. "
            "Set database.data_dir to a folder on a local disk."
        )
    if account.borrowed and not account.can_enter(state):
        raise DatabaseFolderError(
            f"The account {account.name}, which runs the database for root, cannot enter {state}. "
            f"Set database.data_dir to a folder that it can, such as {SYSTEM_FOLDER / 'pg'}."
        )


def make_version_folders(folders: Folders, account: Account) -> Path:
    """Make the account's folders for one major version and return the folder for the socket.

    Raises:
        DatabaseError: they cannot be made private to the account.
    """
    sockets = socket_folder(folders.run, folders.state, account.uid)
    for folder in (folders.version, folders.run, sockets):
        try:
            _make_for(folder, account)
        except OSError as error:
            raise folder_error(error, folder) from error
    return sockets


def _make(folder: Path, mode: int) -> None:
    if folder.is_dir():
        return
    try:
        folder.mkdir(mode)
    except FileExistsError:
        if not folder.is_dir():
            raise
    else:
        folder.chmod(mode)  # whatever the umask was: it is ours, we just made it


def _make_for(folder: Path, account: Account) -> None:
    _make(folder, 0o700)
    status = folder.lstat()
    # Root's own folder here is one that a cos made and had no time to hand over.
    if account.borrowed and status.st_uid == 0 and stat.S_ISDIR(status.st_mode):
        try:
            os.chown(folder, account.uid, account.gid, follow_symlinks=False)
        except OSError as error:
            account.explain_refusal(error)
            raise
        status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != account.uid or status.st_mode & 0o077:
        raise DatabaseFolderError(
            f"{folder} is not a folder that only {account.name} can enter, as the database needs it (mode "
            f"{stat.S_IMODE(status.st_mode):o}, owner {status.st_uid}). Remove it, or set database.data_dir to a "
            "folder on a file system that keeps Unix permissions."
        )


def _file_system(folder: Path) -> str:
    """The kind of file system, such as `ext4`; empty where the system does not tell."""
    if not sys.platform.startswith("linux"):
        return ""
    try:
        mounts = [line.split() for line in Path("/proc/self/mounts").read_text().splitlines()]
    except OSError:
        return ""
    real = folder.resolve()
    below = [(len(point), kind) for _, point, kind, *_ in mounts if real.is_relative_to(point.replace("\\040", " "))]
    # Of two mounts at one point the later one counts.
    return max(reversed(below), default=(0, ""), key=lambda found: found[0])[1]
