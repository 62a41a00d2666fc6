"""A backup of the whole database as one file in pg_dump's custom format, also while cos runs on it."""

from __future__ import annotations

import asyncio
import os
import tempfile
from asyncio.subprocess import DEVNULL, PIPE
from pathlib import Path
from typing import TYPE_CHECKING

from cos.core.errors import DatabaseError
from cos.core.postgres.programs import Programs, Server, find_programs, first_error, service_environment
from cos.core.postgres.seal import add_seal
from cos.core.postgres.statements import core_statements
from cos.core.whole_file import put_in_place, refuse_existing

if TYPE_CHECKING:
    from cos.core.postgres.database import Connection, Database

NOTHING_OF_THIS_SERVER = ("--no-owner", "--no-privileges", "--no-comments")
"""Accounts, and remarks that only their owner may make: a backup may go to another server."""


class BackupError(DatabaseError):
    """A backup cannot be made, read or brought back."""


async def server_of(database: Database) -> Server:
    """What client programs must fit."""

    async def work(connection: Connection) -> Server:
        row = await (await connection.execute(core_statements("start")["server_version"])).fetchone()
        assert row is not None
        return Server(major=row["version"] // 10000, has_tls=bool(connection.pgconn.ssl_in_use))

    return await database.transaction(work)


async def back_up(database: Database, target: Path, *, force: bool = False, bin_dir: Path | None = None) -> int:
    """Write a backup into `target`, mode 0600; answers its size in bytes. `force`: it may replace a file.

    Raises:
        FileIsThereError: there is such a file, and `force` is not given.
        BackupError: it cannot be made or written. What was there stays.
        ProgramsError: there is no pg_dump that fits the server.
    """
    if not force:
        await asyncio.to_thread(refuse_existing, target)
    server = await server_of(database)
    programs = await asyncio.to_thread(find_programs, ("pg_dump",), server, bin_dir)
    try:
        handle, name = tempfile.mkstemp(prefix=".cos-backup-", dir=target.parent)
        try:
            with os.fdopen(handle, "rb") as file:
                await _dump(database, programs, server, name)
                await asyncio.to_thread(add_seal, Path(name))
                size = os.fstat(file.fileno()).st_size
            await asyncio.to_thread(put_in_place, Path(name), target, force=force)
        finally:
            await asyncio.to_thread(Path(name).unlink, missing_ok=True)
    except OSError as error:
        raise BackupError(f"{target} cannot be written: {error.strerror or error}; give another file") from error
    return size


async def _dump(database: Database, programs: Programs, server: Server, file: str) -> None:
    # Not its standard output: into that it writes the table of contents a second time.
    command: list[Path | str] = [programs.path("pg_dump"), "--format=custom", f"--file={file}", *NOTHING_OF_THIS_SERVER]
    with service_environment(database.conninfo, server) as environment:
        code, _, errors = await run_program(command, environment)
    if code != 0:
        raise BackupError(f"pg_dump failed: {first_error(errors)}")


async def run_program(
    command: list[Path | str], environment: dict[str, str], output: int = DEVNULL
) -> tuple[int, bytes, bytes]:
    """Run a client program: exit code, what it printed (with `output` PIPE) and what it complained about.

    `output` may also be a descriptor to print into.
    """
    process = await asyncio.create_subprocess_exec(*command, stdin=DEVNULL, stdout=output, stderr=PIPE, env=environment)
    try:
        printed, errors = await process.communicate()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert process.returncode is not None
    return process.returncode, printed or b"", errors
