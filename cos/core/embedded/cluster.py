"""Sets up the data folder, and starts the server on it or finds the one that runs. The caller holds start.lock."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cos.core.embedded.account import clean_environment
from cos.core.embedded.connection import ConnectionTarget, accepts_connections, socket_file
from cos.core.embedded.errors import (
    DatabaseFolderError,
    DatabaseStartError,
    DatabaseUnreachableError,
    folder_error,
    lacks_shared_memory,
    program_failure,
)
from cos.core.embedded.locks import FileLock, open_private
from cos.core.embedded.postmaster import (
    FAST_STOP_SECONDS,
    POLL_SECONDS,
    postmaster_pid,
    quit_orphans,
    read_postmaster_file,
    stop,
)
from cos.core.embedded.settings import initdb_options, server_options

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from cos.core.embedded.account import Account
    from cos.core.embedded.binaries import Binaries
    from cos.core.embedded.folders import Folders

LARGEST_LOG_BYTES = 1_000_000
SLOW_START_SECONDS = 1.0
SILENT_START_SECONDS = 60.0
"""A start may take minutes (crash recovery), but then server.log says something at least every ten seconds."""
ORPHAN_SECONDS = 3.0
UNREACHABLE_SECONDS = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    folders: Folders
    sockets: Path
    binaries: Binaries
    account: Account
    say: Callable[[str], None]
    leaving: threading.Event
    """Set when the process wants to leave: every wait ends."""

    def ensure_running(self, *, alone: bool) -> ConnectionTarget:
        """Find or start the server. `alone`: no other process uses it, so an outdated one may be replaced.

        Raises:
            DatabaseError
        """
        self._initialise_once()
        lock = FileLock(self.folders.server_lock)
        try:
            target = self._find_running(lock)
            if target is not None and alone and self._outdated() and stop(self.folders):
                target = self._find_running(lock)
            return target or self._start(lock)
        finally:
            lock.release()

    def _initialise_once(self) -> None:
        for leftover in self.folders.version.glob("init-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        if (self.folders.data / "PG_VERSION").exists():
            return
        if self.folders.data.exists():
            raise DatabaseFolderError(
                f"{self.folders.data} is no whole database: it has no PG_VERSION. Move it away to set up a new one, "
                "or put your backup there."
            )
        self.say("Setting up the database, once")
        unfinished = self.folders.version / f"init-{os.getpid()}"
        try:
            self._initialise(unfinished)
            # A killed initdb leaves half a database, so that name is given only to a whole one.
            unfinished.rename(self.folders.data)
        except OSError as error:
            raise folder_error(error, self.folders.data) from error
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)

    def _initialise(self, folder: Path) -> None:
        output = ""
        for options in initdb_options(self.binaries.major):
            code, output = self._initdb(folder, options)
            if code != 0 and lacks_shared_memory(output) and self.binaries.major >= 16:
                code, output = self._initdb(folder, [*options, "-c", "dynamic_shared_memory_type=mmap"])
            if code == 0:
                return
            if "invalid locale" not in output:
                break
        raise program_failure("initdb", output, self.folders.state)

    def _initdb(self, folder: Path, options: list[str]) -> tuple[int, str]:
        return self.account.run([self.binaries.initdb, "-D", folder, *options])

    def _find_running(self, lock: FileLock) -> ConnectionTarget | None:
        """The target of the running server, or None when nothing runs; then `lock` is held."""
        watch = Watch(self.folders, self.say)
        orphans_told = False
        while not lock.try_exclusive():
            if target := self._target():
                return target
            self._stop_if_leaving()
            silent = watch.silent_seconds()
            alive = postmaster_pid(self.folders.data) is not None
            if not alive and not orphans_told and silent > ORPHAN_SECONDS:
                quit_orphans(self.folders.data)
                orphans_told = True
            file = read_postmaster_file(self.folders.data)
            starting = alive and file is not None and not file.ready
            if silent > (SILENT_START_SECONDS if starting else UNREACHABLE_SECONDS):
                raise DatabaseUnreachableError(
                    f"A database server holds {self.folders.data} but does not answer. Stop it (it may run in "
                    f"another container), or set database.data_dir to another folder. See {self.folders.log}."
                )
            time.sleep(POLL_SECONDS)
        return None

    def _target(self, pid: int | None = None) -> ConnectionTarget | None:
        """Where the server answers, or None; only the server with process id `pid`, if given."""
        file = read_postmaster_file(self.folders.data)
        if file is None or not file.ready or pid not in (None, file.pid):
            return None
        # The first is the starter's name for the folder, which another container may not have.
        for folder in (file.socket_folder, self.folders.run):
            if accepts_connections(folder, file.port):
                return ConnectionTarget(host=str(folder), port=file.port)
        return None

    def _start(self, lock: FileLock) -> ConnectionTarget:
        environment = clean_environment() | self._ignore_stale_pid()
        data, log = self.folders.data, self.folders.log
        command: list[str | Path] = [
            self.binaries.postgres,
            "-D",
            data,
            *server_options(self.binaries.major, self.sockets),
        ]
        try:
            self._write_version()
            output = self._open_log()
            log_start = os.fstat(output).st_size
            try:
                server = self.account.popen(command, stdout=output, environment=environment, pass_fds=(lock.fileno(),))
            finally:
                os.close(output)
        except OSError as error:
            raise folder_error(error, log) from error
        # The server has its own copy of the descriptor: from here on the lock lives as long as the server does.
        lock.release()
        # An unreaped child of ours would look alive and block the next start.
        threading.Thread(target=server.wait, name="cos-postgres-reaper", daemon=True).start()
        try:
            return self._await_start(server, log_start)
        except BaseException:
            _end(server)
            raise

    def _await_start(self, server: subprocess.Popen[bytes], log_start: int) -> ConnectionTarget:
        watch = Watch(self.folders, self.say)
        while True:
            ended = server.poll() is not None
            if target := self._target(server.pid):
                return target
            if ended:
                raise program_failure("PostgreSQL", self._log_since(log_start), self.folders.state)
            self._stop_if_leaving()
            if watch.silent_seconds() > SILENT_START_SECONDS:
                raise DatabaseStartError(
                    f"PostgreSQL did not get ready within {SILENT_START_SECONDS:.0f} seconds of its last sign of life. "
                    f"See {self.folders.log}."
                )
            time.sleep(POLL_SECONDS)

    def _ignore_stale_pid(self) -> dict[str, str]:
        """What makes postgres ignore a `postmaster.pid` of a dead server, whose id another process may have by now.

        The file is not deleted: with it postgres still checks that no process uses the old shared memory.
        """
        socket_file(self.sockets).with_name(f"{socket_file(self.sockets).name}.lock").unlink(missing_ok=True)
        if file := read_postmaster_file(self.folders.data):
            return {"PG_GRANDPARENT_PID": str(file.pid)}
        # Without a process id in it, postgres refuses the file.
        (self.folders.data / "postmaster.pid").unlink(missing_ok=True)
        return {}

    def _open_log(self) -> int:
        log = self.folders.log
        if log.exists() and log.lstat().st_size > LARGEST_LOG_BYTES:
            log.replace(log.with_suffix(".log.1"))
        return open_private(log, os.O_WRONLY | os.O_APPEND)

    def _log_since(self, offset: int) -> str:
        with self.folders.log.open("rb") as log:
            log.seek(offset)
            return log.read().decode(errors="replace")

    def _write_version(self) -> None:
        with os.fdopen(open_private(self.folders.server_version, os.O_WRONLY | os.O_TRUNC), "w") as file:
            file.write(self.binaries.version)

    def _outdated(self) -> bool:
        try:
            return self.folders.server_version.read_text() != self.binaries.version
        except FileNotFoundError:
            return False

    def _stop_if_leaving(self) -> None:
        if self.leaving.is_set():
            raise DatabaseStartError(f"cos is stopping and did not wait for the database in {self.folders.state}.")


def _end(server: subprocess.Popen[bytes]) -> None:
    """Tell it more than once: a server that has just begun is deaf where SIGINT was ignored, as below `nohup … &`."""
    deadline = time.monotonic() + FAST_STOP_SECONDS
    while server.poll() is None and time.monotonic() < deadline:
        server.send_signal(signal.SIGINT)
        time.sleep(POLL_SECONDS)


class Watch:
    """Watches a server that is not ready yet: how long it has been silent, and one line for the user if it is slow."""

    def __init__(self, folders: Folders, say: Callable[[str], None]) -> None:
        self._folders = folders
        self._say = say
        self._moved = time.monotonic()
        self._say_at = self._moved + SLOW_START_SECONDS
        self._seen = self._signs_of_life()

    def silent_seconds(self) -> float:
        """Seconds since server.log or postmaster.pid last changed."""
        now = time.monotonic()
        if now > self._say_at:
            self._say("Waiting for the database to start; after a crash this can take a while")
            self._say_at = float("inf")
        if (signs := self._signs_of_life()) != self._seen:
            self._seen, self._moved = signs, now
        return now - self._moved

    def _signs_of_life(self) -> tuple[object, ...]:
        try:
            log = self._folders.log.stat()
        except FileNotFoundError:
            return ()
        return (log.st_size, log.st_mtime_ns, read_postmaster_file(self._folders.data))
