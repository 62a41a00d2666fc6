"""The embedded Postgres as its users see it: attach to the shared server, leave it, and ask how it is."""

from __future__ import annotations

import os
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cos.core.embedded.account import choose_account
from cos.core.embedded.binaries import find_binaries
from cos.core.embedded.cluster import Cluster
from cos.core.embedded.connection import ConnectionTarget, socket_folder
from cos.core.embedded.copies import reachable_binaries
from cos.core.embedded.errors import DatabaseInUseError, DatabaseStartError, DatabaseUnreachableError, folder_error
from cos.core.embedded.folders import (
    Folders,
    existing_majors,
    make_state,
    make_version_folders,
    refuse_other_major,
)
from cos.core.embedded.locks import FileLock, is_locked, open_private
from cos.core.embedded.postmaster import (
    FAST_STOP_SECONDS,
    HURRIED_STOP_SECONDS,
    POLL_SECONDS,
    postmaster_pid,
    read_postmaster_file,
    stop,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SAY_AFTER_SECONDS = 0.3
LEAVE_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbeddedStatus:
    """How the database is, found out without starting or changing anything."""

    state_dir: Path
    data_dir: Path | None
    """None when no database was set up yet."""
    running: bool
    pid: int | None
    """None when nothing runs, or when the server runs in another container."""
    version: str | None
    """Of the programs last started (`18.6`), else of the data (`18`)."""
    socket_dir: Path | None
    keeps_running: bool
    """Whether it runs on when its last user leaves."""
    users: int | None
    """Processes that use the server; None where the system does not tell."""
    log: Path | None


class EmbeddedPostgres:
    """One process's share in the server of `state_dir`, which all processes with that folder use together.

    Every method blocks; `attach` for seconds the first time, so call it in a thread when an event loop runs. They may
    be called from any thread. `leave` must not be called by a signal handler: turn the signal into a normal exit.
    """

    def __init__(
        self,
        state_dir: Path,
        *,
        bin_dir: Path | None = None,
        run_as: str | None = None,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._state = state_dir.expanduser().absolute()
        self._bin_dir = bin_dir
        self._run_as = run_as
        self._say = say
        self._mutex = threading.Lock()
        self._leaving = threading.Event()
        self._users: FileLock | None = None
        self._folders: Folders | None = None
        self._process = 0

    def attach(self) -> ConnectionTarget:
        """Set up the database if there is none, start the server if none runs, and count as its user.

        Again after a crash of the server: it starts a new one. Calls that find a running server take milliseconds.

        Raises:
            DatabaseError: the database cannot be used; its subclasses say why.
        """
        with self._mutex:
            self._process = os.getpid()
            binaries = find_binaries(self._bin_dir)
            account = choose_account(self._state, self._run_as)
            make_state(self._state, account)
            folders = Folders(self._state, binaries.major)
            try:
                refuse_other_major(folders, binaries.version)
                binaries = reachable_binaries(binaries, account)
                with self._starting(folders):
                    sockets = make_version_folders(folders, account)
                    alone = self._become_user(folders)
                    cluster = Cluster(
                        folders=folders,
                        sockets=sockets,
                        binaries=binaries,
                        account=account,
                        say=self._say,
                        leaving=self._leaving,
                    )
                    return cluster.ensure_running(alone=alone)
            except OSError as error:
                raise folder_error(error, self._state) from error

    def leave(self, *, hurried: bool = False) -> None:
        """Stop using the server; the last user stops it. Close all connections first.

        `hurried`: it hangs, and has only a moment to end in order.

        Does nothing when not attached, and nothing in a process forked from the one that attached.
        """
        if self._process != os.getpid():
            return
        self._leaving.set()
        with self._mutex:
            self._leaving.clear()
            users, self._users = self._users, None
            if users is None or self._folders is None:
                return
            start = FileLock(self._folders.start_lock)
            try:
                # Whoever holds start.lock for longer is starting the server: then we are not the last.
                is_last = _wait_for(start, LEAVE_SECONDS) and users.try_exclusive()
                if is_last and not self._folders.keep_running.exists():
                    stop(self._folders, HURRIED_STOP_SECONDS if hurried else FAST_STOP_SECONDS)
            finally:
                users.release()
                start.release()

    def keep_running(self) -> None:
        """Let the server run on when its last user leaves, until `shut_down`. Attach first."""
        with self._mutex:
            assert self._folders is not None, "attach first"
            try:
                os.close(open_private(self._folders.keep_running, os.O_RDWR))
            except OSError as error:
                raise folder_error(error, self._state) from error

    def shut_down(self, *, force: bool = False) -> bool:
        """Stop the server, whoever keeps it running; false when none runs. Not for a process that has attached.

        Raises:
            DatabaseInUseError: other processes use it, and `force` is not given.
            DatabaseUnreachableError: it cannot be stopped from here.
            DatabaseFolderError: the folder may not be read or written.
        """
        try:
            return self._shut_down(force=force)
        except OSError as error:
            raise folder_error(error, self._state) from error

    def target(self) -> ConnectionTarget:
        """Where the server answers when it runs; nothing is started.

        Raises:
            DatabaseError: there are no programs or no account to start it with.
        """
        status = self.status()
        if status.socket_dir is not None:
            return ConnectionTarget(host=str(status.socket_dir))
        account = choose_account(self._state, self._run_as)
        major = next(iter(existing_majors(self._state)), None) or find_binaries(self._bin_dir).major
        folders = Folders(self._state, major)
        return ConnectionTarget(host=str(socket_folder(folders.run, folders.state, account.uid)))

    def status(self) -> EmbeddedStatus:
        """Raises DatabaseFolderError when the folder may not be read."""
        try:
            return _status(self._state)
        except OSError as error:
            raise folder_error(error, self._state) from error

    def _shut_down(self, *, force: bool) -> bool:
        was_running = False
        for major in existing_majors(self._state):
            folders = Folders(self._state, major)
            users = FileLock(folders.users_lock)
            try:
                with self._starting(folders):
                    if is_locked(folders.server_lock):
                        was_running = True
                        if not users.try_exclusive() and not force:
                            raise DatabaseInUseError("other processes use the database")
                        if not stop(folders):
                            raise DatabaseUnreachableError(
                                f"The server of {folders.data} cannot be stopped from here; perhaps another container "
                                "runs it. Stop it there."
                            )
                    folders.keep_running.unlink(missing_ok=True)
            finally:
                users.release()
        return was_running

    def _become_user(self, folders: Folders) -> bool:
        """Hold users.lock as one of its users; returns whether there is no other."""
        self._folders = folders
        if self._users is None:
            self._users = FileLock(folders.users_lock)
        # Changing the kind of lock can lose it for an instant: harmless, who would act on that needs start.lock.
        alone = self._users.try_exclusive()
        self._users.try_shared()
        return alone

    @contextmanager
    def _starting(self, folders: Folders) -> Iterator[None]:
        lock = FileLock(folders.start_lock)
        say_at = time.monotonic() + SAY_AFTER_SECONDS
        try:
            while not lock.try_exclusive():
                if self._leaving.is_set():
                    raise DatabaseStartError("cos is stopping and did not wait for the database.")
                if time.monotonic() > say_at:
                    self._say("Waiting for another cos that is starting the database")
                    say_at = float("inf")
                time.sleep(POLL_SECONDS)
            yield
        finally:
            lock.release()


def _wait_for(lock: FileLock, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not lock.try_exclusive():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True


def _status(state: Path) -> EmbeddedStatus:
    # Of several majors the one that runs counts, else the newest.
    found = [Folders(state, major) for major in existing_majors(state)]
    running = [folders for folders in found if is_locked(folders.server_lock)]
    folders = next(iter(running or found), None)
    if folders is None:
        return EmbeddedStatus(
            state_dir=state, data_dir=None, running=False, pid=None, version=None, socket_dir=None,
            keeps_running=False, users=0, log=None,
        )  # fmt: skip
    file = read_postmaster_file(folders.data) if running else None
    return EmbeddedStatus(
        state_dir=state,
        data_dir=folders.data,
        running=bool(running),
        pid=postmaster_pid(folders.data) if running else None,
        version=_version(folders),
        socket_dir=file.socket_folder if file else None,
        keeps_running=folders.keep_running.exists(),
        users=_count_users(folders.users_lock),
        log=folders.log,
    )


def _version(folders: Folders) -> str:
    try:
        return folders.server_version.read_text()
    except FileNotFoundError:
        return str(folders.major)


def _count_users(lock: Path) -> int | None:
    """The shared locks on users.lock that Linux lists; None elsewhere."""
    try:
        inode = lock.stat().st_ino
        locks = Path("/proc/locks").read_text().splitlines()
    except FileNotFoundError:
        return None
    return sum(f":{inode} " in line and " READ " in line and "->" not in line for line in locks)
