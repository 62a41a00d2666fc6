"""What can go wrong with the embedded Postgres, grouped by what the user must change.

DatabaseError
├── DatabaseBinariesError     no usable PostgreSQL programs
├── DatabaseAccountError      the user or account that cos runs as cannot run a server
├── DatabaseFolderError       the folder: not writable, somebody else's, on an unsuitable file system
├── DatabaseSpaceError        no space left
├── DatabaseVersionError      the data belongs to another major version
├── DatabaseUnreachableError  a server holds the data and does not answer
├── DatabaseInUseError        other processes use the server that is to be stopped
└── DatabaseStartError        initdb or the server failed for another reason
"""

from __future__ import annotations

import errno
import re
from typing import TYPE_CHECKING

from cos.core.errors import DatabaseError

if TYPE_CHECKING:
    from pathlib import Path

OTHER_DATABASE = "set database.url to use another Postgres"


class DatabaseBinariesError(DatabaseError):
    """No usable PostgreSQL programs."""


class DatabaseAccountError(DatabaseError):
    """The user or account that cos runs as cannot run a server."""


class DatabaseFolderError(DatabaseError):
    """The folder of the database cannot be used."""


class DatabaseSpaceError(DatabaseError):
    """The disk of the database is full."""


class DatabaseVersionError(DatabaseError):
    """The data belongs to another major version of PostgreSQL."""


class DatabaseUnreachableError(DatabaseError):
    """A server holds the data and does not answer."""


class DatabaseInUseError(DatabaseError):
    """Other processes use the server that is to be stopped."""


class DatabaseStartError(DatabaseError):
    """PostgreSQL failed to set up or to start."""


def folder_error(error: OSError, folder: Path) -> DatabaseError:
    """The error for `error`, met while making or using `folder`."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return no_space(folder)
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        problem = "cannot be written"
    else:
        problem = f"cannot be used ({error.strerror})"
    where = error.filename if isinstance(error.filename, str) else folder
    return DatabaseFolderError(
        f"The database folder {folder} {problem}: {where}. Set database.data_dir to a folder of yours."
    )


def no_space(folder: Path) -> DatabaseSpaceError:
    return DatabaseSpaceError(
        f"There is no space left for the database in {folder}. Free at least 100 MB there or set database.data_dir."
    )


def program_failure(program: str, output: str, folder: Path) -> DatabaseError:
    """The error for a failed `initdb` or `postgres`, told from the words it printed (always in English: LC_ALL=C)."""
    if lacks_shared_memory(output):
        return DatabaseSpaceError(
            "There is too little shared memory (/dev/shm) for PostgreSQL. Give it 2 MB or more, in Docker with "
            f"--shm-size, or {OTHER_DATABASE}."
        )
    if "No space left on device" in output:
        return no_space(folder)
    if "could not look up effective user ID" in output:
        return DatabaseAccountError(
            f"PostgreSQL needs a user name and this user id has none in /etc/passwd. Add one, or {OTHER_DATABASE}."
        )
    # The first grave message is the cause, those after it are consequences.
    if grave := re.search(r"(?:FATAL|PANIC|error): +(.+)", output):
        said = grave[1]
    else:
        said = (output.strip().splitlines() or ["it printed nothing"])[-1]
    return DatabaseStartError(f"{program} failed for the database in {folder}: {said}")


def lacks_shared_memory(output: str) -> bool:
    return "could not resize shared memory segment" in output
