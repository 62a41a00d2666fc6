"""Which account runs the server. PostgreSQL refuses root, so root lends it an unprivileged account that exists."""

from __future__ import annotations

import errno
import os
import pwd
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cos.core.embedded.errors import OTHER_DATABASE, DatabaseAccountError, DatabaseFolderError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

USUAL_ACCOUNTS = ("cos", "postgres", "nobody")
KEPT = (
    "PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "NIX_LD",
    "NIX_LD_LIBRARY_PATH", "KRB5CCNAME", "KRB5_CONFIG", "OPENSSL_CONF", "SSL_CERT_FILE", "SSL_CERT_DIR",
)  # fmt: skip
"""What PostgreSQL's programs need to run, and to log in to a server of the user's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The user that owns the data and runs the server."""

    name: str
    uid: int
    gid: int
    borrowed: bool
    """True when cos is root and must become this user to run a program of PostgreSQL."""

    def popen(
        self,
        command: Sequence[str | Path],
        *,
        stdout: int,
        environment: dict[str, str] | None = None,
        pass_fds: tuple[int, ...] = (),
    ) -> subprocess.Popen[bytes]:
        """Start a program as this account, out of reach of the terminal's signals.

        Raises:
            DatabaseAccountError: root may not change to the account.
            OSError: the program cannot be run.
        """
        try:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=subprocess.STDOUT,
                cwd="/",
                umask=0o077,
                env=environment or clean_environment(),
                pass_fds=pass_fds,
                start_new_session=True,
                user=self.uid if self.borrowed else None,
                group=self.gid if self.borrowed else None,
                extra_groups=[] if self.borrowed else None,
            )
        except OSError as error:
            self.explain_refusal(error)
            raise

    def explain_refusal(self, error: OSError) -> None:
        """Raise a DatabaseAccountError if `error` says that root may not act for this account, else return."""
        # EPERM: no capability. EINVAL: a user namespace that maps no user but root.
        if self.borrowed and error.errno in (errno.EPERM, errno.EINVAL):
            raise DatabaseAccountError(
                f"This root may not act for the account {self.name}, which the database needs ({error.strerror}). "
                f"Run cos as an ordinary user, or {OTHER_DATABASE}."
            ) from error

    def run(self, command: Sequence[str | Path]) -> tuple[int, str]:
        """Run a program to its end: exit code and all it printed. Raises as `popen` does."""
        with self.popen(command, stdout=subprocess.PIPE) as process:
            try:
                output, _ = process.communicate()
            except BaseException:  # above all KeyboardInterrupt: the program does not hear Ctrl-C itself
                process.kill()
                raise
        return process.returncode, output.decode(errors="replace")

    def can_enter(self, folder: Path) -> bool:
        return self.run(["/bin/sh", "-c", 'cd "$1"', "sh", folder])[0] == 0


def clean_environment() -> dict[str, str]:
    """The environment for PostgreSQL's programs: no secret, and nothing of the user's Postgres or language settings.

    The server may run as another account, whose processes can read its environment.
    """
    return {name: os.environ[name] for name in KEPT if name in os.environ} | {"LC_ALL": "C"}


def user_name(uid: int) -> str:
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        return str(uid)


def choose_account(state: Path, run_as: str | None) -> Account:
    """The account for the database in `state`.

    Raises:
        DatabaseFolderError: `state` belongs to somebody else.
        DatabaseAccountError: cos is root and there is no account to lend.
    """
    uid = os.geteuid()
    owner = _owner(state)
    if owner is not None and owner != uid:
        name = user_name(owner)
        raise DatabaseFolderError(
            f"The database folder {state} belongs to {name}. Run cos as {name}, or set database.data_dir."
        )
    if uid != 0:
        return Account(name=user_name(uid), uid=uid, gid=os.getegid(), borrowed=False)
    _refuse_home_of_sudo_user(state)
    return _owner_of_data(state) or _named_account(run_as)


def _owner(folder: Path) -> int | None:
    try:
        return folder.stat().st_uid
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return None


def _refuse_home_of_sudo_user(state: Path) -> None:
    # Root's files in a person's own folder would lock that person out of cos.
    nearest = next((folder for folder in (state, *state.parents) if folder.exists()), state)
    owner = _owner(nearest)
    if owner and str(owner) == os.environ.get("SUDO_UID"):
        name = user_name(owner)
        raise DatabaseFolderError(f"The folder {nearest} belongs to {name}: run cos as {name}, without sudo.")


def _owner_of_data(state: Path) -> Account | None:
    for folder in sorted(state.glob("[0-9]*"), reverse=True):
        status = folder.stat()
        if folder.name.isdigit() and status.st_uid != 0:
            return Account(name=user_name(status.st_uid), uid=status.st_uid, gid=status.st_gid, borrowed=True)
    return None


def _named_account(run_as: str | None) -> Account:
    for name in (run_as,) if run_as else USUAL_ACCOUNTS:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        if entry.pw_uid != 0:
            return Account(name=name, uid=entry.pw_uid, gid=entry.pw_gid, borrowed=True)
    if run_as:
        problem = f"The account {run_as} of database.run_as does not exist or is root"
    else:
        problem = f"cos runs as root and none of the accounts {', '.join(USUAL_ACCOUNTS)} exists"
    raise DatabaseAccountError(
        f"{problem}: PostgreSQL needs an unprivileged one. Run cos as an ordinary user, set database.run_as, "
        f"or {OTHER_DATABASE}."
    )
