"""Brings a backup back, whole or not at all: into an empty database in one transaction, or into a fresh one that then
takes the name of the one that is replaced."""

from __future__ import annotations

import asyncio
import re
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
from psycopg import sql
from psycopg.conninfo import make_conninfo

from cos.core.embedded.account import clean_environment
from cos.core.postgres.backup import NOTHING_OF_THIS_SERVER, BackupError, run_program, server_of
from cos.core.postgres.programs import Programs, Server, find_programs, first_error, service_environment
from cos.core.postgres.schema import create_database, refuse_newer
from cos.core.postgres.seal import is_intact
from cos.core.postgres.server_state import clients, named
from cos.core.postgres.statements import core_statements

if TYPE_CHECKING:
    from asyncio.subprocess import Process

    from cos.core.postgres.database import Database

_HEAD_BYTES = 4096
_NEWER_SETTINGS = re.compile(rb"^SET transaction_timeout = 0;\n", re.MULTILINE)
"""What pg_dump 17 and newer write at the top, and older servers refuse."""
_EXTENSION = re.compile(r"^\d+; \d+ \d+ EXTENSION - (.+?) ?$", re.MULTILINE)
_NUMBER = re.compile(r"^\w{5,}\t[^\t]*\t(\w+)\t(\d+)$", re.MULTILINE)
"""A row of `applied_schemas`: digest, time, name, number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restoring:
    """A backup that was looked at and may be brought back."""

    source: Path
    reader: Programs
    writer: Programs
    server: Server
    database: str
    """The name of the one that it goes into."""
    is_empty: bool
    """Nothing is in the database, so that nothing is replaced."""


async def prepare_restore(database: Database, source: Path, *, bin_dir: Path | None = None) -> Restoring:
    """Read the whole backup and look at the database. Nothing is changed.

    Raises:
        BackupError: it is damaged, no backup of cos, needs an extension that cannot be made on this server, or others
            are connected to the database.
        NewerSchemaError: a newer cos made it.
        ProgramsError: there are no pg_restore and psql that fit the server.
    """
    await refuse_others(database)
    server = await server_of(database)
    # What reads the backup never talks to the server, so it need not encrypt.
    reader = await asyncio.to_thread(find_programs, ("pg_restore",), replace(server, has_tls=False), bin_dir)
    writer = await asyncio.to_thread(find_programs, ("psql",), server, bin_dir)
    extensions = await _check_backup(reader, source)
    (row,) = await database.fetch(core_statements("server")["tables"])
    is_empty = row["count"] == 0
    for missing in await database.fetch(
        core_statements("server")["missing_extensions"], {"names": extensions, "is_empty": is_empty}
    ):
        raise BackupError(_without_extension(source, **missing))
    return Restoring(
        source=source, reader=reader, writer=writer, server=server, database=row["name"], is_empty=is_empty
    )


async def restore(database: Database, restoring: Restoring) -> None:
    """Bring the backup back. `database` is closed afterwards when it was replaced.

    Raises:
        BackupError: it cannot be brought back. The database is as it was.
    """
    if restoring.is_empty:
        await _load(restoring, database.conninfo)
        return
    name = restoring.database
    (beside,) = await database.fetch(core_statements("server")["beside"])
    maintenance = make_conninfo(database.conninfo, dbname=beside["name"])
    fresh, old = f"{name[:30]}_cos_restoring", f"{name[:30]}_cos_replaced"
    try:
        # What a restore that was killed left.
        await _drop(maintenance, fresh)
        await _drop(maintenance, old)
        await create_database(maintenance, fresh)
    except psycopg.Error as error:
        raise BackupError(f"the server makes no database beside this one: {_reason(error)}") from error
    try:
        await _load(restoring, make_conninfo(database.conninfo, dbname=fresh))
        await refuse_others(database)
        await database.close()
        await _rename(maintenance, (name, old), (fresh, name))
    except BaseException:
        with suppress(psycopg.Error):
            await _drop(maintenance, fresh)
        raise
    with suppress(psycopg.Error):
        await _drop(maintenance, old)


async def refuse_others(database: Database) -> None:
    """
    Raises:
        BackupError: somebody else is connected to the database; it names them.
    """
    others = await clients(database)
    if others:
        raise BackupError(f"others use the database: {named(others)}. Close them and try again")


def _without_extension(source: Path, name: str, is_there: bool) -> str:
    if is_there:
        return (
            f"{source} needs the extension {name}, which this account may not create: have an administrator create it "
            "in an empty database, and bring the backup back into that. Nothing was changed"
        )
    return (
        f"{source} needs the extension {name}, which this server does not have: install it there (it comes with "
        "PostgreSQL's contrib package). Nothing was changed"
    )


async def _check_backup(programs: Programs, source: Path) -> list[str]:
    """Read it to its end: a backup that was cut off is no longer one. Answers the extensions that it needs.

    Raises:
        BackupError: it is damaged, or no backup of cos.
        NewerSchemaError: a newer cos made it.
    """
    try:
        intact = await asyncio.to_thread(is_intact, source)
    except OSError as error:
        raise BackupError(f"{source} cannot be read: {error.strerror or error}") from error
    if not intact:
        raise BackupError(f"{source} is damaged: it is not as it was written")
    listed = (await _read(programs, source, "--list")).decode(errors="replace")
    if not re.search(r" TABLE \S+ sessions ", listed):
        raise BackupError(f"{source} is no backup of a cos database")
    await _read(programs, source)
    rows = await _read(programs, source, "--data-only", "--table=applied_schemas")
    for name, number in _NUMBER.findall(rows.decode(errors="replace")):
        refuse_newer(name, int(number), f"the backup {source}")
    return _EXTENSION.findall(listed)


async def _read(programs: Programs, source: Path, *options: str) -> bytes:
    """What pg_restore prints of the backup; without options nothing, but then it was read to its end."""
    command: list[Path | str] = [programs.path("pg_restore"), "--file=-", *options, source]
    code, printed, errors = await run_program(command, clean_environment(), PIPE if options else DEVNULL)
    if code != 0:
        raise BackupError(f"{source} cannot be read as a backup: {first_error(errors)}")
    return printed


async def _load(restoring: Restoring, conninfo: str) -> None:
    """One transaction, which is committed only when the backup was read to its end."""
    read: list[Path | str] = [restoring.reader.path("pg_restore"), "--file=-", *NOTHING_OF_THIS_SERVER]
    write: list[Path | str] = [
        restoring.writer.path("psql"),
        "--no-psqlrc",
        "--quiet",
        "--set=ON_ERROR_STOP=1",
        "--output=/dev/null",
    ]
    with service_environment(conninfo, restoring.server) as environment:
        reader = await asyncio.create_subprocess_exec(
            *read, restoring.source, stdout=PIPE, stderr=DEVNULL, env=clean_environment()
        )
        writer = await asyncio.create_subprocess_exec(*write, stdin=PIPE, stderr=PIPE, env=environment)
        try:
            async with asyncio.TaskGroup() as group:
                copying = group.create_task(_copy(reader, writer, restoring.server))
                refused = group.create_task(_all_of(writer))
            await writer.wait()
        finally:
            for process in (reader, writer):
                if process.returncode is None:
                    process.kill()
                    await process.wait()
    if writer.returncode != 0:
        raise BackupError(f"{restoring.source} was not brought back: {first_error(refused.result())}")
    if not copying.result():
        raise BackupError(f"{restoring.source} was not brought back: it could not be read to its end")


async def _copy(reader: Process, writer: Process, server: Server) -> bool:
    """Whether everything was read and passed on, and is to be committed."""
    assert reader.stdout is not None
    assert writer.stdin is not None
    head = b""
    while len(head) < _HEAD_BYTES and (piece := await reader.stdout.read(_HEAD_BYTES)):
        head += piece
    if server.major < 17:
        head = _NEWER_SETTINGS.sub(b"", head)
    try:
        writer.stdin.write(b"BEGIN;\n" + head)
        while piece := await reader.stdout.read(1 << 16):
            writer.stdin.write(piece)
            await writer.stdin.drain()
        is_whole = await reader.wait() == 0
        if is_whole:
            writer.stdin.write(b"COMMIT;\n")
        writer.stdin.close()
        await writer.stdin.wait_closed()
    except (BrokenPipeError, ConnectionResetError):
        return False  # psql has stopped, and says why.
    return is_whole


async def _all_of(process: Process) -> bytes:
    assert process.stderr is not None
    return await process.stderr.read()


async def _rename(maintenance: str, *names: tuple[str, str]) -> None:
    try:
        async with await psycopg.AsyncConnection.connect(maintenance) as connection:
            for before, after in names:
                statement = sql.SQL("ALTER DATABASE {} RENAME TO {}")
                await connection.execute(statement.format(sql.Identifier(before), sql.Identifier(after)))
    except psycopg.Error as error:
        raise BackupError(f"the database could not be replaced: {_reason(error)}. It is as it was") from error


async def _drop(maintenance: str, name: str) -> None:
    async with await psycopg.AsyncConnection.connect(maintenance, autocommit=True) as connection:
        await connection.execute(sql.SQL("DROP DATABASE IF EXISTS {}").format(sql.Identifier(name)))


def _reason(error: psycopg.Error) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
